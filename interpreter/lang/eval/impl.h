// The inside of the evaluator: frames, variables, control flow. Shared by the files of lang that evaluate (evaluate,
// statements, assign, call, traced_flow, ...) and by jit; hosts use interpreter.h.
#pragma once
#include <atomic>
#include <cstdint>
#include <memory>
#include <string>
#include <unordered_map>
#include <vector>

#include "interpreter/lang/eval/interpreter.h"
#include "interpreter/lang/values/closure.h"

namespace shard::lang {

// Told of every read of a variable that is older than the open trace, and of what is computed from the numbers among
// them alone; what it returns is what the program sees.
struct ReadObserver {
  virtual ~ReadObserver() = default;
  virtual Value on_read(const CellRef& cell, const Value& value) = 0;
  virtual Value on_computed(const trace::Known& number, const std::string& key) = 0;  // equal keys: the same formula
};

enum class Flow : std::uint8_t { Next, Break, Continue, Return };
struct FlowSignal {
  Flow flow;
};  // thrown only where break, continue or return stand inside an operand
enum class Truth : std::uint8_t {
  False,
  True,
  Traced,
  Unknown
};            // Unknown: while checking, a value that only a run has
class Check;  // check.h: what `shard check` finds out

// The running function (or top level): where its variables are.
struct ActiveFrame {
  Value* locals = nullptr;
  CellRef* cells = nullptr;
  const CellRef* captured = nullptr;
  const Unit* unit = nullptr;
  ModuleEnv* module = nullptr;
  const Closure* closure = nullptr;  // null: top level
};

// Stack memory of frames: stable addresses, emptied values above the top.
template <class T>
class Stack {
 public:
  struct Mark {
    std::size_t chunk = 0, top = 0;
  };
  Mark mark() const { return {chunk_, top_}; }
  T* push(std::size_t n) {
    if (chunks_.empty() || top_ + n > chunks_[chunk_].size) {
      if (!chunks_.empty()) ++chunk_;
      top_ = 0;
      while (chunk_ < chunks_.size() && chunks_[chunk_].size < n) ++chunk_;
      if (chunk_ >= chunks_.size()) {
        const std::size_t size = n > kChunk ? n : kChunk;
        chunks_.push_back({std::make_unique<T[]>(size), size});
        chunk_ = chunks_.size() - 1;
      }
    }
    T* out = chunks_[chunk_].data.get() + top_;
    top_ += n;
    return out;
  }
  void pop(Mark mark, T* from, std::size_t n) {
    for (std::size_t i = n; i-- > 0;) from[i] = T();
    chunk_ = mark.chunk;
    top_ = mark.top;
  }

 private:
  static constexpr std::size_t kChunk = 1024;
  struct Chunk {
    std::unique_ptr<T[]> data;
    std::size_t size;
  };
  std::vector<Chunk> chunks_;
  std::size_t chunk_ = 0, top_ = 0;
};

struct Interpreter::Impl {
  explicit Impl(Interpreter& interpreter);
  ~Impl();

  Interpreter& in;
  trace::Context& ctx;

  // ---- builtins
  std::vector<Value> builtins;
  std::unordered_map<std::string, int> builtin_index;
  std::unordered_map<std::string, std::string> constant_docs;
  int builtin(const std::string& name);  // natives and constants, then operation rows; -1
  std::vector<std::string> builtin_names();

  // ---- variables and traces (jit sets observer and trace_floor; see ReadScope there)
  std::uint64_t next_serial = 1;  // the serial of the next cell
  std::uint64_t trace_floor = 0;  // cells with a smaller serial are outside the innermost trace: may not be assigned
  ReadObserver* observer = nullptr;
  std::uint64_t observer_floor = 0;  // the observer is told of reads of cells with a smaller serial
  CellRef new_cell() {
    auto c = std::make_shared<Cell>();
    c->serial = next_serial++;
    return c;
  }

  // ---- surroundings: the current mesh is the context's; rules by name
  const Value& rules() const { return rules_; }  // a record: axis, or none for `_`; none where there are no rules
  void set_rules(Value r) { rules_ = std::move(r); }

  Check* check = nullptr;  // set while a script is checked instead of run

