// Derivatives of graphs, forward and reverse, from the one derivative column of the rows. Graph in, graph out.
#pragma once
#include <span>
#include <vector>

#include "interpreter/ir/op_table.h"

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

}  // namespace shard::transform
