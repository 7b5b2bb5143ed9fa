#include "runtime/channel/ring.h"

#include <algorithm>
#include <cstring>

namespace shard::runtime {

Ring::Ring(char* memory, std::size_t capacity)
    : head_(reinterpret_cast<Head*>(memory)), data_(memory + sizeof(Head)), capacity_(capacity) {
  static_assert(std::atomic<std::uint64_t>::is_always_lock_free && sizeof(Head) == 192);
}

std::size_t Ring::put(const char* from, std::size_t n) {
  n = std::min(n, room());
  if (n == 0) return 0;
  const std::size_t at = own_ & (capacity_ - 1), first = std::min(n, capacity_ - at);
  std::memcpy(data_ + at, from, first);
  std::memcpy(data_, from + first, n - first);
  head_->written.store(own_ += n, std::memory_order_release);
  return n;
}

std::size_t Ring::take(char* to, std::size_t n) {
  n = std::min(n, ready());
  if (n == 0) return 0;
  const std::size_t at = own_ & (capacity_ - 1), first = std::min(n, capacity_ - at);
  std::memcpy(to, data_ + at, first);
  std::memcpy(to + first, data_, n - first);
  head_->taken.store(own_ += n, std::memory_order_release);
  return n;
}

// Either this side sees afterwards what the other has done, or the other sees that this one sleeps.
void Ring::say_asleep(Side side, bool asleep_now) {
  asleep(side).store(asleep_now ? 1 : 0, std::memory_order_relaxed);
  std::atomic_thread_fence(std::memory_order_seq_cst);
}

bool Ring::must_wake(Side side) {
  std::atomic_thread_fence(std::memory_order_seq_cst);
  auto& other = asleep(side);
  return other.load(std::memory_order_relaxed) != 0 && other.exchange(0, std::memory_order_relaxed) != 0;
}

}  // namespace shard::runtime
