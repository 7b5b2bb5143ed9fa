// Derivatives of graphs, forward and reverse, from the one derivative column of the rows. Graph in, graph out.
#pragma once
#include <span>
#include <vector>

#include "interpreter/ir/builder.h"

namespace shard::transform {

// Reverse mode. `f` has parameters p and results r. The graph made has parameters p..., then a cotangent for each
// result i with with_ct[i]; its results are r... (where `values`), then for each j in wrt the gradient with respect to
// p[j] (type of p[j], zeros where nothing flows). Operations of f on the way to a result are in it once; effects only
// where `values`. Integer and bool parameters get zeros of their own type. Throws grammar::Error at the node's span for
// not_differentiable.
ir::Graph vjp(const ir::OpTable& table, const ir::Graph& f, std::span<const int> wrt, const std::vector<bool>& with_ct,
              bool values);

// Forward mode. The graph made has parameters p..., then a tangent for each j in wrt; results r..., then a tangent for
// each result (zeros where nothing flows; of the result's type).
ir::Graph jvp(const ir::OpTable& table, const ir::Graph& f, std::span<const int> wrt);

// ---- Types of cotangents and the fitting of values to them. A cotangent has the shape and the dtype of its primal;
// along explicit axes split stays split, whole stays whole, and `reduced` and `unreduced` change places (a total map,
// so that additions always fit). Called by the derivative passes and by rows that make derivatives themselves (loops,
// branches).
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
