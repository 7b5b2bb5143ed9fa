// The inside of the evaluator: the walk over trees, the parts that it is made of, and the forms that it calls. Of this
// room alone (lang/eval and its folders); all others use interpreter.h.
#pragma once
#include <memory>
#include <string>
#include <unordered_map>
#include <unordered_set>
#include <vector>

#include "interpreter/lang/eval/builtins.h"
#include "interpreter/lang/eval/frames.h"
#include "interpreter/lang/eval/hooks.h"
#include "interpreter/lang/eval/interpreter.h"
#include "interpreter/lang/eval/run_stack.h"
#include "interpreter/lang/eval/surroundings.h"
#include "interpreter/lang/warnings/warnings.h"
#include "runtime/channel/processes.h"

namespace shard::lang {

// The open calls of functions of the script: how deep they are, and which of them led into the library.
struct Calls {
  int depth = 0;
  int entries = 0;  // of the host: more than one where a function of the host, called by a script, calls the engine
  RunStack stack;
  grammar::Span user;                 // while a function of the library runs: the call in the script that led there
  const std::string* part = nullptr;  // of a model: whose inner function runs (ir/origin.h)
};

// What a run keeps an eye on for warnings that only a run can find.
struct Watch {
  // Counts whatever a script can do beside making values: calls of natives that act or give none, assignments of
  // variables that functions share, text that is printed.
  std::int64_t effects = 0;
  // Functions of which a call once did such a thing: a compiled one may do it while it is traced alone.
  std::unordered_set<const grammar::Function*> acted;
  AxisNames axes;  // of all texts but the library's
  void see(const AxisNames& of_text) {
    axes.declared.insert(axes.declared.end(), of_text.declared.begin(), of_text.declared.end());
    axes.named.insert(of_text.named.begin(), of_text.named.end());
    axes.listed |= of_text.listed;
  }
};

// The files that an engine has read, and the top levels that run in them (modules.cpp).
struct Modules {
  std::unordered_map<std::string, Value> loaded;  // finished ones, by path or name
  std::vector<std::string> loading;               // open imports, outermost first
  std::vector<std::shared_ptr<ModuleEnv>> all;    // their cells are emptied at the end
  std::unordered_map<const grammar::TestStmt*, std::vector<grammar::Diagnostic>> wrong_tests;  // names in them
  std::vector<std::weak_ptr<Cell>> cyclic;   // cells of blocks that may hold a function that holds them
  std::shared_ptr<ModuleEnv> main, lasting;  // lasting: the scope of what a REPL or a host runs one after the other

  Modules() = default;
  ~Modules();  // functions and the cells that hold them hold each other: cut there
  Modules(const Modules&) = delete;
  std::shared_ptr<ModuleEnv> add(std::string name);
};

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

  const BlockInfo& block(const grammar::Expr& e) const {
    return frame().unit->blocks[static_cast<std::size_t>(extra(e.id))];
  }

  // ---- variables (evaluate.cpp)
  Value read(Slot s, const grammar::Expr& at);
  const Value* peek(const grammar::Expr& e);      // a variable's value in place; null where there is none to see
  Value* place_of(Slot s) const;                  // where a variable's value is; null before it has one
  Value& assignable(Slot s, grammar::Span span);  // checks that the variable may be assigned now
  const CellRef* cell_at(Slot s) const {          // where a variable's cell is held; null where it has none
    switch (s.where) {
      case Where::Cell: return &frame().cells[s.index];
      case Where::Captured: return &frame().captured[s.index];
      case Where::Global: return &frame().module->cells[static_cast<std::size_t>(s.index)];
      default: return nullptr;
    }
  }
  CellRef cell_of(Slot s) const;              // null for locals
  void declare(Slot s, Value v, bool fresh);  // fresh: a cell of its own (parameters, loop patterns)
  void bind(const grammar::Pattern& p, Value v, bool fresh);
  void assign(const grammar::Expr& target, grammar::AssignOp op, Value v);

  // ---- expressions (evaluate.cpp, arithmetic.cpp, fields.cpp)
  Value eval(const grammar::Expr& e);
  Flow eval_flow(const grammar::Expr& e, Value& out);  // blocks and ifs without exceptions
  Truth condition(const Value& v, grammar::Span span);
  Value binary(grammar::BinaryOp op, const Value& l, const Value& r, grammar::Span span);
  Value unary(grammar::UnaryOp op, const Value& v, grammar::Span span);
  Value field(const Value& object, const std::string& name, grammar::Span span);
  std::optional<Value> find_field(const Value& object, const std::string& name);

  // ---- statements (statements.cpp)
  Flow exec(const grammar::Stmt& s, Value* value);  // value: of an expression statement, where it is wanted
  // At statements, calls and turns of loops: counts them, throws where the run is to end.
  [[gnu::always_inline]] void poll(grammar::Span span, int many = 1) {
    if (ctx.pool().stop().step(many)) stop(span);
    if (const auto& processes = ctx.processes()) processes->stand_at({span.source, span.begin});
  }
  void stop(grammar::Span span);

