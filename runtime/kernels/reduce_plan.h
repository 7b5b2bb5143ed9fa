// The loops of one reduction of one element type. Narrow floats accumulate in f32. Shared by reductions.cpp (within a
// block) and blocks.cpp (over blocks) only.
#pragma once
#include <string>

#include "runtime/kernels/vector/loop_table.h"

namespace shard::runtime {

struct ReducePlan {
  DType type;              // of memory
  std::size_t item, wide;  // bytes in memory, and of the accumulating type
  Loop load = nullptr;     // for narrow floats: memory -> f32
  Loop store = nullptr;    // f32 -> memory
  Loop join = nullptr;     // acc = op(a, b) in the accumulating type
  void (*run)(const void*, std::int64_t, void*) = nullptr;
};

inline ReducePlan reduce_plan(Reduce op, DType type) {
  const VectorTable& t = vector_table();
  ReducePlan p{type, size_of(type), size_of(type), nullptr, nullptr, t.accumulate(op, type), t.run(op, type)};
  if (!p.join) throw RuntimeError("kernel", "this reduction does not exist for " + std::string(name(type)));
  if (is_narrow(type)) {
    p.wide = 4;
    p.load = t.narrow(type).load, p.store = t.narrow(type).store;
  }
  return p;
}

}  // namespace shard::runtime
