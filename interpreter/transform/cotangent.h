// Types of cotangents and the fitting of values to them. A cotangent has the shape and the dtype of its primal; along
// explicit axes split stays split, whole stays whole, and `reduced` and `unreduced` change places (a total map, so that
// additions always fit). Called by the derivative passes and by rows that make derivatives themselves (loops,
// branches).
#pragma once
#include "interpreter/ir/builder.h"

namespace shard::transform {

ir::Type cotangent_type(const ir::Type& primal);

// Whether values of this type have derivatives.
inline bool differentiable(const ir::Type& t) { return runtime::is_inexact(t.dtype); }

// `x` made a value of type `want`: what broadcasting had enlarged is summed, what is smaller is broadcast; then dtype,
// layout, and the manual axes along which it varies (summed over those that `want` does not vary along). `x` itself
// where nothing changes.
ir::Var fit(ir::Builder& b, ir::Var x, const ir::Type& want);

// Zeros of exactly this type, and the sum of two values of which either may be an invalid Var (a symbolic zero).
ir::Var typed_zeros(ir::Builder& b, const ir::Type& want);
ir::Var sum_of(ir::Builder& b, ir::Var x, ir::Var y);

}  // namespace shard::transform
