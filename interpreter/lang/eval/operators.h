// Which row of the operation table an operator of the language stands for. Elsewhere in `eval` operations are those of
// ir/core_ops.h.
#pragma once
#include <string_view>

#include "grammar/ast.h"

namespace shard::lang {

std::string_view row_of(grammar::BinaryOp op);   // "" for `..`
std::string_view row_of(grammar::UnaryOp op);    // "" for unary plus
std::string_view sign_of(grammar::BinaryOp op);  // as it is written: "+", "//", "and"
std::string_view sign_of(grammar::UnaryOp op);
grammar::BinaryOp operator_of(grammar::AssignOp op);  // += is +
// The row that `x[i] op= v` scatters with; "" where it does not scatter.
std::string_view scatter_of(grammar::AssignOp op);
inline constexpr std::string_view kCastRow = "cast";  // f32(x)

}  // namespace shard::lang
