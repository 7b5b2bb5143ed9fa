// Forms of the language that have a file of their own: each is called by the walk (evaluate.cpp, statements.cpp) in one
// place.
#pragma once
#include "grammar/ast.h"
#include "interpreter/lang/eval/interpreter.h"
#include "interpreter/lang/eval/statement_end.h"

namespace shard::lang {

struct ActiveFrame;  // frames.h

// literals.cpp
Value eval_string(Interpreter::Impl& m, const grammar::StringLit& s);
Value eval_sequence(Interpreter::Impl& m, const std::vector<grammar::Element>& elements, bool list);
Value eval_record(Interpreter::Impl& m, const grammar::RecordLit& r);
// call_expr.cpp
Value eval_call(Interpreter::Impl& m, const grammar::Expr& e, const grammar::Call& c);
Value eval_pipe(Interpreter::Impl& m, const grammar::Expr& e, const grammar::Pipe& p);
// fields.cpp: the field of a record whose function is called so elsewhere (Dense: linear); or empty
std::string_view member_here(const Record* record, std::string_view name);
// call.cpp
Value eval_function(Interpreter::Impl& m, const grammar::FunctionPtr& f);
// Runs the body of a function whose arguments are in `f` already.
Value run_bound(Interpreter::Impl& m, ActiveFrame& f, const Closure& closure, grammar::Span span);
// statements.cpp
Flow exec_block(Interpreter::Impl& m, const grammar::Expr& e, const grammar::Block& b, Value* out);
Flow eval_use(Interpreter::Impl& m, const grammar::UseExpr& u, Value& out);
// loops.cpp
Flow exec_for(Interpreter::Impl& m, const grammar::ForStmt& s, grammar::Span span);
Flow exec_while(Interpreter::Impl& m, const grammar::WhileStmt& s, grammar::Span span);
// assign.cpp
Flow exec_assign(Interpreter::Impl& m, const grammar::AssignStmt& s);

}  // namespace shard::lang
