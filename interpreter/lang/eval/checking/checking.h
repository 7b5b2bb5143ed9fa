// A script looked at in place of being run. The evaluator runs it as always, on arrays that are types
// (Context::types_only), and asks this object at the few places where a check differs from a run (eval/hooks.h): a
// statement that fails is reported, the names it declares or assigns become values of which nothing is known, and the
// next statement follows; a condition that only a run has takes both parts; loops that would go on for long are left
// early. Reading a value of which nothing is known ends the statement without a second error.
#pragma once
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "interpreter/lang/eval/hooks.h"
#include "interpreter/lang/values/unknown.h"

namespace shard::lang {

class Checking : public Checker {
 public:
  // From now on `in` checks what it runs, for as long as this lives.
  explicit Checking(Interpreter& in);
  ~Checking() override;
  Checking(const Checking&) = delete;

  std::vector<grammar::Diagnostic> errors;  // each once, in the order in which they came up
  std::vector<grammar::Diagnostic> notes;   // what could not be looked at: files that are not there

  Flow statement(const grammar::Stmt& s, Value* out) override;
  Flow body(const grammar::Expr& block) override;
  Flow branch(const grammar::Expr& e, const grammar::IfExpr& x, Value& out) override;
  std::unique_ptr<LoopWatch> loop(const void* statement) override;
  void found(std::vector<grammar::Diagnostic> names) override;
  void enter(const Closure& f, grammar::Span call) override;
  void leave() override { calls_.pop_back(); }
  bool throw_errors(bool on) override { return std::exchange(throws_, on); }
  std::int64_t size_of(const trace::Tensor& number) override;
  std::int64_t fresh_size() override { return kUnknownSize * ++sizes_; }

 protected:
  bool throws() const { return throws_; }
  Value value_of(const grammar::Pattern& name) const;  // nothing() before it has one
  Interpreter& in_;

 private:
  friend class CheckedLoop;
  void failed(const grammar::Error& e);
  void report(grammar::Diagnostic d);
  void forget(const grammar::Stmt& s);
  void forget(const grammar::Pattern& p);
  void forget_target(const grammar::Expr& target);

  Interpreter::Impl& m_;
  std::vector<grammar::Frame> calls_;  // that are open, for the errors found inside of them
  std::map<const runtime::DeviceArray*, std::pair<runtime::ArrayRef, std::int64_t>> size_of_;
  std::int64_t sizes_ = 0, steps_ = 0;
  int uncertain_ = 0;  // open parts that a run may not take
  bool throws_ = false;
  bool may_leave_ = false;  // a `break` stands in a part that a run may take
  bool mesh_lost_ = false;
};

// ---- join.cpp: what is known of a variable where the paths of a script come together: after a branch that a run may
// not take, after a loop that was left early.

// One value that stands for both; nothing() where there is none.
Value joined(Interpreter::Impl& m, const Value& a, const Value& b);
// Numbers become those of a run, of which only the kind is known.
Value blurred(Interpreter::Impl& m, const Value& v);

// The outer variables that a statement assigns (Unit::assigned).
class AssignedVariables {
 public:
  AssignedVariables(Interpreter::Impl& m, const void* statement);
  std::vector<Value> values() const;  // nothing() where one has no value
  void set(const std::vector<Value>& values);
  void join(const std::vector<Value>& before);  // with what they are now
  // Where a loop is left early: numbers, which differ from turn to turn, become numbers of a run, and of lists that
  // grow nothing is known. `before`: their values when it began.
  void blur(const std::vector<Value>& before);

 private:
  Interpreter::Impl& m_;
  const std::vector<Unit::Assigned>* list_;  // null: none
};

// The kind of a number, of the script or of a run.
std::optional<runtime::DType> number_kind(const Value& v);
std::string blank(const std::string& text);  // with sizes that depend on data blanked: `_`

}  // namespace shard::lang