  // ---- calls (call.cpp, bind_native.cpp, bind_row.cpp). Arguments are left where a callee fails before using them.
  Value call(const Value& f, std::vector<CallArg>& args, grammar::Span span);
  Value call_closure(const std::shared_ptr<const Closure>& f, std::vector<CallArg>& args, grammar::Span span);
  Value call_native(const std::shared_ptr<const Native>& f, std::vector<CallArg>& args, grammar::Span span);
  Value call_row(const ir::OpDef& op, std::vector<CallArg>& args, grammar::Span span);

  // ---- errors with a span (interpreter.h)
  template <class F>
  auto at(grammar::Span span, F f) -> decltype(f()) {
    return in.at(span, f);
  }
  // What `f` gives; where it fails and there is a fixer, `fix` adds to the error.
  template <class F, class Fix>
  auto fixing(F f, const Fix& fix) -> decltype(f()) {
    try {
      return f();
    } catch (grammar::Error& e) {
      if (fixer) fix(e);
      throw;
    }
  }
  [[noreturn]] void fail(std::string code, grammar::Span span, std::string message,
                         std::vector<std::string> notes = {}) {
    throw grammar::Error(std::move(code), span, std::move(message), std::move(notes));
  }
};

// ---- forms of the language that have a file of their own: each is called by the walk in one place
// evaluate.cpp: of evaluated operands; of `and` and `or` the left one, the right one is evaluated where it is asked for
Value binary_of(Interpreter::Impl& m, const grammar::Expr& e, const grammar::Binary& b, const Value& l, const Value& r);
Value logic_of(Interpreter::Impl& m, const grammar::Expr& e, const grammar::Binary& b, Value left);
// literals.cpp
Value eval_string(Interpreter::Impl& m, const grammar::StringLit& s);
Value eval_sequence(Interpreter::Impl& m, const std::vector<grammar::Element>& elements, bool list);
Value eval_record(Interpreter::Impl& m, const grammar::RecordLit& r);
// call_expr.cpp
Value eval_call(Interpreter::Impl& m, const grammar::Expr& e, const grammar::Call& c);
Value eval_pipe(Interpreter::Impl& m, const grammar::Expr& e, const grammar::Pipe& p);
// index/index_expr.cpp
Value eval_index(Interpreter::Impl& m, const grammar::Expr& e, const grammar::Index& x);
// layouts/shard_expr.cpp
Value eval_shard(Interpreter::Impl& m, const grammar::Expr& e, const grammar::Shard& s);
Value eval_spec(Interpreter::Impl& m, const grammar::SpecLit& s);
Value eval_type(Interpreter::Impl& m, const grammar::Expr& e, const grammar::TypeLit& t);
// layouts/mesh_stmt.cpp: what they declare holds for the rest of the block
void exec_mesh(Interpreter::Impl& m, const grammar::MeshStmt& s, grammar::Span span);
void exec_rules(Interpreter::Impl& m, const grammar::RulesStmt& s);
// call.cpp
Value eval_function(Interpreter::Impl& m, const grammar::FunctionPtr& f);
void set_parameter(Interpreter::Impl& m, ActiveFrame& f, Slot s, Value v);          // of a function that is `simple`
void add_frame(grammar::Error& e, const grammar::Function& f, grammar::Span call);  // the error goes through this call
// Runs the body of a function whose arguments are in `f` already; `out` is its result.
void run_bound(Interpreter::Impl& m, ActiveFrame& f, const Closure& closure, grammar::Span span, Value& out);
// statements.cpp
Flow exec_block(Interpreter::Impl& m, const grammar::Expr& e, const grammar::Block& b, Value* out);
Flow eval_use(Interpreter::Impl& m, const grammar::UseExpr& u, Value& out);
// loops.cpp
Flow exec_for(Interpreter::Impl& m, const grammar::ForStmt& s, grammar::Span span);
Flow exec_while(Interpreter::Impl& m, const grammar::WhileStmt& s, grammar::Span span);
// flow/: conditions and ranges that only a run knows, as one node of the program instead of a copy of the body for each
// turn
Value traced_if(Interpreter::Impl& m, const grammar::Expr& e, const grammar::IfExpr& x, const trace::Tensor& condition);
void traced_while(Interpreter::Impl& m, const grammar::WhileStmt& s, grammar::Span span);
// `begin`, `end` and `step` (not 0) are those of the statement's range. False, and nothing done, where both ends are
// known.
bool traced_for(Interpreter::Impl& m, const grammar::ForStmt& s, const Value& begin, const Value& end,
                std::int64_t step, grammar::Span span);
// assign.cpp
Flow exec_assign(Interpreter::Impl& m, const grammar::AssignStmt& s);
void assign_value(Interpreter::Impl& m, const grammar::AssignStmt& s, Value v);
// modules.cpp. Parses, resolves and runs a text as the top level of `env`. `main`: --set applies.
Value run_module(Interpreter::Impl& m, const std::shared_ptr<ModuleEnv>& env, std::uint32_t source, bool main);
Value import_module(Interpreter::Impl& m, const grammar::ImportStmt& s, grammar::Span span);

}  // namespace shard::lang
