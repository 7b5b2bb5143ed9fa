// The memory of running functions: where the variables are that no inner function refers to, and the cells of the
// others. Frames lie on two stacks and are entered and left with their calls. Cells are known by their age: a cell's
// serial grows with every cell made, so what is older than the open trace is outside of it. It may not be assigned, and
// who compiles is told of its reads (jit's key).
#pragma once
#include <cstdint>
#include <memory>
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
    std::size_t chunk = 0, top = 0;
  };
  Mark mark() const { return {chunk_, top_}; }
  T* push(std::size_t n) {
    if (chunks_.empty() || top_ + n > chunks_[chunk_].size) {
      if (!chunks_.empty()) ++chunk_;
      top_ = 0;
      while (chunk_ < chunks_.size() && chunks_[chunk_].size < n) ++chunk_;
      if (chunk_ >= chunks_.size()) {
        const std::size_t least = chunks_.empty() ? kFirst : kChunk;
        const std::size_t size = n > least ? n : least;
        chunks_.push_back({std::make_unique<T[]>(size), size});
        chunk_ = chunks_.size() - 1;
      }
    }
    T* out = chunks_[chunk_].data.get() + top_;
    top_ += n;
    return out;
  }
  void pop(Mark mark, T* from, std::size_t n) {
    for (std::size_t i = n; i-- > 0;) from[i] = T();
    chunk_ = mark.chunk;
    top_ = mark.top;
  }

 private:
  static constexpr std::size_t kFirst = 128;  // a short script touches no more pages than it needs
  static constexpr std::size_t kChunk = 1024;
  struct Chunk {
    std::unique_ptr<T[]> data;
    std::size_t size;
  };
  std::vector<Chunk> chunks_;
  std::size_t chunk_ = 0, top_ = 0;
};

struct Frames {
  ActiveFrame* active = nullptr;  // null: nothing runs
  Stack<Value> values;
  Stack<CellRef> cells;
};

// The memory of one frame; it becomes the running one as Frames::active.
class FrameMemory {
 public:
  FrameMemory(Frames& frames, const FunctionInfo& info)
      : frames_(frames), info_(info), values_(frames.values.mark()), cells_(frames.cells.mark()) {
    frame.locals = frames.values.push(static_cast<std::size_t>(info.locals));
    frame.cells = frames.cells.push(static_cast<std::size_t>(info.cells));
  }
  FrameMemory(Frames& frames, const Closure& f) : FrameMemory(frames, f.information()) {  // of a call of f
    frame.captured = f.captured.data();
    frame.unit = f.unit.get();
    frame.module = f.module.get();
    frame.closure = &f;
  }
  ~FrameMemory() {
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
