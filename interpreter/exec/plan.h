// A plan: instructions bound to kernels, with addresses as (slot, offset). A run fills in the slots and calls one
// kernel after another; nothing is looked up, nothing but results and one block for all temporaries (the arena) is
// allocated. Plans nest: bodies of loops and branches are plans whose arena is a part of the outer one's. Made by
// lowering.h, run by executable.cpp.
#pragma once
#include <cstdint>
#include <memory>
#include <utility>
#include <vector>

#include "interpreter/exec/executable.h"

namespace shard::exec {

// What one run carries along.
struct Run {
  const Hooks& hooks;
  runtime::Pool& pool;
  std::vector<std::int64_t> coordinates;  // by mesh axis: where a region that runs block by block stands
  void ask() const;                       // throws an Error where the run is to end (runtime/array/stop.h)
  void turn(bool endless = false) const;  // counts a turn of a loop, and asks; endless: patience ends nothing
};

// Address of the first element: base[slot] + offset (+ stride times coordinate of each term). Slot 0 is address 0:
// constants.
struct Loc {
  static constexpr std::int32_t kNoTerms = -1;
  std::int32_t slot = 0;
  std::int32_t terms = kNoTerms;  // index into Plan::terms
  std::int64_t offset = 0;        // bytes
};

class Control {  // an instruction that is more than one kernel call
 public:
  virtual ~Control() = default;
  virtual void run(Run& run, void* const* in, void* const* out, char* scratch) const = 0;
  virtual std::int64_t scratch_bytes() const { return 0; }
};

struct Step {
  ir::BoundKernel kernel;  // exactly one of the two
  std::shared_ptr<const Control> control;
  std::uint32_t first = 0, ins = 0, outs = 0;  // locs: operands, results, then the scratch of a control
  grammar::Span span;
  const ir::Node* node = nullptr;  // that it is, or the last of those that it is; none: a copy
};

struct Plan {
  std::vector<Step> steps;
  std::vector<Loc> locs;
  std::vector<std::vector<std::pair<runtime::AxisId, std::int64_t>>> terms;  // bytes a coordinate
  std::vector<runtime::BufferRef> constants;                                 // what slot 0 points into
  std::size_t params = 0, results = 0;  // slots 1 .. params, then the arena, then the results
  std::int64_t arena = 0;               // bytes
  std::int64_t arena_slot() const { return static_cast<std::int64_t>(params) + 1; }
  std::size_t slots() const { return params + results + 2; }
  void run(Run& run, char* const* base) const;  // base[slot]
};

}  // namespace shard::exec
