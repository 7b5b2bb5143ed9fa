#include "interpreter/lang/eval/checking/checking.h"

#include <algorithm>
#include <cctype>

#include "grammar/kept.h"
#include "grammar/walk.h"
#include "interpreter/lang/eval/impl.h"

namespace shard::lang {

using namespace grammar;
using trace::Tensor;

namespace {

constexpr std::int64_t kOperations = 400, kSteps = 20000;  // of one loop, before it is left

// Of the errors that a lost mesh draws after it.
bool is_of_layouts(const std::string& code) {
  return code == "mesh" || code == "spec" || code == "layout" || code == "mode";
}

}  // namespace

Checking::Checking(Interpreter& in) : in_(in), m_(in.impl()) { m_.checker = this; }
Checking::~Checking() { m_.checker = nullptr; }

// ---- statements

Flow Checking::statement(const Stmt& s, Value* out) {
  ++steps_;
  if (throws_) return m_.exec(s, out);
  try {
    const Flow flow = m_.exec(s, out);
    if (std::holds_alternative<MeshStmt>(s.node) || std::holds_alternative<UseStmt>(s.node)) mesh_lost_ = false;
    return flow;
  } catch (const Error& e) {
    Error told = e;
    const bool missing = std::holds_alternative<ImportStmt>(s.node) && e.diagnostic.code == "io";
    if (missing) told.diagnostic.code = "import";  // a part of the program, unlike the files that it reads
    failed(missing ? told : e);
  } catch (const runtime::RuntimeError& e) { failed(Error(e.code, m_.ctx.span(), e.what())); }
  forget(s);
  if (auto* f = std::get_if<ForStmt>(&s.node)) {  // its sequence: the body is looked at once
    const std::unique_ptr<LoopWatch> watch = loop(f);
    forget(*f->pattern);
    watch->blur();
    body(*f->body);
    watch->blur();
  } else if (auto* w = std::get_if<WhileStmt>(&s.node)) {
    body(*w->body);
  }
  const bool value = out && std::holds_alternative<ExprStmt>(s.node);
  if (value || std::holds_alternative<ReturnStmt>(s.node)) only_in_a_run(s.span);
  return Flow::Next;
}

Flow Checking::body(const Expr& block) {
  ++steps_;  // also of an empty one
  Value unused;
  try {
    return m_.eval_flow(block, unused);
  } catch (const Error& e) {
    if (throws_) throw;
    failed(e);
    return Flow::Next;
  }
}

void Checking::found(std::vector<Diagnostic> names) {
  for (Diagnostic& d : names) report(std::move(d));
}

void Checking::failed(const Error& e) {
  if (e.diagnostic.code == "interrupt") throw e;
  for (const Diagnostic& d : e.all()) report(d);
}

void Checking::report(Diagnostic d) {
  if (d.code == "unknown") return;
  if (uncertain_ > 0 && (d.code == "error" || d.code == "assert")) return;  // perhaps the part is never taken
  if (mesh_lost_ && is_of_layouts(d.code)) return;
  if (sizes_ > 0) {
    auto about_sizes = [](const std::string& text) { return blank(text) != text; };
    const bool some = about_sizes(d.message) || std::any_of(d.notes.begin(), d.notes.end(), about_sizes);
    // Whether shapes fit, or a size divides, only a run can tell; how they are split is known.
    if (some && (d.code != "layout" || d.message.find("divide") != std::string::npos)) return;
    d.message = blank(d.message);
    for (std::string& note : d.notes) note = blank(note);
  }
  for (auto* list : {&errors, &notes})
    for (const Diagnostic& old : *list)
      if (old.span == d.span && old.message == d.message) return;
  for (std::size_t i = calls_.size(); i-- > 0;) d.calls.push_back(calls_[i]);
  (d.code == "io" ? notes : errors).push_back(std::move(d));
}

void Checking::forget(const Stmt& s) {
  std::visit(
      [&](const auto& x) {
        using T = std::remove_cvref_t<decltype(x)>;
        if constexpr (std::is_same_v<T, LetStmt>) forget(*x.pattern);
        if constexpr (std::is_same_v<T, FnStmt>) m_.declare(m_.slot(x.function->id), nothing(), false);
        if constexpr (std::is_same_v<T, MeshStmt>) m_.declare(m_.slot(x.id), nothing(), false);
        if constexpr (std::is_same_v<T, MeshStmt> || std::is_same_v<T, UseStmt>) mesh_lost_ = true;
        if constexpr (std::is_same_v<T, ImportStmt>) m_.declare(m_.slot(x.id), nothing(), false);
        if constexpr (std::is_same_v<T, AssignStmt>) forget_target(*x.target);
        if constexpr (std::is_same_v<T, LetStmt>) declared(x, s.span);
      },
      s.node);
}

void Checking::forget(const Pattern& p) {
  each_name(p, [&](const Pattern& name, const NamePattern&) { m_.declare(m_.slot(name.id), nothing(), false); });
}

void Checking::forget_target(const Expr& target) {
  if (std::holds_alternative<NameRef>(target.node))
    if (Value* v = m_.place_of(m_.slot(target.id))) *v = nothing();
  if (const auto* elements = elements_of(target))
    for (const Element& e : *elements) forget_target(*e.value);
  if (auto* i = std::get_if<Index>(&target.node)) forget_target(*i->object);
  if (auto* f = std::get_if<Field>(&target.node)) forget_target(*f->object);
}

// ---- conditions

Flow Checking::branch(const Expr& e, const IfExpr& x, Value& out) {
  Value c;
  Truth truth = Truth::Unknown;
  try {
    c = m_.eval(*x.condition);
    truth = m_.condition(c, x.condition->span);
  } catch (const Error& error) {
    if (throws_) throw;
    failed(error);
  }
  switch (truth) {
    case Truth::True: return m_.eval_flow(*x.then, out);
    case Truth::False: out = {}; return x.otherwise ? m_.eval_flow(*x.otherwise, out) : Flow::Next;
    case Truth::Traced: {
      const Tensor t = c.tensor();
      out = traced_if(m_, e, x, t);
      return Flow::Next;
    }
    case Truth::Unknown: break;
  }
  const bool wanted = !(m_.flags(e.id) & kUnused);
  AssignedVariables variables(m_, &x);
  const std::vector<Value> before = variables.values();
  auto part = [&](const Expr* body, Value& value) {
    if (!body) return Flow::Next;
    const Kept uncertain(uncertain_, uncertain_ + 1);
    try {
      return m_.eval_flow(*body, value);
    } catch (const FlowSignal& s) { return s.flow; } catch (const Error& error) {
      if (throws_) throw;
      failed(error);
      value = nothing();
      return Flow::Next;
    }
  };
  Value yes, no;
  const Flow first = part(x.then.get(), yes);
  const std::vector<Value> after = variables.values();
  variables.set(before);
  const Flow second = part(x.otherwise.get(), no);
  if (first == second && first != Flow::Next) {
    variables.join(after);
    return first;
  }
  if (first != Flow::Next)
    may_leave_ |= first != Flow::Continue;  // what follows is of the other part
  else if (second != Flow::Next)
    may_leave_ |= second != Flow::Continue, variables.set(after);
  else
    variables.join(after);
  if (wanted) out = first != Flow::Next ? no : second != Flow::Next ? yes : joined(m_, yes, no);
  if (is_nothing(out) && wanted) only_in_a_run(e.span);
  return Flow::Next;
}

// ---- loops

class CheckedLoop final : public LoopWatch {
 public:
  CheckedLoop(Checking& check, const void* statement)
      : check_(check),
        variables_(check.m_, statement),
        before_(variables_.values()),
        operations_(check.m_.ctx.operations()),
        steps_(check.steps_),
        may_leave_(std::exchange(check.may_leave_, false)) {}
  ~CheckedLoop() override { check_.may_leave_ = may_leave_; }