  // ---- state of a run
  ActiveFrame* frame = nullptr;
  int depth = 0;              // calls of functions of the script that are open
  char* stack_end = nullptr;  // C++ frames below this address leave too little room for another call
  grammar::Span user_call;    // while a function of the library runs: the call in the script that led there
  Value returned;             // of Flow::Return
  grammar::Span flow_span;    // of the break, continue or return that is under way
  std::atomic<bool> interrupted{false};
  Stack<Value> value_stack;
  Stack<CellRef> cell_stack;
  void poll(grammar::Span span);  // at turns of loops and calls: throws where the user wants to stop

  // ---- modules
  std::unordered_map<std::string, Value> loaded;    // finished modules, by path or name
  std::vector<std::string> loading;                 // open imports, outermost first
  std::vector<std::shared_ptr<ModuleEnv>> modules;  // all of them: their cells are emptied at the end
  std::vector<std::weak_ptr<Cell>> cyclic;          // cells of blocks that may hold a function that holds them
  std::shared_ptr<ModuleEnv> main_module, repl_module;
  Value set_value(const std::string& name, const std::string& text);  // --set
  Value run_module(const std::shared_ptr<ModuleEnv>& env, std::uint32_t source, bool main);
  Value import_module(const grammar::ImportStmt& s, grammar::Span span);
  Value execute(const std::shared_ptr<ModuleEnv>& env, std::shared_ptr<const Unit> unit, bool main);

  // ---- expressions (evaluate.cpp)
  Value eval(const grammar::Expr& e);
  Flow eval_flow(const grammar::Expr& e, Value& out);  // blocks and ifs without exceptions
  const Value* peek(const grammar::Expr& e);           // a variable's value in place; null where there is none to see
  Value read(Slot s, const grammar::Expr& at);
  Value& assignable(Slot s, grammar::Span span);  // checks that the variable may be assigned now
  CellRef cell_of(Slot s) const;                  // null for locals
  void declare(Slot s, Value v, bool fresh);      // fresh: a cell of its own (parameters, loop patterns)
  Slot slot(std::int32_t id) const { return frame->unit->slots[static_cast<std::size_t>(id)]; }
  std::int32_t extra(std::int32_t id) const { return frame->unit->extra[static_cast<std::size_t>(id)]; }
  std::uint8_t flags(std::int32_t id) const { return frame->unit->flags[static_cast<std::size_t>(id)]; }
  Value eval_string(const grammar::Expr& e, const grammar::StringLit& s);
  Value eval_sequence(const grammar::Expr& e, const std::vector<grammar::Element>& elements, bool list);
  Value eval_record(const grammar::RecordLit& r);
  Value eval_spec(const grammar::Expr& e, const grammar::SpecLit& s);
  Value eval_type(const grammar::Expr& e, const grammar::TypeLit& t);
  Value eval_logic(const grammar::Expr& e, const grammar::Binary& b);
  Value eval_function(const grammar::FunctionPtr& f);
  Value eval_shard(const grammar::Expr& e, const grammar::Shard& s);
  Value eval_index(const grammar::Expr& e, const grammar::Index& x);
  Flow eval_use(const grammar::UseExpr& u, Value& out);
  Flow eval_if(const grammar::Expr& e, const grammar::IfExpr& x, Value& out);
  Truth condition(const Value& v, grammar::Span span);
  Value binary(grammar::BinaryOp op, const Value& l, const Value& r, grammar::Span span);
  Value unary(grammar::UnaryOp op, const Value& v, grammar::Span span);
  Value field(const Value& object, const std::string& name, grammar::Span span);
  std::optional<Value> find_field(const Value& object, const std::string& name);

  // ---- statements (statements.cpp, assign.cpp)
  Flow exec(const grammar::Stmt& s, Value* value);  // value: of an expression statement, where it is wanted
  Flow exec_body(const std::vector<grammar::StmtPtr>& body, Value* out);
  Flow exec_block(const grammar::Expr& e, const grammar::Block& b, Value* out);
  Flow exec_for(const grammar::ForStmt& s, grammar::Span span);
  Flow exec_while(const grammar::WhileStmt& s, grammar::Span span);
  Flow exec_assign(const grammar::AssignStmt& s, grammar::Span span);
  void exec_mesh(const grammar::MeshStmt& s, grammar::Span span);
  void exec_rules(const grammar::RulesStmt& s, grammar::Span span);
  void exec_test(const grammar::TestStmt& s, grammar::Span span);
  void assign(const grammar::Expr& target, grammar::AssignOp op, Value v);
  void bind(const grammar::Pattern& p, Value v, bool fresh);
  void release_cycles(const BlockInfo& info);

