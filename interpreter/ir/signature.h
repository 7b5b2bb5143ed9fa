// The signature column, parsed: parameters of an operation as users write them.
//     "sum(x, axis: ints? = none, keepdims: bool = false)"      "concat(xs: arrays, axis: int = 0)"     "einsum(spec:
//     str, xs: arrays...)"
// A parameter without a kind is an array operand. Kinds: array, arrays (a list of operands), int, ints (one integer or
// a list: always stored as a list), float, bool, str, dtype, spec (stored as Layout), pairs, number (int or float).
// `?`: none may be given.
// `...`: takes all remaining positional arguments (or one list). Operands keep the order of the signature; an optional
// operand left out is skipped (the attribute `has_<name>` tells). Attributes carry the parameter's name.
#pragma once
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "interpreter/ir/attrs.h"

namespace shard::ir {

enum class ParamKind : std::uint8_t { Array, Arrays, Int, Ints, Float, Bool, Str, DType, Spec, Pairs, Number };

struct Parameter {
  std::string name;
  ParamKind kind = ParamKind::Array;
  bool optional = false;                   // `?`
  bool rest = false;                       // `...`
  std::optional<AttrValue> default_value;  // monostate is none
  bool is_operand() const { return kind == ParamKind::Array || kind == ParamKind::Arrays; }
};

struct Signature {
  std::string name;
  std::vector<Parameter> params;
  std::string text;  // as users read it in help
};

Signature parse_signature(std::string_view text);  // throws std::logic_error for a malformed row

}  // namespace shard::ir
