#include "runtime/channel/progress_board.h"

#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

namespace shard::runtime {
namespace {

std::size_t bytes_of(int count) { return static_cast<std::size_t>(count) * sizeof(ProgressBoard::Row); }

}  // namespace

int ProgressBoard::make(int count) {
  static_assert(std::atomic<std::uint64_t>::is_always_lock_free && std::atomic<ScriptPlace>::is_always_lock_free &&
                sizeof(Row) == 64);
  const int fd = memfd_create("shard processes", MFD_CLOEXEC);
  if (fd >= 0 && ftruncate(fd, static_cast<off_t>(bytes_of(count))) != 0) {
    ::close(fd);
    return -1;
  }
  return fd;
}

std::unique_ptr<ProgressBoard> ProgressBoard::of(int fd, int count, int index) {
  struct stat info {};
  if (fd < 0 || fstat(fd, &info) != 0 || info.st_size != static_cast<off_t>(bytes_of(count))) return nullptr;
  void* rows = mmap(nullptr, bytes_of(count), PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
  if (rows == MAP_FAILED) return nullptr;
  return std::unique_ptr<ProgressBoard>(
      new ProgressBoard(static_cast<Row*>(rows), count, index));  // zeros are rows as they begin
}

ProgressBoard::~ProgressBoard() { munmap(rows_, bytes_of(count_)); }

}  // namespace shard::runtime
