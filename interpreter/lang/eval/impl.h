// The inside of the evaluator: the walk over trees, and the parts that it is made of, each with a header of its own.
// Shared by the rooms that evaluate (eval, index, layouts, staging) and by those above them; hosts use interpreter.h.
#pragma once
#include <memory>
#include <set>
#include <string>
#include <vector>

#include "interpreter/lang/eval/builtins.h"
#include "interpreter/lang/eval/calls.h"
#include "interpreter/lang/eval/cells.h"
#include "interpreter/lang/eval/frames.h"
#include "interpreter/lang/eval/hooks.h"
#include "interpreter/lang/eval/interpreter.h"
#include "interpreter/lang/eval/modules.h"
#include "interpreter/lang/eval/statement_end.h"
#include "interpreter/lang/eval/surroundings.h"
#include "interpreter/lang/eval/watch.h"
#include "interpreter/lang/warnings/warnings.h"

namespace shard::lang {

struct Interpreter::Impl {
  explicit Impl(Interpreter& interpreter);

  Interpreter& in;
  trace::Context& ctx;

  // ---- the parts
  Builtins builtins;
  Surroundings surroundings;
  Cells cells;
  Frames frames;
  Calls calls;
  Warnings warnings;
  Watch watch;
  std::set<std::string> not_written;       // paths, where nothing is run
  Checker* checker = nullptr;              // set while a script is checked in place of being run
  std::unique_ptr<Fixer> fixer;            // null: errors go without fixes
  WithModifiers with_modifiers = nullptr;  // of staging
  Modules modules;                         // last: its cells go first

  // ---- how a statement was left
  Value returned;           // of Flow::Return
  grammar::Span flow_span;  // of the break, continue or return that is under way

  // ---- the tables of the running tree
  ActiveFrame& frame() const { return *frames.active; }
  Slot slot(std::int32_t id) const { return frame().unit->slots[static_cast<std::size_t>(id)]; }
  std::int32_t extra(std::int32_t id) const { return frame().unit->extra[static_cast<std::size_t>(id)]; }
  std::uint8_t flags(std::int32_t id) const { return frame().unit->flags[static_cast<std::size_t>(id)]; }

  // ---- variables (evaluate.cpp)
  Value read(Slot s, const grammar::Expr& at);
  const Value* peek(const grammar::Expr& e);      // a variable's value in place; null where there is none to see
  Value& assignable(Slot s, grammar::Span span);  // checks that the variable may be assigned now
  CellRef cell_of(Slot s) const;                  // null for locals
  void declare(Slot s, Value v, bool fresh);      // fresh: a cell of its own (parameters, loop patterns)
  void bind(const grammar::Pattern& p, Value v, bool fresh);
  void assign(const grammar::Expr& target, grammar::AssignOp op, Value v);

  // ---- expressions (evaluate.cpp, arithmetic.cpp, fields.cpp; form_walks.h)
  Value eval(const grammar::Expr& e);
  Flow eval_flow(const grammar::Expr& e, Value& out);  // blocks and ifs without exceptions
  Truth condition(const Value& v, grammar::Span span);
  Value binary(grammar::BinaryOp op, const Value& l, const Value& r, grammar::Span span);
  Value unary(grammar::UnaryOp op, const Value& v, grammar::Span span);
  Value field(const Value& object, const std::string& name, grammar::Span span);
  std::optional<Value> find_field(const Value& object, const std::string& name);

  // ---- statements (statements.cpp)
  Flow exec(const grammar::Stmt& s, Value* value);  // value: of an expression statement, where it is wanted
  void poll(grammar::Span span);  // at statements, calls and turns of loops: counts one, throws where the run is to end

  // ---- calls (call.cpp, bind_native.cpp, bind_row.cpp). Arguments are left where a callee fails before using them.
  Value call(const Value& f, std::vector<CallArg>& args, grammar::Span span);
  Value call_closure(const std::shared_ptr<const Closure>& f, std::vector<CallArg>& args, grammar::Span span);
  Value call_native(const std::shared_ptr<const Native>& f, std::vector<CallArg>& args, grammar::Span span);
  Value call_row(const ir::OpDef& op, std::vector<CallArg>& args, grammar::Span span);

  // ---- operations with a span: RuntimeErrors become errors of the script there
  // What is recorded from inside of the library belongs to the script's line, for whoever reads the graph; errors while
  // recording keep their own place, with the calls that led there (report.h).
  grammar::Span recorded_at(grammar::Span span) const {
    return calls.user.known() && ctx.tracing() ? calls.user : span;
  }
  template <class F>
  auto at(grammar::Span span, F f) -> decltype(f()) {
    const grammar::Span recorded = recorded_at(span);
    ctx.set_span(recorded);
    try {
      return f();
    } catch (const runtime::RuntimeError& e) {
      throw grammar::Error(e.code, span, e.what());
    } catch (grammar::Error& e) {
      if (!e.diagnostic.span.known() || e.diagnostic.span == recorded) e.diagnostic.span = span;
      throw;
    }
  }
  [[noreturn]] void fail(std::string code, grammar::Span span, std::string message,
                         std::vector<std::string> notes = {}) {
    throw grammar::Error(std::move(code), span, std::move(message), std::move(notes));
  }
};

// Containers in place where nobody else holds them, else copied first.
std::vector<Value>& own_items(Value& v);
Record& own_fields(Value& v);

}  // namespace shard::lang
