// `if`, `while` and `for` on conditions and ranges that only a run knows: one node of the program instead of one copy
// of the body for each turn.
#pragma once
#include "grammar/ast.h"
#include "interpreter/lang/eval/interpreter.h"

namespace shard::lang {

Value traced_if(Interpreter::Impl& m, const grammar::Expr& e, const grammar::IfExpr& x, const trace::Tensor& condition);
void traced_while(Interpreter::Impl& m, const grammar::WhileStmt& s, grammar::Span span);
// `begin`, `end` and `step` (not 0) are those of the statement's range. False, and nothing done, where both ends are
// known.
bool traced_for(Interpreter::Impl& m, const grammar::ForStmt& s, const Value& begin, const Value& end,
                std::int64_t step, grammar::Span span);

}  // namespace shard::lang
