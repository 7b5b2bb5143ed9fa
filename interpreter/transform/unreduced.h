// Unreduced sums: whether an operation shall work on the terms of a sum instead of the sum. That it may is said by
// ir/linear.h, that it pays is said here; called by partition.cpp for nodes with an unreduced operand.
#pragma once
#include "interpreter/ir/op.h"
#include "interpreter/transform/factor_layout.h"

namespace shard::transform {

struct CarryOperand {
  bool unreduced;  // a sum over `axes` is to be done, and nobody else uses the value
  const Sharding* layout;
  std::int64_t bytes;  // global
};

// True where the result's terms can be computed from the operands' terms: the operation is linear in all unreduced
// operands together and exact, every other operand is the same for all terms, and nothing is made larger. `wish`: the
// layout that the result shall have; where it is split over the axes of the sum the sum is better done (and scattered)
// before.
bool carries(const ir::OpCall& call, std::span<const CarryOperand> operands, AxisSet axes, const Sharding& wish,
             std::int64_t result_bytes);

}  // namespace shard::transform
