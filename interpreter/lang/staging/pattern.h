// The shape of a value as a compiled call remembers it: which leaves are arrays (their types and layouts), which are
// host numbers (traced, so only their kind counts), and what the rest was. Used by jit to tell whether a call fits a
// compiled one.
#pragma once
#include <string>
#include <vector>

#include "interpreter/exec/executable.h"
#include "interpreter/lang/values/value.h"

namespace shard::lang {

// The arrays and numbers of a call, in the order of their leaves.
struct Gathered {
  std::vector<runtime::ArrayRef> arrays;                  // one a leaf that is an array or a number; null for numbers
  std::vector<std::optional<trace::HostNumber>> numbers;  // parallel: the number, where it is one
};

class Pattern {
 public:
  static Pattern of(const Value& v);
  // Whether v fits; appends its leaves to `out` (which is meaningless after a misfit).
  bool match(const Value& v, Gathered& out) const;
  // Equal for values that one pattern fits; what differs in it fits no common one.
  static std::size_t hash(const Value& v);
  // The same leaves, without looking at layouts: for a value that the pattern was made of.
  static void gather(const Value& v, Gathered& out);
  // A value that the pattern was made of, from its arrays and numbers.
  Value filled(const std::vector<Value>& gathered, std::size_t& at) const;
  // v with its arrays and numbers replaced, in order.
  static Value replace(const Value& v, const std::vector<Value>& gathered, std::size_t& at);

 private:
  enum class Kind { Array, Integer, Real, Static, List, Tuple, Record };
  Kind kind_ = Kind::Static;
  exec::ArrayInfo info_;
  Value constant_;
  std::vector<Pattern> children_;
  std::vector<std::string> names_;
};

}  // namespace shard::lang
