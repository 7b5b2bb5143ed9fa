// The layout of one operation's results on explicit axes, read from its factors: split operands give split results, what one
// operand splits and the other holds whole is split, and what two operands split differently is an error with the ways out.
#pragma once
#include <vector>

#include "interpreter/ir/op.h"

namespace shard::ir {

// Sets mesh and sharding of the results (whose shapes are known). Nothing where no operand has a layout. Throws RuntimeError.
void apply_explicit_law(const OpCall& call, const FactorRule& rule, std::vector<Type>& results);

}  // namespace shard::ir
