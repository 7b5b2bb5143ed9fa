// Custom derivative rules that a row gives in one direction only, turned round: a derivative is linear, and reverse
// mode transposes it. Called by the forward and the reverse pass.
#pragma once
#include "interpreter/ir/builder.h"

namespace shard::transform {

// Cotangents of the operands from those of the results, by the row's jvp; and tangents of the results from those of the
// operands, by its vjp. Invalid Vars stand for zeros, in and out.
ir::Vars pull_by_jvp(ir::Builder& b, const ir::Custom& rule, const ir::NodeView& node,
                     std::span<const ir::Var> cotangents);
ir::Vars push_by_vjp(ir::Builder& b, const ir::Custom& rule, const ir::NodeView& node,
                     std::span<const ir::Var> tangents);

// "the derivative of NAME is not defined: WHY", at the builder's span.
[[noreturn]] void not_differentiable(const ir::Builder& b, const ir::OpCall& call, std::string_view why);

}  // namespace shard::transform
