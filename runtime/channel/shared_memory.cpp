#include "runtime/channel/shared_memory.h"

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

namespace shard::runtime {

int SharedMemory::make(const char* name, std::size_t bytes) {
  const int fd = memfd_create(name, MFD_CLOEXEC | MFD_ALLOW_SEALING);
  if (fd < 0) return -1;
  // None of those who map it can make it shorter, which would end the others (SIGBUS).
  if (ftruncate(fd, static_cast<off_t>(bytes)) == 0 && fcntl(fd, F_ADD_SEALS, F_SEAL_SHRINK | F_SEAL_GROW) == 0)
    return fd;
  close(fd);
  return -1;
}

std::optional<SharedMemory> SharedMemory::of(int fd, std::size_t bytes) {
  struct stat info {};
  if (fd < 0 || fstat(fd, &info) != 0 || info.st_size != static_cast<off_t>(bytes)) return std::nullopt;
  void* data = mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
  if (data == MAP_FAILED) return std::nullopt;
  return SharedMemory(data, bytes);
}

SharedMemory::~SharedMemory() {
  if (data_) munmap(data_, bytes_);
}

}  // namespace shard::runtime
