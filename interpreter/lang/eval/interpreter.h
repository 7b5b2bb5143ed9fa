// The evaluator of trees: one an engine. It owns the source map, the modules and the global scope, and evaluates with
// the engine's trace::Context, so that every operation on arrays is either run or recorded. This header is what host
// functions use.
#pragma once
#include <functional>
#include <iosfwd>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <span>
#include <string>
#include <vector>

#include "grammar/diagnostic.h"
#include "interpreter/lang/values/native.h"
#include "interpreter/lang/values/screen.h"
#include "interpreter/lang/values/tree.h"
#include "interpreter/trace/context.h"

namespace shard::lang {

class Builtins;       // builtins.h: names that no script declares
class Checker;        // hooks.h
struct CompiledCall;  // jit.h: one call of a function, compiled
class Fixer;          // hooks.h
class Interpreter;
struct ModuleEnv;
struct ReadObserver;  // hooks.h
class Surroundings;   // surroundings.h: the rules, and a scope for them and the mesh

struct Options {
  int devices = 8;
  bool exact = false;       // sums over devices that do not hang on the number of processes: see shard.h
  bool debug_nans = false;  // the first operation that makes a nan or an infinity is an error
  std::function<void(std::string_view)> output;  // print; default: std::cout
  std::shared_ptr<Screen> screen;                // what shows it; default: 80 columns without colours or progress
  std::vector<std::pair<std::string, std::string>> set;                                // --set name=value
  std::function<std::optional<std::string>(const std::string& name)> embedded_module;  // stdlib/*.shard by name
  std::function<std::optional<std::string>(const std::string& name)> host_module;      // the host's, asked first
  // The text of a script's file that an editor holds and has not written; absent, or without one: the file's.
  std::function<std::optional<std::string>(const std::string& path)> edited;
  // What one run may take, 0: no limit. Each ends it with an error of the limit's name.
  std::int64_t memory = 0;  // bytes of arrays that live at once
  std::int64_t steps = 0;   // statements, calls and turns of loops
  double seconds = 0;
  int recursion = 1000;                                    // calls of functions of the script that are open
  std::function<bool(const std::string& path)> may_read;   // files: default all
  std::function<bool(const std::string& path)> may_write;  // files, and folders of logs: default all
  // `test` blocks: told the block and a function that runs it in a scope of its own (it throws the block's
  // error). Absent: skipped.
  std::function<void(const grammar::TestStmt& test, grammar::Span span, const std::function<void()>& body)> test;
  std::shared_ptr<runtime::Processes> processes;  // that run the same script, this one among them; null: one
  std::vector<std::string> args;                  // the words behind `--`, as the script sees them
  // Where a script calls `breakpoint()`: told the variables that it sees there. Absent: the script goes on.
  std::function<void(Interpreter&, const std::vector<std::pair<std::string, Value>>& variables, grammar::Span)>
      breakpoint;
  // Warnings (lang/warnings): told as they are found, but for those with these codes; or each is an error.
  std::function<void(const grammar::Diagnostic&, const grammar::SourceMap&)> warning;  // default: nobody
  std::vector<std::string> allow;
  bool deny_warnings = false;
  std::function<void(const std::string& path)> not_written;  // told of what is not written; absent: files are written
  std::function<void(const CompiledCall&)> compiled;  // told of every call that a jit or manual function compiles
  // Of a script that is predicted (`shard estimate`), else null: how often it calls what it compiled. Loops over many
  // numbers whose turns do the same are then left early, and the turns that are missing are counted.
  std::shared_ptr<std::map<const exec::Executable*, std::int64_t>> counts;
  // Told of each mesh axis that a script declares (null), and of each logical name of `rules` with what is written.
  std::function<void(const std::string& name, const Value* rule)> laid_out;
};

// What `run` and `enter` throw for a text with several errors of form or names: the first is the Error itself.
class Errors : public grammar::Error {
 public:
  explicit Errors(std::vector<grammar::Diagnostic> diagnostics)
      : Error(diagnostics.at(0)), all_(std::move(diagnostics)) {}
  std::span<const grammar::Diagnostic> all() const override { return all_; }

 private:
  std::vector<grammar::Diagnostic> all_;
};

class Interpreter {
 public:
  Interpreter(trace::Context& context, Options options);
  ~Interpreter();

  // ---- for the host
  void define(Native native);                             // a builtin, below all scopes of scripts
  void define(std::string name, Value constant);          // e.g. inf
  std::optional<Value> builtin(const std::string& name);  // a native, a constant or an operation
  Builtins& builtins();                                   // all of them
  trace::Context& context() { return context_; }
  const Options& options() const { return options_; }
  grammar::SourceMap& sources() { return sources_; }
  void write(std::string_view text);  // to the output
  Screen& screen() { return *options_.screen; }
  // Tells a warning; one that stands inside of the library is of the script's call that led there.
  void warn(std::string_view code, grammar::Span span, std::string message, std::vector<std::string> notes = {},
            std::vector<grammar::Fix> fixes = {});
  bool wanted(const grammar::Diagnostic& warning);  // whether one that was found is to be told (Warnings::wanted)
  std::set<std::string>& not_written() { return not_written_; }  // paths, where nothing is run

