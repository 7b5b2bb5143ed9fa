// Fixes for errors of layout, found by trying: an operand is given another layout, or the result's layout is said with
// `out:`, and what the operation then accepts is suggested as source text. No operation is named here, and no rule is
// written a second time.
#pragma once
#include <vector>

#include "interpreter/lang/eval/impl.h"
#include "interpreter/lang/index/index_plan.h"

namespace shard::lang {

// Called where such an expression fails; the error is thrown on with its fixes.
void mend_binary(Interpreter::Impl& m, grammar::Error& error, const grammar::Expr& e, const Value& left,
                 const Value& right);
// `x += value`, `x[i] = value`: what is assigned to keeps its layout, the value may get another.
void mend_assign(Interpreter::Impl& m, grammar::Error& error, const grammar::AssignStmt& s, const Value& value);
void mend_index(Interpreter::Impl& m, grammar::Error& error, const grammar::Expr& e, const Value& object,
                const std::vector<IndexItem>& items);
// `for x in sequence`: the rows of an array.
void mend_rows(Interpreter::Impl& m, grammar::Error& error, const grammar::Expr& sequence, const Value& value);
// `written`: the expressions of the arguments, a method's receiver first; null where one is unknown.
void mend_call(Interpreter::Impl& m, grammar::Error& error, const grammar::Expr& e, const Value& function,
               const std::vector<CallArg>& args, const std::vector<const grammar::Expr*>& written);

}  // namespace shard::lang
