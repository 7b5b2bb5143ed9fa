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

// Stack memory of frames: stable addresses, emptied values above the top.
template <class T>
class Stack {
 public:
  struct Mark {
    T *top = nullptr, *end = nullptr;  // of the chunk
    std::size_t chunk = 0;
  };
  Mark mark() const { return at_; }
  [[gnu::always_inline]] T* push(std::size_t n) {
    if (n > static_cast<std::size_t>(at_.end - at_.top)) next_chunk(n);
    return std::exchange(at_.top, at_.top + n);
  }
  [[gnu::always_inline]] void pop(Mark mark, T* from, std::size_t n) {
    for (std::size_t i = n; i-- > 0;) from[i] = T();
    at_ = mark;
  }

 private:
  static constexpr std::size_t kFirst = 128;  // a short script touches no more pages than it needs
  static constexpr std::size_t kChunk = 1024;
  struct Chunk {
    std::unique_ptr<T[]> data;
    std::size_t size;
  };
  [[gnu::noinline]] void next_chunk(std::size_t n) {
    std::size_t next = at_.top ? at_.chunk + 1 : 0;
    while (next < chunks_.size() && chunks_[next].size < n) ++next;
    if (next == chunks_.size()) {
      const std::size_t size = std::max(n, chunks_.empty() ? kFirst : kChunk);
      chunks_.push_back({std::make_unique<T[]>(size), size});
    }
    at_ = {chunks_[next].data.get(), chunks_[next].data.get() + chunks_[next].size, next};
  }
  std::vector<Chunk> chunks_;
  Mark at_;
};

struct Frames {
  ActiveFrame* active = nullptr;  // null: nothing runs
  Stack<Value> values;
  Stack<CellRef> cells;
};

// The memory of one frame; it becomes the running one as Frames::active.
class FrameMemory {
 public:
  [[gnu::always_inline]] FrameMemory(Frames& frames, const FunctionInfo& info)
      : frames_(frames), info_(info), values_(frames.values.mark()), cells_(frames.cells.mark()) {
    frame.locals = frames.values.push(static_cast<std::size_t>(info.locals));
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
    frames_.cells.pop(cells_, frame.cells, static_cast<std::size_t>(info_.cells));
    frames_.values.pop(values_, frame.locals, static_cast<std::size_t>(info_.locals));
  }
  FrameMemory(const FrameMemory&) = delete;
  ActiveFrame frame;

 private:
  Frames& frames_;
  const FunctionInfo& info_;
  Stack<Value>::Mark values_;
  Stack<CellRef>::Mark cells_;
};

}  // namespace shard::lang