  // ---- control flow on traced conditions (traced_flow.cpp)
  Value traced_if(const grammar::Expr& e, const grammar::IfExpr& x, const trace::Tensor& condition);
  void traced_while(const grammar::WhileStmt& s, const trace::Tensor& condition, grammar::Span span);

  // ---- calls (call.cpp, bind_native.cpp, bind_row.cpp)
  Value eval_call(const grammar::Expr& e, const grammar::Call& c);
  Value eval_pipe(const grammar::Expr& e, const grammar::Pipe& p);
  Value call(const Value& f, std::vector<CallArg>& args,
             grammar::Span span);  // arguments are left where a callee fails before using them
  Value call_closure(const std::shared_ptr<const Closure>& f, std::vector<CallArg>& args, grammar::Span span);
  Value call_native(const std::shared_ptr<const Native>& f, std::vector<CallArg>& args, grammar::Span span);
  Value call_row(const ir::OpDef& op, std::vector<CallArg>& args, grammar::Span span);
  Value run_body(ActiveFrame& f, const Closure& closure, grammar::Span span);
  const Value* method(const grammar::Expr& callee, const std::string& name,
                      Value& scratch);  // the nearest f that is a function

  // ---- annotations (annotations.cpp)
  Value on_entry(const Closure& f, std::size_t parameter, Value v, grammar::Span span);
  Value on_result(const Closure& f, Value v, grammar::Span span);
  // A bare function for one call: its parameters' types are checked on these (whole) arguments, but for layouts, and
  // the sizes bound.
  Value with_sizes(const Value& function, const std::vector<Value>& args, grammar::Span span);
  std::vector<Value> annotation_values(const grammar::Function& f);

  // ---- operations with a span: RuntimeErrors become errors of the script there
  // What is recorded from inside of the library belongs to the script's line, for whoever reads the graph; errors while
  // recording keep their own place, with the calls that led there (report.h).
  grammar::Span recorded_at(grammar::Span span) const { return user_call.known() && ctx.tracing() ? user_call : span; }
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

 private:
  Value rules_;
};

// Restores the current mesh and rules.
class Surroundings {
 public:
  explicit Surroundings(Interpreter::Impl& impl) : impl_(impl), mesh_(impl.ctx.mesh()), rules_(impl.rules()) {}
  ~Surroundings() {
    impl_.ctx.set_mesh(std::move(mesh_));
    impl_.set_rules(std::move(rules_));
  }
  Surroundings(const Surroundings&) = delete;

 private:
  Interpreter::Impl& impl_;
  runtime::MeshRef mesh_;
  Value rules_;
};

// The memory of a frame, from the stacks of the evaluator; it becomes the running one by FrameScope.
class FrameMemory {
 public:
  FrameMemory(Interpreter::Impl& impl, const FunctionInfo& info)
      : impl_(impl), info_(info), values_(impl.value_stack.mark()), cells_(impl.cell_stack.mark()) {
    frame.locals = impl.value_stack.push(static_cast<std::size_t>(info.locals));
    frame.cells = impl.cell_stack.push(static_cast<std::size_t>(info.cells));
  }
  ~FrameMemory() {
    impl_.cell_stack.pop(cells_, frame.cells, static_cast<std::size_t>(info_.cells));
    impl_.value_stack.pop(values_, frame.locals, static_cast<std::size_t>(info_.locals));
  }
  FrameMemory(const FrameMemory&) = delete;
  ActiveFrame frame;

 private:
  Interpreter::Impl& impl_;
  const FunctionInfo& info_;
  Stack<Value>::Mark values_;
  Stack<CellRef>::Mark cells_;
};

class FrameScope {
 public:
  FrameScope(Interpreter::Impl& impl, ActiveFrame& f) : impl_(impl), old_(impl.frame) { impl.frame = &f; }
  ~FrameScope() { impl_.frame = old_; }
  FrameScope(const FrameScope&) = delete;

 private:
  Interpreter::Impl& impl_;
  ActiveFrame* old_;
};

// Layouts for a tree: `specs` is a spec or a tree of specs that is a prefix of it (shard_expr.cpp). Null mesh: the
// current one.
Value shard_tree(Interpreter& in, const Value& tree, const Value& specs, const runtime::MeshRef& mesh,
                 grammar::Span span);

// Containers in place where nobody else holds them, else copied first.
std::vector<Value>& own_items(Value& v);
Record& own_fields(Value& v);

}  // namespace shard::lang
