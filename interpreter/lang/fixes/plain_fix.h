// Fixes for plain mistakes, which need no trying: an operand that is none, shapes that meet at the wrong end, `/` where
// a size stands. Called by Fixes, before it looks for layouts.
#pragma once
#include <vector>

#include "interpreter/lang/eval/interpreter.h"

namespace shard::lang {

// An operand that is none: what gave it.
void explain_none(Interpreter::Impl& m, grammar::Error& error, const grammar::Expr& operand, const Value& value);
// Shapes that would broadcast with new dimensions at the end of one.
void fix_broadcast(Interpreter::Impl& m, grammar::Error& error, const grammar::Binary& b, const Value& left,
                   const Value& right);
// `/` in an argument that must be an integer.
void fix_division(Interpreter::Impl& m, grammar::Error& error, const std::vector<const grammar::Expr*>& written);

}  // namespace shard::lang