  bool last() override {
    const bool spent = check_.m_.ctx.operations() - operations_ > kOperations || check_.steps_ - steps_ > kSteps;
    if (spent) blur();
    return spent;
  }
  bool left() override {
    if (check_.may_leave_) blur();
    return check_.may_leave_;
  }
  void blur() override { variables_.blur(before_); }
  Value blurred(const Value& item) override { return lang::blurred(check_.m_, item); }
  void perhaps(const std::function<void()>& turn) override {
    const std::vector<Value> before = variables_.values();
    turn();
    variables_.join(before);
  }

 private:
  Checking& check_;
  AssignedVariables variables_;
  std::vector<Value> before_;
  std::int64_t operations_, steps_;  // when it began
  bool may_leave_;                   // of the loop around
};

std::unique_ptr<LoopWatch> Checking::loop(const void* statement) {
  return std::make_unique<CheckedLoop>(*this, statement);
}

// ---- calls and sizes

void Checking::enter(const Closure& f, Span call) {
  calls_.push_back({f.function->name.empty() ? "fn" : f.function->name, call});
}

std::int64_t Checking::size_of(const Tensor& number) {
  auto [it, fresh] = size_of_.try_emplace(number.array().get(), number.array(), 0);
  if (fresh) it->second.second = fresh_size();
  return it->second.second;
}

Value Checking::value_of(const Pattern& name) const {
  const Value* v = m_.place_of(m_.slot(name.id));
  return v ? *v : nothing();
}

std::string blank(const std::string& text) {
  std::string out;
  for (std::size_t i = 0; i < text.size();) {
    if (!std::isdigit(static_cast<unsigned char>(text[i]))) {
      out += text[i++];
      continue;
    }
    std::size_t end = i;
    while (end < text.size() && std::isdigit(static_cast<unsigned char>(text[end]))) ++end;
    out += end - i >= 8 && end - i <= 19 ? "_" : text.substr(i, end - i);  // also what is left of one when it is split
    i = end;
  }
  return out;
}

}  // namespace shard::lang
