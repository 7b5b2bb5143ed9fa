// A plan that runs turn after turn, and the machine code of such loops (runtime/kernels/loop_code.h).
#pragma once
#include <algorithm>
#include <array>
#include <atomic>
#include <memory>
#include <mutex>
#include <optional>
#include <utility>
#include <vector>

#include "interpreter/exec/plan.h"
#include "runtime/kernels/loop_code.h"

namespace shard::exec {

// Beyond the array at times: then nobody reads there.
inline void* moved(void* p, std::int64_t bytes) {
  return reinterpret_cast<void*>(reinterpret_cast<std::uintptr_t>(p) + static_cast<std::uintptr_t>(bytes));
}

// Where a place of the plan lies whose slot is at `base`.
void* located(const Plan& p, const Loc& loc, const Run& r, void* base);

// `at`: operands, results, then the scratch of a control. Errors are told of the step's line.
void run_step(const Step& s, Run& r, void* const* at);

// Memory for a few things, or from the heap for more of them.
template <class T, std::size_t kFew>
class Room {
 public:
  explicit Room(std::size_t n) : many_(n > kFew ? new T[n] : nullptr), data_(many_ ? many_.get() : few_.data()) {
    std::fill_n(data_, n, T{});
  }
  T& operator[](std::size_t i) { return data_[i]; }
  T* at(std::size_t i) const { return data_ + i; }

 private:
  std::array<T, kFew> few_;
  std::unique_ptr<T[]> many_;
  T* data_;
};

// The code of two turns of a loop after one another, the loops inside them with it. Made once the loop has run long
// enough for that to pay.
class NativeLoop {
 public:
  // Counts one turn more; null until there have been enough.
  const NativeLoop* ready(const Loop& loop);
  // A place of the table at first: some address of the loop's plans (`even` and `odd` ones of the body, then of the
  // condition), or no address.
  struct Entry {
    std::optional<std::size_t> root;
    std::int64_t offset;  // bytes
  };
  const std::vector<Entry>& entries() const { return entries_; }
  // Turns, as many as said or until the condition fails; returns how many. Of a table that has been filled.
  std::int64_t run(Run& r, void** table, std::int64_t turns) const;

 private:
  std::atomic<std::int64_t> turns_{0};
  std::atomic<bool> tried_{false};
  std::once_flag once_;
  std::unique_ptr<const runtime::LoopCode> code_;
  std::vector<Entry> entries_;
};

// Its addresses are computed once for even turns and once for odd ones, between which buffers change places, and those
// of rows move on.
class Turns {
 public:
  explicit Turns(const Plan& plan)
      : plan_(plan), slots_(plan.slots()), base_(2 * slots_), step_(slots_), at_(2 * plan.locs.size()) {}
  // Where a slot lies in turn 0 and in turn 1; and one that moves on by so many bytes a turn.
  void set(std::size_t slot, void* even, void* odd) { base_[slot] = even, base_[slots_ + slot] = odd; }
  void moving(std::size_t slot, void* first, std::int64_t bytes) {
    set(slot, first, moved(first, bytes));
    step_[slot] = bytes;
  }
  void begin(const Run& r);  // once all slots are set
  void one(Run& r, std::int64_t turn);
  // The body is one program of few elements that has code: then turns of it alone, which keep what they can in
  // registers; null else.
  runtime::ElementTurns* alone(std::int64_t turn);
  // Of the plan's place i in even or odd turns.
  void* address(bool odd, std::size_t i) const { return *at_.at((odd ? plan_.locs.size() : 0) + i); }
  std::size_t places() const { return plan_.locs.size(); }
  void pass(std::int64_t turns);  // an even number, which have been run elsewhere

 private:
  const Plan& plan_;
  std::int64_t next_look_ = 16;  // for fewer turns it does not pay to prepare
  std::optional<runtime::ElementTurns> alone_;
  std::size_t slots_;
  Room<void*, 32> base_;  // by slot, of even turns, then of odd ones
  Room<std::int64_t, 16> step_;
  Room<void*, 64> at_;  // as `base_`, by place in `locs`
  std::vector<std::pair<std::size_t, std::int64_t>> moving_;
};

}  // namespace shard::exec
