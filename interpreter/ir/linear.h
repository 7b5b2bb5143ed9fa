// Linearity, read from the columns of a row: in which operands an operation is linear, and whether it may be done to
// the terms of a sum in place of the sum. The one place that knows; its readers are the explicit law (what an unreduced
// sum passes through), the partitioner (transform/partition.cpp) and early sums (transform/early_sums).
#pragma once
#include <optional>
#include <vector>

#include "interpreter/ir/op.h"

namespace shard::ir {

struct Linear {
  std::vector<bool> in;  // by operand; the others say how: a condition, a position, a divisor
  bool jointly =
      false;  // in all of them together: a sum of what comes of each; otherwise in each while the rest is fixed
  bool scales = false;  // what comes of a term is multiplied or divided by the other operands
  // Done to the terms it rounds no more than their sum does. Moving, adding and negating always; scaling in f32, f64
  // and integers, in f16 and bf16 by known powers of two only; a cast where it widens a float.
  bool exact = true;
};

// Nothing where it is linear in no operand. Structural rows (loops, collectives) are not asked: what they hand on is
// said where they are laid out.
std::optional<Linear> linear(const OpCall& call);

// The number that an operand holds everywhere, where the graph shows it: a constant, converted or repeated.
std::optional<double> known_number(const OpCall& call, std::size_t operand);

}  // namespace shard::ir
