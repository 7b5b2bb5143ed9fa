#include "runtime/kernels/generated/executable_memory.h"

#include <sys/mman.h>
#include <unistd.h>

namespace shard::runtime::generated {

ExecutableMemory::ExecutableMemory(std::size_t bytes) {
  const auto page = static_cast<std::size_t>(sysconf(_SC_PAGESIZE));
  size_ = (bytes + page - 1) / page * page;
  void* const got = mmap(nullptr, size_, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (got != MAP_FAILED) data_ = static_cast<unsigned char*>(got);
}
ExecutableMemory& ExecutableMemory::operator=(ExecutableMemory&& other) noexcept {
  std::swap(data_, other.data_), std::swap(size_, other.size_);
  return *this;
}
ExecutableMemory::~ExecutableMemory() {
  if (data_) munmap(data_, size_);
}
bool ExecutableMemory::seal() { return mprotect(data_, size_, PROT_READ | PROT_EXEC) == 0; }

}  // namespace shard::runtime::generated