  // ---- running. Errors are grammar::Error with the calls that led there. A run ends early where the pool's Stop says
  // so (runtime/array/stop.h): Error("interrupt"), or of the limit that was reached.
  Value run(std::string name, std::string text);  // a module's top level; the value of its last expression, or none
  Value enter(std::string text, int line = 1);    // one REPL entry, in a scope that stays; `line`: of its first line
  Value continue_with(std::string name, std::string text);  // a script in that scope: like run, but globals stay
  // Called once, when the script that is run has come to its end: what goes on in the background ends then, and its
  // errors are the script's.
  void at_end(std::function<void()> last) { last_.push_back(std::move(last)); }
  Value call(const Value& f, std::vector<CallArg> args, grammar::Span span);
  Value call(const Value& f, std::vector<Value> args, grammar::Span span = {});
  std::optional<Value> global(const std::string& name);  // of the last module run, or of the scope that stays
  void set_global(const std::string& name, Value v);     // in the scope that stays
  // While it lives, `enter`, `global` and `set_global` work in a scope of their own that holds these variables.
  class OwnScope {
   public:
    OwnScope(Interpreter& in, const std::vector<std::pair<std::string, Value>>& variables);
    ~OwnScope();
    OwnScope(const OwnScope&) = delete;

   private:
    Interpreter& in_;
    std::shared_ptr<ModuleEnv> main_, lasting_;
  };
  Value load_module(const std::string& name, grammar::Span span);  // what `import name` gives
  void forget_module(const std::string& name);                     // the next import reads it again

  // ---- what host functions ask
  // Opens a trace (Context::trace) in which variables from outside may be read but not assigned.
  using TraceBody = std::function<std::vector<trace::Tensor>(std::span<const trace::Tensor>)>;
  // Of a function that is compiled: `known` are the host numbers among the arguments, and `observer` is told what the
  // body reads from outside.
  trace::Traced trace(std::span<const runtime::Type> params, const TraceBody& body, bool types_only = false,
                      std::span<const std::optional<trace::HostNumber>> known = {}, ReadObserver* observer = nullptr);
  trace::Tensor tensor(const Value& v,
                       grammar::Span span);  // arrays and host numbers (weak scalars), nested lists of numbers
  std::int64_t integer(const Value& v, grammar::Span span,
                       std::string_view what);  // a host integer; puts a guard on a traced one
  double number(const Value& v, grammar::Span span, std::string_view what);
  bool truth(const Value& v, grammar::Span span);  // host conditions; concrete arrays of rank 0
  const std::string& text(const Value& v, grammar::Span span, std::string_view what);
  std::string show(const Value& v);  // as print shows it
  std::string repr(const Value& v);  // as the REPL and containers show it
  // A spec met with the current mesh and rules for a value of this rank: names looked up, errors of spec.h.
  ir::Layout resolve(const Spec& spec, int rank, grammar::Span span, const runtime::MeshRef& mesh = nullptr);
  [[noreturn]] void fail(std::string code, grammar::Span span, std::string message,
                         std::vector<std::string> notes = {});
  // RuntimeErrors of `f` become errors of the script at `span`, which is also where what it records belongs to.
  template <class F>
  auto at(grammar::Span span, F f) -> decltype(f()) {
    const ir::Origin recorded = recorded_at(span);
    context_.set_span(recorded);
    try {
      return f();
    } catch (const runtime::RuntimeError& e) {
      throw grammar::Error(e.code, span, e.what());
    } catch (grammar::Error& e) {
      if (!e.diagnostic.span.known() || e.diagnostic.span == recorded) e.diagnostic.span = span;
      throw;
    }
  }

  // ---- what the rooms above evaluation ask (lang/staging, fixes, check)
  Surroundings& surroundings();
  Checker* checker();  // set while a script is checked in place of being run
  Fixer* fixer();      // null: errors go without fixes
  void set_fixer(std::unique_ptr<Fixer> fixer);
  // What makes a `jit fn` of the function that was written (hooks.h).
  void set_modifiers(Value (*with_modifiers)(Interpreter&, std::shared_ptr<Closure>));
  // Of the call that is under way, by what wraps a function: the arguments are left where it fails before using them.
  Value hand_on(const Value& f, std::vector<CallArg>& args, grammar::Span span);
  // Parts of a statement that failed: values of expressions in the running function, operators on other operands.
  Value eval(const grammar::Expr& e);
  const Value* peek(const grammar::Expr& e);  // a variable's value in place; null where there is none to see
  Value binary(grammar::BinaryOp op, const Value& l, const Value& r, grammar::Span span);
  // What is recorded from inside of the library belongs to the script's line, for whoever reads the graph; errors while
  // recording keep their own place, with the calls that led there (report.h).
  ir::Origin recorded_at(grammar::Span span) const;

  struct Impl;  // the inside, of lang/eval alone
  Impl& impl() { return *impl_; }

 private:
  Value run_lasting(std::string name, std::string text, int line);  // in the scope that stays
  trace::Context& context_;
  Options options_;
  grammar::SourceMap sources_;
  std::vector<std::function<void()>> last_;
  std::set<std::string> not_written_;
  std::unique_ptr<Impl> impl_;
};

}  // namespace shard::lang
