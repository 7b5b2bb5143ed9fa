// The operations there are: rows by name. An engine owns one table; stdlib fills it; nothing else adds to it.
#pragma once
#include <deque>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "interpreter/ir/core_ops.h"
#include "interpreter/ir/op.h"

namespace shard::ir {

// The signature column, parsed: parameters of an operation as users write them.
//     "sum(x, axis: ints? = none, keepdims: bool = false)"      "concat(xs: arrays, axis: int = 0)"     "einsum(spec:
//     str, xs: arrays...)"
// A parameter without a kind is an array operand. Kinds: array, arrays (a list of operands), int, ints (one integer or
// a list: always stored as a list), float, bool, str, dtype, spec (stored as Layout), pairs, number (int or float).
// `?`: none may be given.
// `...`: takes all remaining positional arguments (or one list). Operands keep the order of the signature; an optional
// operand left out is skipped (the attribute `has_<name>` tells). Attributes carry the parameter's name.
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
// A constant as signatures and samples write it: none, true, 3, 0.5, "text" or 'text', f32, whole, [1, 2], [(1, 2)].
std::optional<AttrValue> literal(std::string_view word);

class OpTable {
 public:
  // The rows are made when one is first asked for: many a script has no arrays. Called once, on an empty table; threads
  // may share it then.
  void fill_when_asked(void (*fill)(OpTable&)) { fill_ = fill; }

  // Throws std::logic_error with a sentence saying what to write where a REQUIRED column is empty, or for a second
  // composite or a second other row of the name. Gives the row as it is kept, for a column that the function which made
  // it does not take.
  OpDef& add(OpDef row);
  // Of one name there may be a composite, which scripts call, and the row that it makes, which graphs hold.
  const OpDef* find(std::string_view name) const;  // what scripts call, null where there is none
  const OpDef& at(std::string_view name) const;    // what graphs hold, or else a composite; throws std::logic_error
  // Parsed when it is first asked for; throws std::logic_error where it is malformed or does not fit its row.
  const Signature& signature(const OpDef& op) const;
  const std::deque<OpDef>& rows() const { return filled().rows_; }
  const CoreOps& core() const { return filled().core_; }  // valid after freeze()
  void freeze();  // looks up the core operations; called once, when stdlib is in

 private:
  const OpTable& filled() const { return fill_ ? fill() : *this; }
  const OpTable& fill() const;

  struct Parsed {
    std::once_flag once;
    Signature signature;
  };
  std::deque<OpDef> rows_;                                                // addresses are stable: nodes point to rows
  std::unordered_map<std::string_view, const OpDef*> composites_, held_;  // by name
  mutable std::unordered_map<const OpDef*, Parsed> signatures_;           // one for every row
  CoreOps core_;
  void (*fill_)(OpTable&) = nullptr;
  mutable std::once_flag once_;
  mutable std::unique_ptr<OpTable> made_;  // has the rows in place of this one, where it fills itself
};

}  // namespace shard::ir
