// Fixes for errors of layout, found by trying: an operand is given another layout, or the result's layout is said with `out:`, and
// what the operation then accepts is suggested as source text. No operation is named here, and no rule is written a second time.
#pragma once
#include <functional>
#include <vector>

#include "interpreter/lang/impl.h"
#include "interpreter/lang/index_plan.h"

namespace shard::lang {

// Called where such an expression fails; the error is thrown on with its fixes.
void mend_binary(Interpreter::Impl& m, grammar::Error& error, const grammar::Expr& e, const Value& left, const Value& right);
// `x += value`, `x[i] = value`: what is assigned to keeps its layout, the value may get another.
void mend_assign(Interpreter::Impl& m, grammar::Error& error, const grammar::AssignStmt& s, const Value& value);
void mend_index(Interpreter::Impl& m, grammar::Error& error, const grammar::Expr& e, const Value& object, const std::vector<IndexItem>& items);
// `written`: the expressions of the arguments, a method's receiver first; null where one is unknown.
void mend_call(Interpreter::Impl& m, grammar::Error& error, const grammar::Expr& e, const Value& function, const std::vector<CallArg>& args,
               const std::vector<const grammar::Expr*>& written);

void mend_shard(Interpreter::Impl& m, grammar::Error& error, const grammar::Expr& e, const Value& value, const Value& spec, const runtime::MeshRef& mesh);

// Results of two regions that must agree in type, or of a loop's body and what came in: where one differs only in its layout, or in
// that it varies, a fix. `variable` "": the value of the block itself.
struct Differing { runtime::Type want, have; std::string variable; };
std::vector<grammar::Fix> block_fixes(Interpreter::Impl& m, const grammar::Expr& block, const Differing& d);
// The same by what stands before the loop at `loop`, where the value that comes in is to be changed.
std::vector<grammar::Fix> entry_fixes(const grammar::Span& loop, const Differing& d);

// The expression that gives a function's result: its body, or the last one of its block; null where a statement stands there.
const grammar::Expr* result_expression(const grammar::Function& f);
// `shard TEXT as SPEC` in place of what is written at `span`.
grammar::Fix shard_fix(Interpreter::Impl& m, std::string advice, grammar::Span span, const std::string& spec);

}  // namespace shard::lang
