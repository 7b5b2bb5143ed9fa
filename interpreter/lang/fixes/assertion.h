// What stood on both sides of the comparison that an assertion is about: kept for the length of the call, told where it
// fails. And values that a statement throws away although they are all that a call is for.
#pragma once
#include <optional>

#include "interpreter/lang/eval/impl.h"

namespace shard::lang {

class Sides {
 public:
  // The value of an argument. Where it is a comparison, or a row of nothing but one (all(a == b)), its sides are kept.
  Value eval(Interpreter::Impl& m, const grammar::Expr& argument);
  void tell(Interpreter::Impl& m, grammar::Error& error) const;  // where an assertion failed

 private:
  struct Kept {
    Value left, right;
    grammar::BinaryOp op;
  };
  std::optional<Kept> kept_;
  Value compare(Interpreter::Impl& m, const grammar::Expr& e, const grammar::Binary& b);
};

// xs.append(3), x.sort(): methods that change their object in other languages give a new value here. An error where
// the call is a statement.
void refuse_thrown_away(Interpreter::Impl& m, const grammar::Expr& e, const grammar::Call& c, const Value& callee,
                        const Value* object);

}  // namespace shard::lang
