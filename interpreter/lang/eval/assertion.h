// The operands of the comparison that an assertion is about: kept for the length of the call, shown where it fails.
#pragma once
#include <optional>

#include "grammar/ast.h"
#include "interpreter/lang/eval/interpreter.h"

namespace shard::lang {

class AssertedOperands {
 public:
  // The value of an argument. Where it is a comparison, or a row of nothing but one (all(a == b)), its operands are
  // kept.
  Value eval(Interpreter::Impl& m, const grammar::Expr& argument);
  void show(Interpreter::Impl& m, grammar::Error& error) const;  // where an assertion failed

 private:
  struct Operands {
    Value left, right;
    grammar::BinaryOp op;
  };
  std::optional<Operands> kept_;
  Value compare(Interpreter::Impl& m, const grammar::Expr& e, const grammar::Binary& b);
};

}  // namespace shard::lang
