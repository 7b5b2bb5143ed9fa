// Arithmetic on host numbers and strings, as Python's: integers of 64 bits whose overflow is an error, true division,
// floor division and remainder that round down. Used by the evaluator; arrays go to operation rows instead.
#pragma once
#include <optional>

#include "grammar/ast.h"
#include "interpreter/lang/values/value.h"

namespace shard::lang {

// A bool or number out of its Value; none: something else.
using HostScalar = std::variant<None, bool, std::int64_t, double>;
inline HostScalar scalar_in(const Value& v) {
  if (auto* i = v.get<std::int64_t>()) return *i;
  if (auto* d = v.get<double>()) return *d;
  if (auto* b = v.get<bool>()) return *b;
  return {};
}
inline Value value_of(const HostScalar& s) {
  if (auto* i = std::get_if<std::int64_t>(&s)) return *i;
  if (auto* d = std::get_if<double>(&s)) return *d;
  if (auto* b = std::get_if<bool>(&s)) return *b;
  return {};
}
// None where `op` does not take these. Errors: as host_binary.
HostScalar scalar_binary(grammar::BinaryOp op, const HostScalar& l, const HostScalar& r);
HostScalar scalar_unary(grammar::UnaryOp op, const HostScalar& x);

// Nothing where the operands are not both host numbers, bools or strings of kinds that `op` takes. A string times an
// integer is repeated.
// Throws runtime::RuntimeError("overflow" | "value") where the result does not exist.
std::optional<Value> host_binary(grammar::BinaryOp op, const Value& l, const Value& r);
std::optional<Value> host_unary(grammar::UnaryOp op, const Value& v);

}  // namespace shard::lang
