// The loops of one reduction of one element type. f16 and bf16 accumulate in f32. Shared by reduce.cpp (within a block)
// and blocks.cpp (over blocks) only.
#pragma once
#include <string>

#include "runtime/kernels/vector/table.h"

namespace shard::runtime {

struct ReducePlan {
  DType type;              // of memory
  std::size_t item, wide;  // bytes in memory, and of the accumulating type
  Loop load = nullptr;     // for halves: memory -> f32
  Loop store = nullptr;    // f32 -> memory
  Loop join = nullptr;     // acc = op(a, b) in the accumulating type
  void (*run)(const void*, std::int64_t, void*) = nullptr;
};

inline ReducePlan reduce_plan(Reduce op, DType type) {
  const VectorTable& t = vector_table();
  ReducePlan p{type, size_of(type), size_of(type), nullptr, nullptr, t.accumulate(op, type), t.run(op, type)};
  if (!p.join) throw RuntimeError("kernel", "this reduction does not exist for " + std::string(name(type)));
  if (type == DType::F16 || type == DType::BF16) {
    p.wide = 4;
    p.load = type == DType::F16 ? t.load_f16 : t.load_bf16;
    p.store = type == DType::F16 ? t.store_f16 : t.store_bf16;
  }
  return p;
}

}  // namespace shard::runtime
