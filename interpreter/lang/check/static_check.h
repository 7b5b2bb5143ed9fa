// What `shard check` finds out. The evaluator runs the script as always, on arrays that are types
// (Context::types_only), and asks this object at the few places where a check differs from a run (eval/hooks.h): a
// statement that fails is reported, the names it declares or assigns become values of which nothing is known, and the
// next statement follows; a condition that only a run has takes both parts; loops that would go on for long are left
// early. Reading a value of which nothing is known ends the statement without a second error.
#pragma once
#include <map>
#include <string>
#include <vector>

#include "interpreter/lang/check/traced.h"
#include "interpreter/lang/eval/hooks.h"
#include "interpreter/lang/eval/interpreter.h"
#include "interpreter/lang/values/unknown.h"

namespace shard::lang {

class Check final : public Checker {
 public:
  // From now on `in` checks what it runs, for as long as this lives.
  explicit Check(Interpreter& in);
  ~Check() override;
  Check(const Check&) = delete;

  struct Let {
    grammar::Span span;  // of the whole statement; of a parameter its name
    std::string name;
    std::vector<std::string> types;
    grammar::Span word = {};  // the name
    bool parameter = false;
  };
  std::vector<grammar::Diagnostic> errors;  // each once, in the order in which they came up
  std::vector<grammar::Diagnostic> notes;   // what could not be looked at: files that are not there
  std::vector<Let> lets;
  bool with_parameters = false;  // whether `lets` shall have those of the script's functions too, as calls bind them
  // With them: a call was compiled, so that the layouts are known which its values get. At the end: no more will be.
  void lay_out(const CompiledCall& call);
  void finish();

  Flow statement(const grammar::Stmt& s, Value* out) override;
  Flow body(const grammar::Expr& block) override;
  Flow branch(const grammar::Expr& e, const grammar::IfExpr& x, Value& out) override;
  std::unique_ptr<LoopWatch> loop(const void* statement) override;
  void found(std::vector<grammar::Diagnostic> names) override;
  void declared(const grammar::LetStmt& s, grammar::Span span) override;
  void enter(const Closure& f, grammar::Span call) override;
  void leave() override { calls_.pop_back(); }
  bool throw_errors(bool on) override { return std::exchange(throws_, on); }
  std::int64_t size_of(const trace::Tensor& number) override;
  std::int64_t fresh_size() override { return kUnknownSize * ++sizes_; }

 private:
  friend class CheckedLoop;
  void failed(const grammar::Error& e);
  void report(grammar::Diagnostic d);
  void forget(const grammar::Stmt& s);
  void forget(const grammar::Pattern& p);
  void forget_target(const grammar::Expr& target);
  void note(const grammar::Pattern& p, grammar::Span statement, bool parameter);
  void add_type(std::size_t let, std::string text);

  Interpreter::Impl& m_;
  std::vector<grammar::Frame> calls_;  // that are open, for the errors found inside of them
  std::map<const runtime::DeviceArray*, std::pair<runtime::ArrayRef, std::int64_t>> size_of_;
  TracedValues traced_;
  std::int64_t sizes_ = 0, steps_ = 0;
  int uncertain_ = 0;  // open parts that a run may not take
  bool throws_ = false;
  bool may_leave_ = false;  // a `break` stands in a part that a run may take
  bool mesh_lost_ = false;
};

}  // namespace shard::lang
