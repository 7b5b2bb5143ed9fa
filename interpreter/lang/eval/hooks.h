// What the evaluator asks of rooms that it does not know. A checker (check/) looks at a script in place of running
// it, and is asked at the few places where that differs from a run. A fixer (fixes/) is shown errors on their way out
// and adds the text that would fix them. An observer (staging/) is told what a function that is compiled reads. Each
// may be absent; all else is as it was.
#pragma once
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "interpreter/lang/eval/interpreter.h"
#include "interpreter/lang/values/closure.h"

namespace shard::lang {

struct IndexItem;  // eval/index/index.h

// How a statement ends.
enum class Flow : std::uint8_t { Next, Break, Continue, Return };
struct FlowSignal {  // thrown only where break, continue or return stand inside an operand
  Flow flow;
};
// What a condition says. Traced: only the compiled program knows. Unknown: while checking, only a run knows.
enum class Truth : std::uint8_t { False, True, Traced, Unknown };

// The value of a function that has modifiers (`jit fn`), which staging makes of the function that was written.
using WithModifiers = Value (*)(Interpreter&, std::shared_ptr<Closure>);

// Told of every read of a variable that is older than the open trace, and of what is computed from the numbers among
// them alone; what it returns is what the program sees.
struct ReadObserver {
  virtual ~ReadObserver() = default;
  virtual Value on_read(const CellRef& cell, const Value& value) = 0;
  virtual Value on_computed(const trace::Known& number, const std::string& key) = 0;  // equal keys: the same formula
};

// A loop while its script is checked: it ends early where it would go on for long, or where a `break` may be taken.
class LoopWatch {
 public:
  virtual ~LoopWatch() = default;
  virtual bool last() = 0;  // before a turn: it shall be the last one, with numbers that only a run has
  virtual bool left() = 0;  // after a turn: the loop may have been left
  virtual void blur() = 0;  // the numbers that the loop assigns become those of any turn
  virtual Value blurred(const Value& item) = 0;
  virtual void perhaps(const std::function<void()>& turn) = 0;  // a turn that a run may not take
};

class Checker {
 public:
  virtual ~Checker() = default;
  // ---- in place of running them
  virtual Flow statement(const grammar::Stmt& s, Value* out) = 0;
  virtual Flow body(const grammar::Expr& block) = 0;  // of a loop: one that fails is no end of it
  virtual Flow branch(const grammar::Expr& e, const grammar::IfExpr& x, Value& out) = 0;
  virtual std::unique_ptr<LoopWatch> loop(const void* statement) = 0;
  // ---- told
  virtual void found(std::vector<grammar::Diagnostic> errors) = 0;  // errors of names; evaluation goes on
  virtual void declared(const grammar::LetStmt& s, grammar::Span span) = 0;
  virtual void enter(const Closure& f, grammar::Span call) = 0;
  virtual void leave() = 0;
  virtual bool throw_errors(bool on) = 0;  // as in a run, for who expects one; what was before
  // ---- sizes that depend on data (values/unknown.h)
  virtual std::int64_t size_of(const trace::Tensor& number) = 0;
  virtual std::int64_t fresh_size() = 0;
};

// The length of a call of a function of the script.
class CheckedCall {
 public:
  CheckedCall(Checker* c, const Closure& f, grammar::Span call) : checker_(c) {
    if (c) c->enter(f, call);
  }
  ~CheckedCall() {
    if (checker_) checker_->leave();
  }
  CheckedCall(const CheckedCall&) = delete;

 private:
  Checker* checker_;
};

// While it lives errors are thrown as in a run.
class ErrorsThrown {
 public:
  explicit ErrorsThrown(Checker* c) : checker_(c), before_(c && c->throw_errors(true)) {}
  ~ErrorsThrown() {
    if (checker_) checker_->throw_errors(before_);
  }
  ErrorsThrown(const ErrorsThrown&) = delete;

 private:
  Checker* checker_;
  bool before_;
};

// One result of a region (a branch, a loop's body) that must agree in type: a leaf of a tree. `variable` "": of the
// block's own value.
struct Differing {
  runtime::Type want, have;
  std::string variable;
  const Value* tree;
  std::size_t leaf;
};

// Each is called where such an expression or statement fails, and adds to the error's fixes or leaves it alone.
class Fixer {
 public:
  virtual ~Fixer() = default;
  virtual void binary(grammar::Error& error, const grammar::Expr& e, const Value& left, const Value& right) = 0;
  // `x += value`, `x[i] = value`: what is assigned to keeps its layout, the value may get another.
  virtual void assign(grammar::Error& error, const grammar::AssignStmt& s, const Value& value) = 0;
  virtual void index(grammar::Error& error, const grammar::Expr& e, const Value& object,
                     const std::vector<IndexItem>& items) = 0;
  // `for x in sequence`: the rows of an array.
  virtual void rows(grammar::Error& error, const grammar::Expr& sequence, const Value& value) = 0;
  // `written`: the expressions of the arguments, a method's receiver first; null where one is unknown.
  virtual void call(grammar::Error& error, const grammar::Expr& e, const Value& function,
                    const std::vector<CallArg>& args, const std::vector<const grammar::Expr*>& written) = 0;
  // `e`: a `shard` expression whose `spec` failed on `value`; `mesh`: the one it names, or null.
  virtual void shard(grammar::Error& error, const grammar::Expr& e, const Value& value, const Value& spec,
                     const runtime::MeshRef& mesh) = 0;
  // A leaf of what is written at `whole` has to be laid out as `spec`; `path` is how it is reached (".w[0]").
  virtual void leaf(grammar::Error& error, grammar::Span whole, const Value& tree, const std::string& path,
                    const std::string& spec) = 0;
  // The results of an `if` differ: the second's to the first's types, and the other way round.
  virtual void branches(grammar::Error& error, const grammar::Expr& e, const grammar::IfExpr& x,
                        const std::vector<Differing>& to_first, const std::vector<Differing>& to_second) = 0;
  // A loop's body gives other types than came in: changed at its end, or before the loop.
  virtual void carry(grammar::Error& error, grammar::Span loop, const grammar::Expr& body,
                     const std::vector<Differing>& at_end, const std::vector<Differing>& before) = 0;
};

}  // namespace shard::lang
