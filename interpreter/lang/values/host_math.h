// Arithmetic on host numbers and strings, as Python's: integers of 64 bits whose overflow is an error, true division,
// floor division and remainder that round down. Used by the evaluator; arrays go to operation rows instead.
#pragma once
#include <optional>

#include "grammar/ast.h"
#include "interpreter/lang/values/value.h"

namespace shard::lang {

// Nothing where the operands are not both host numbers, bools or strings of kinds that `op` takes. A string times an
// integer is repeated.
// Throws runtime::RuntimeError("overflow" | "value") where the result does not exist.
std::optional<Value> host_binary(grammar::BinaryOp op, const Value& l, const Value& r);
std::optional<Value> host_unary(grammar::UnaryOp op, const Value& v);

}  // namespace shard::lang
