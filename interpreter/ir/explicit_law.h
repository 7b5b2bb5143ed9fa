// The layout of one operation's results on explicit axes, read from its row. Split operands give split results; what
// one operand splits and another holds whole is split; what two operands split differently, or a sum split on both
// sides, is an error with the ways out. `out: P(...)` overrules. Unreduced sums ({U:X}) pass through linear operations
// only; {R:X} passes where nothing mixes.
#pragma once
#include <vector>

#include "interpreter/ir/op.h"

namespace shard::ir {

// Sets mesh and sharding of the results (whose shapes are known). Nothing where no operand has a layout. Throws
// RuntimeError("layout").
void apply_explicit_law(const OpCall& call, const FactorRule& rule, std::vector<Type>& results);

// The axes over which the result of an operation can be left unreduced: those that split what it sums, and those of
// unreduced operands.
runtime::AxisSet summed_axes(const OpCall& call, const FactorRule& rule);
// Throws RuntimeError("layout") where a sum of this type cannot be unreduced: truth values and keys.
void check_summable(runtime::DType dtype, const std::string& what);

// The type of a value of this global type laid out as `layout`: only the explicit axes of its mesh show.
Type with_explicit_layout(Type type, const Layout& layout);
// Throws RuntimeError("spec") naming dimension, axes and sizes where a split dimension does not divide, or the rank
// does not fit.
void check_layout(const runtime::Shape& shape, const Layout& layout);

}  // namespace shard::ir
