// A stream of bytes from one process to another through memory that both see. Each side keeps its own position and
// reads the other's; whatever stands there, nothing outside the ring is read or written.
#pragma once
#include <algorithm>
#include <atomic>
#include <cstddef>
#include <cstdint>

namespace shard::runtime {

class Ring {
 public:
  static std::size_t bytes(std::size_t capacity) { return sizeof(Head) + capacity; }
  Ring() = default;
  // `memory`: bytes(capacity), zeros as it begins; `capacity`: a power of two.
  Ring(char* memory, std::size_t capacity);

  // As the side that writes: how many of `n` bytes there was room for.
  std::size_t put(const char* from, std::size_t n);
  // As the side that reads: how many of `n` bytes had come.
  std::size_t take(char* to, std::size_t n);
  std::size_t room() const { return capacity_ - held(own_, head_->taken.load(std::memory_order_acquire)); }
  bool empty() const { return room() == capacity_; }  // the other side has taken all
  std::size_t ready() const { return held(head_->written.load(std::memory_order_acquire), own_); }

  // Who finds nothing to do may sleep: it says so, looks once more, and sleeps until the other side wakes it.
  enum class Side : unsigned char { Writer, Reader };
  void say_asleep(Side side, bool asleep);
  // Told once: whether the other side sleeps, after a put or a take.
  bool must_wake(Side side);

 private:
  struct Head {  // a line of the cache for each side, and one for what seldom changes
    alignas(64) std::atomic<std::uint64_t> written;
    alignas(64) std::atomic<std::uint64_t> taken;
    alignas(64) std::atomic<std::uint32_t> asleep[2];
  };
  std::size_t held(std::uint64_t written, std::uint64_t taken) const {
    return static_cast<std::size_t>(std::min<std::uint64_t>(written - taken, capacity_));
  }
  std::atomic<std::uint32_t>& asleep(Side side) { return head_->asleep[static_cast<int>(side)]; }

  Head* head_ = nullptr;
  char* data_ = nullptr;
  std::size_t capacity_ = 0;
  std::uint64_t own_ = 0;  // bytes of this side, ever
};

}  // namespace shard::runtime
