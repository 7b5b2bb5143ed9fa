#include "runtime/channel/progress_board.h"

namespace shard::runtime {
namespace {

std::size_t board_bytes(int count) { return static_cast<std::size_t>(count) * sizeof(ProgressBoard::Row); }

}  // namespace

int ProgressBoard::make(int count) {
  static_assert(std::atomic<std::uint64_t>::is_always_lock_free && std::atomic<ScriptPlace>::is_always_lock_free &&
                sizeof(Row) == 64);
  return SharedMemory::make("shard processes", board_bytes(count));
}

std::unique_ptr<ProgressBoard> ProgressBoard::of(int fd, int count, int index) {
  auto memory = SharedMemory::of(fd, board_bytes(count));
  if (!memory) return nullptr;
  return std::unique_ptr<ProgressBoard>(new ProgressBoard(std::move(*memory), index));
}

}  // namespace shard::runtime
