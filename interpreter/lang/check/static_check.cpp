#include "interpreter/lang/check/static_check.h"

#include <algorithm>

#include "interpreter/lang/check/join.h"
#include "interpreter/lang/check/type_text.h"
#include "interpreter/lang/eval/flow/traced_flow.h"
#include "interpreter/lang/eval/impl.h"
#include "interpreter/lang/report/report.h"
#include "interpreter/lang/values/unknown.h"

namespace shard::lang {

using namespace grammar;
using trace::Tensor;

namespace {

constexpr std::int64_t kOperations = 400, kSteps = 20000;  // of one loop, before it is left

template <class F>
void each_name(const Pattern& p, const F& f) {
  if (auto* n = std::get_if<NamePattern>(&p.node)) f(p, *n);
  if (auto* t = std::get_if<TuplePattern>(&p.node))
    for (const auto& e : t->elements) each_name(*e, f);
  if (auto* l = std::get_if<ListPattern>(&p.node))
    for (const auto& e : l->elements) each_name(*e, f);
  if (auto* r = std::get_if<RecordPattern>(&p.node))
    for (const auto& x : r->fields) each_name(*x.target, f);
}

// Of the errors that a lost mesh draws after it.
bool is_of_layouts(const std::string& code) {
  return code == "mesh" || code == "spec" || code == "layout" || code == "mode";
}

}  // namespace

Check::Check(Interpreter& in) : m_(in.impl()) { m_.checker = this; }
Check::~Check() { m_.checker = nullptr; }

// ---- statements

Flow Check::statement(const Stmt& s, Value* out) {
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

Flow Check::body(const Expr& block) {
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

void Check::found(std::vector<Diagnostic> names) {
  for (Diagnostic& d : names) report(std::move(d));
}

void Check::failed(const Error& e) {
  if (e.diagnostic.code == "interrupt") throw e;
  for (const Diagnostic& d : e.all()) report(d);
}

void Check::report(Diagnostic d) {
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

void Check::forget(const Stmt& s) {
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

void Check::forget(const Pattern& p) {
  each_name(p, [&](const Pattern& name, const NamePattern&) { m_.declare(m_.slot(name.id), nothing(), false); });
}

void Check::forget_target(const Expr& target) {
  if (std::holds_alternative<NameRef>(target.node))
    if (Value* v = place_of(m_, m_.slot(target.id))) *v = nothing();
  if (auto* t = std::get_if<TupleLit>(&target.node))
    for (const auto& e : t->elements) forget_target(*e.value);
  if (auto* l = std::get_if<ListLit>(&target.node))
    for (const auto& e : l->elements) forget_target(*e.value);
  if (auto* i = std::get_if<Index>(&target.node)) forget_target(*i->object);
  if (auto* f = std::get_if<Field>(&target.node)) forget_target(*f->object);
}

// ---- conditions

Flow Check::branch(const Expr& e, const IfExpr& x, Value& out) {
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
    ++uncertain_;
    Flow flow = Flow::Next;
    try {
      flow = m_.eval_flow(*body, value);
    } catch (const FlowSignal& s) { flow = s.flow; } catch (const Error& error) {
      --uncertain_;
      if (throws_) throw;
      ++uncertain_;
      failed(error);
      value = nothing();
    }
    --uncertain_;
    return flow;
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
  CheckedLoop(Check& check, const void* statement)
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
  Check& check_;
  AssignedVariables variables_;
  std::vector<Value> before_;
  std::int64_t operations_, steps_;  // when it began
  bool may_leave_;                   // of the loop around
};

std::unique_ptr<LoopWatch> Check::loop(const void* statement) {
  return std::make_unique<CheckedLoop>(*this, statement);
}

// ---- calls and sizes

void Check::enter(const Closure& f, Span call) {
  calls_.push_back({f.function->name.empty() ? "fn" : f.function->name, call});
  const std::uint32_t source = f.function->span.source;
  if (!with_parameters || !m_.in.sources().has(source) || m_.in.sources().at(source).name().starts_with(kLibrary))
    return;
  for (const Param& p : f.function->params) note(*p.pattern, {}, true);
}

std::int64_t Check::size_of(const Tensor& number) {
  auto [it, fresh] = size_of_.try_emplace(number.array().get(), number.array(), 0);
  if (fresh) it->second.second = fresh_size();
  return it->second.second;
}

void Check::declared(const LetStmt& s, Span span) {
  if (!throws_) note(*s.pattern, span, false);
}

void Check::note(const Pattern& pattern, Span statement, bool parameter) {
  each_name(pattern, [&](const Pattern& p, const NamePattern& n) {
    const Value* v = place_of(m_, m_.slot(p.id));
    const Value value = v ? *v : nothing();
    const Span span = parameter ? p.span : statement;
    const auto same = [&](const Let& l) { return l.span == span && l.name == n.name; };
    auto it = std::find_if(lets.begin(), lets.end(), same);
    if (it == lets.end()) it = lets.insert(lets.end(), {span, n.name, {}, p.span, parameter});
    const auto let = static_cast<std::size_t>(it - lets.begin());
    if (with_parameters && is_traced(value))
      traced_.add(let, value);
    else
      add_type(let, type_text(m_, value));
  });
}

void Check::add_type(std::size_t let, std::string text) {
  std::vector<std::string>& types = lets[let].types;
  if (std::find(types.begin(), types.end(), text) == types.end()) types.push_back(std::move(text));
}

void Check::lay_out(const CompiledCall& call) {
  traced_.lay_out(m_, call, [this](std::size_t let, std::string text) { add_type(let, std::move(text)); });
}

// What no compiled call has laid out (a gradient that is computed at once) has its type alone, where nothing is known.
void Check::finish() {
  traced_.rest([this](std::size_t let, const Value& v) {
    if (lets[let].types.empty()) add_type(let, type_text(m_, v));
  });
}

}  // namespace shard::lang
