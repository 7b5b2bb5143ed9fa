// The memory of running functions: where the variables are that no inner function refers to, and the cells of the
// others. Frames lie on two stacks and are entered and left with their calls. Cells are known by their age: a cell's
// serial grows with every cell made, so what is older than the open trace is outside of it. It may not be assigned, and
// who compiles is told of its reads (jit's key).
#pragma once
#include <algorithm>
#include <cstdint>
#include <memory>
#include <utility>
#include <vector>

#include "interpreter/lang/eval/hooks.h"

namespace shard::lang {

struct Cells {
  std::uint64_t next_serial = 1;     // of the next cell
  std::uint64_t trace_floor = 0;     // older cells are outside of the innermost trace: may not be assigned
  ReadObserver* observer = nullptr;  // null: nobody wants to know
  std::uint64_t observer_floor = 0;  // it is told of reads of older cells
  bool observed(const Cell& c) const { return observer && c.serial < observer_floor; }
  CellRef make() {
    auto c = std::make_shared<Cell>();
    c->serial = next_serial++;
    return c;
  }
};

// The running function (or top level): where its variables are.
struct ActiveFrame {
  Value* locals = nullptr;
  CellRef* cells = nullptr;
  const CellRef* captured = nullptr;
  const Unit* unit = nullptr;
  ModuleEnv* module = nullptr;
  const Closure* closure = nullptr;  // null: top level
};

// Stack memory of frames: stable addresses. What is pushed last is popped first; above the top nothing is held, though
// there may be numbers.
template <class T>
class Stack {
 public:
  [[gnu::always_inline]] T* push(std::size_t n) {
    if (n > static_cast<std::size_t>(end_ - top_)) next_chunk(n);
    return std::exchange(top_, top_ + n);
  }
  // `n`: of what was pushed there, how many may hold something.
  [[gnu::always_inline]] void pop(T* from, std::size_t n) {
    if (top_ == from || !from) return;  // of nothing, perhaps before there was a chunk
    for (std::size_t i = n; i-- > 0;) empty(from[i]);
    top_ = from;
    if (from == begin_) chunk_before();
  }

 private:
  static constexpr std::size_t kFirst = 128;  // a short script touches no more pages than it needs
  static constexpr std::size_t kChunk = 1024;
  struct Chunk {
    std::unique_ptr<T[]> data;
    std::size_t size;
    T* top;  // while a later one is in use
  };
  static void empty(Value& v) { v.let_go(); }
  static void empty(CellRef& c) { c.reset(); }
  void use(std::size_t chunk) {
    chunk_ = chunk;
    begin_ = chunks_[chunk].data.get();
    end_ = begin_ + chunks_[chunk].size;
    top_ = chunks_[chunk].top;
  }
  [[gnu::noinline]] void next_chunk(std::size_t n) {
    std::size_t next = 0;
    if (top_) chunks_[chunk_].top = top_, next = chunk_ + 1;
    if (next < chunks_.size() && chunks_[next].size < n) chunks_.resize(next);
    if (next == chunks_.size()) {
      const std::size_t size = std::max(n, chunks_.empty() ? kFirst : kChunk);
      chunks_.push_back({std::make_unique<T[]>(size), size, nullptr});
      chunks_.back().top = chunks_.back().data.get();
    }
    use(next);
  }
  [[gnu::noinline]] void chunk_before() {
    if (chunk_ == 0) return;
    chunks_[chunk_].top = begin_;
    use(chunk_ - 1);
  }
  std::vector<Chunk> chunks_;
  T *top_ = nullptr, *begin_ = nullptr, *end_ = nullptr;  // of the chunk in use
  std::size_t chunk_ = 0;
};

struct Frames {
  ActiveFrame* active = nullptr;  // null: nothing runs
  Stack<Value> values;
  Stack<CellRef> cells;
};

// The memory of one frame; it becomes the running one as Frames::active.
class FrameMemory {
 public:
  [[gnu::always_inline]] FrameMemory(Frames& frames, const FunctionInfo& info) : frames_(frames), info_(info) {
    const auto locals = static_cast<std::size_t>(info.locals);
    frame.locals = frames.values.push(locals);
    std::fill_n(frame.locals, locals, Value());  // a name in an annotation is a size where it is none yet
    frame.cells = frames.cells.push(static_cast<std::size_t>(info.cells));
  }
  [[gnu::always_inline]] FrameMemory(Frames& frames, const Closure& f)
      : FrameMemory(frames, f.information()) {  // of a call of f
    frame.captured = f.captured.data();
    frame.unit = f.unit.get();
    frame.module = f.module.get();
    frame.closure = &f;
  }
  [[gnu::always_inline]] ~FrameMemory() {
    frames_.cells.pop(frame.cells, static_cast<std::size_t>(info_.cells));
    frames_.values.pop(frame.locals, static_cast<std::size_t>(info_.locals));
  }
  FrameMemory(const FrameMemory&) = delete;
  ActiveFrame frame;

 private:
  Frames& frames_;
  const FunctionInfo& info_;
};

}  // namespace shard::lang
