// What `shard check` finds out. The evaluator runs the script as always, on arrays that are types
// (Context::types_only), and asks this object at the few places where a check differs from a run: a statement that
// fails is reported, the names it declares or assigns become values of which nothing is known, and the next statement
// follows; a condition that only a run has takes both parts; loops that would go on for long are left early. Reading a
// value of which nothing is known ends the statement without a second error.
#pragma once
#include <map>
#include <string>
#include <vector>

#include "interpreter/lang/eval/impl.h"

namespace shard::lang {

class Check {
 public:
  struct Let {
    grammar::Span span;
    std::string name;
    std::vector<std::string> types;
  };                                        // of the whole statement
  std::vector<grammar::Diagnostic> errors;  // each once, in the order in which they came up
  std::vector<grammar::Diagnostic> notes;   // what could not be looked at: files that are not there
  std::vector<Let> lets;

  // ---- statements and expressions
  Flow statement(Interpreter::Impl& m, const grammar::Stmt& s, Value* out);
  Flow body(Interpreter::Impl& m,
            const grammar::Expr& block);  // of a loop: its value is nobody's, and one that fails is no end of it
  Flow branch(Interpreter::Impl& m, const grammar::Expr& e, const grammar::IfExpr& x, Value& out);
  void add(Interpreter::Impl& m, std::vector<grammar::Diagnostic> found);  // errors of names
  void declared(Interpreter::Impl& m, const grammar::LetStmt& s, grammar::Span span);
  static Value nothing() { return Value(trace::Tensor()); }  // a value of which nothing is known; see Impl::read
  static bool is_nothing(const Value& v) { return v.is_tensor() && !v.tensor().valid(); }
  [[noreturn]] static void unknown(grammar::Span span) {
    throw grammar::Error("unknown", span, "this value is known only in a run");
  }

  // ---- loops
  struct Loop {
    std::int64_t operations, steps;
    bool may_leave;
  };
  Loop enter_loop(const Interpreter::Impl& m);
  void leave_loop(const Loop& l) { may_leave_ = l.may_leave; }
  bool spent(const Interpreter::Impl& m, const Loop& l) const;  // this loop has had enough turns
  bool may_leave() const { return may_leave_; }                 // a `break` stands in a part that a run may take
  // The variables of outside that the loop assigns, where it is left early: numbers, which differ from turn to turn,
  // become numbers of a run, and of lists that grow nothing is known. `before`: their values when it began.
  void blur(Interpreter::Impl& m, const void* loop, const std::vector<Value>& before);
  std::vector<Value> assigned(Interpreter::Impl& m, const void* node) const;
  void join(Interpreter::Impl& m, const void* node, const std::vector<Value>& before);  // with what they are now
  static Value blurred(Interpreter::Impl& m, const Value& v);

  // ---- sizes that depend on data: numbers that no real array has, which every mesh divides
  std::int64_t size_of(const trace::Tensor& number);
  std::int64_t fresh_size() { return kSize * ++sizes_; }
  static bool is_size(std::int64_t n) { return n >= kSize; }
  static std::string blank(std::string text);  // such numbers as `_`

  // ---- the calls that are open, for the errors found inside of them
  class Call {
   public:
    Call(Check* c, const Closure& f, grammar::Span span) : check_(c) {
      if (c) c->calls_.push_back({f.function->name.empty() ? "fn" : f.function->name, span});
    }
    ~Call() {
      if (check_) check_->calls_.pop_back();
    }
    Call(const Call&) = delete;

   private:
    Check* check_;
  };
  // Errors are thrown as in a run: for functions that expect one. Null where nothing is checked.
  class Thrown {
   public:
    explicit Thrown(Check* c) : check_(c), old_(c && c->throws_) {
      if (c) c->throws_ = true;
    }
    ~Thrown() {
      if (check_) check_->throws_ = old_;
    }
    Thrown(const Thrown&) = delete;

   private:
    Check* check_;
    bool old_;
  };

 private:
  static constexpr std::int64_t kSize = (std::int64_t{1} << 22) * 315;
  void failed(Interpreter::Impl& m, const grammar::Error& e);
  void report(Interpreter::Impl& m, grammar::Diagnostic d);
  void forget(Interpreter::Impl& m, const grammar::Stmt& s);
  void forget(Interpreter::Impl& m, const grammar::Pattern& p);
  void forget_target(Interpreter::Impl& m, const grammar::Expr& target);
  Value joined(Interpreter::Impl& m, const Value& a, const Value& b) const;

  std::vector<grammar::Frame> calls_;
  std::map<const runtime::DeviceArray*, std::pair<runtime::ArrayRef, std::int64_t>> size_of_;
  std::int64_t sizes_ = 0, steps_ = 0;
  int uncertain_ = 0;  // open parts that a run may not take
  bool throws_ = false, may_leave_ = false, mesh_lost_ = false;
};

std::string type_text(Interpreter::Impl& m, const Value& v);  // of any value, as `shard check --types` prints it

}  // namespace shard::lang
