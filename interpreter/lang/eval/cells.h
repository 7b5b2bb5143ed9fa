// Cells of variables by age. A cell's serial grows with every cell made, so what is older than the open trace is
// outside of it: it may not be assigned, and who compiles is told of its reads (jit's key). Jit sets the observer and
// the floors; see ReadScope there.
#pragma once
#include "interpreter/lang/values/closure.h"

namespace shard::lang {

// Told of every read of a variable that is older than the open trace, and of what is computed from the numbers among
// them alone; what it returns is what the program sees.
struct ReadObserver {
  virtual ~ReadObserver() = default;
  virtual Value on_read(const CellRef& cell, const Value& value) = 0;
  virtual Value on_computed(const trace::Known& number, const std::string& key) = 0;  // equal keys: the same formula
};

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

}  // namespace shard::lang
