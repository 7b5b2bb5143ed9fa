// Complex numbers are told by their parts. Kernels, derivatives, layouts and batching see real numbers alone: where a
// row meets a complex operand, its column `of_complex` says it in real rows. Only what takes numbers apart, puts them
// together, shows or carries them has complex operands in a graph, and decompositions of matrices.
#pragma once
#include "interpreter/ir/builder.h"

namespace shard::ir {

// Whether the row is to be told by parts here; throws RuntimeError("dtype") where it is not for complex numbers.
bool told_by_parts(const Builder& b, const OpDef& op, std::span<const Var> operands, const Attrs& attrs);
Vars by_parts(Builder& b, const OpDef& op, std::span<const Var> operands, const Attrs& attrs);

inline bool is_complex(const Builder& b, Var x) { return runtime::is_complex(b.type(x).dtype); }
Var real_part(Builder& b, Var x);  // x itself where it is real
Var imag_part(Builder& b, Var x);  // zeros there
Var complex_of(Builder& b, Var re, Var im);

}  // namespace shard::ir
