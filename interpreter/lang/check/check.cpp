#include "interpreter/lang/check/check.h"

#include <algorithm>
#include <cctype>

#include "interpreter/lang/values/format.h"

namespace shard::lang {

using namespace grammar;
using runtime::DType;
using trace::Tensor;
using Impl = Interpreter::Impl;

namespace {

constexpr std::int64_t kOperations = 400, kSteps = 20000;  // of one loop, before it is left

Value number_of_a_run(Impl& m, DType dtype) {
  return m.ctx.unknown(runtime::Type::of(dtype, {}, dtype != DType::Bool));
}

std::optional<DType> number_kind(const Value& v) {
  if (v.is<bool>()) return DType::Bool;
  if (v.is<std::int64_t>()) return DType::I32;
  if (v.is<double>()) return DType::F32;
  if (auto* t = v.get<Tensor>(); t && t->valid() && !t->traced() && !t->array()->buffer && t->type().rank() == 0) {
    if (t->type().weak || t->type().dtype == DType::Bool) return t->type().dtype;
  }
  return std::nullopt;
}

// Where a variable's value is; null before it has one.
Value* place(const Impl& m, const Slot& s) {
  if (CellRef c = m.cell_of(s)) return c->set ? &c->value : nullptr;
  return s.where == Where::Local ? &m.frame->locals[s.index] : nullptr;
}

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

bool is_of_files(const std::string& code) { return code == "io" || code == "format"; }

}  // namespace

// ---- statements

Flow Check::statement(Impl& m, const Stmt& s, Value* out) {
  ++steps_;
  if (throws_) return m.exec(s, out);
  try {
    const Flow flow = m.exec(s, out);
    if (std::holds_alternative<MeshStmt>(s.node) || std::holds_alternative<UseStmt>(s.node)) mesh_lost_ = false;
    return flow;
  } catch (const Error& e) {
    Error told = e;
    const bool missing = std::holds_alternative<ImportStmt>(s.node) && e.diagnostic.code == "io";
    if (missing) told.diagnostic.code = "import";  // a part of the program, unlike the files that it reads
    failed(m, missing ? told : e);
  } catch (const runtime::RuntimeError& e) { failed(m, Error(e.code, m.ctx.span(), e.what())); }
  forget(m, s);
  if (auto* f = std::get_if<ForStmt>(&s.node)) {  // its sequence: the body is looked at once
    forget(m, *f->pattern);
    body(m, *f->body);
  } else if (auto* w = std::get_if<WhileStmt>(&s.node)) {
    body(m, *w->body);
  }
  const bool value = out && std::holds_alternative<ExprStmt>(s.node);
  if (value || std::holds_alternative<ReturnStmt>(s.node)) unknown(s.span);
  return Flow::Next;
}

Flow Check::body(Impl& m, const Expr& block) {
  ++steps_;  // also of an empty one
  Value unused;
  try {
    return m.eval_flow(block, unused);
  } catch (const Error& e) {
    if (throws_) throw;
    failed(m, e);
    return Flow::Next;
  }
}

void Check::add(Impl& m, std::vector<Diagnostic> found) {
  for (Diagnostic& d : found) report(m, std::move(d));
}

void Check::failed(Impl& m, const Error& e) {
  if (e.diagnostic.code == "interrupt") throw e;
  if (auto* many = dynamic_cast<const Errors*>(&e)) {
    for (const Diagnostic& d : many->all) report(m, d);
    return;
  }
  report(m, e.diagnostic);
}

void Check::report(Impl&, Diagnostic d) {
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
  (is_of_files(d.code) && d.code == "io" ? notes : errors).push_back(std::move(d));
}

void Check::forget(Impl& m, const Stmt& s) {
  std::visit(
      [&](const auto& x) {
        using T = std::remove_cvref_t<decltype(x)>;
        if constexpr (std::is_same_v<T, LetStmt>) forget(m, *x.pattern);
        if constexpr (std::is_same_v<T, FnStmt>) m.declare(m.slot(x.function->id), nothing(), false);
        if constexpr (std::is_same_v<T, MeshStmt>) m.declare(m.slot(x.id), nothing(), false);
        if constexpr (std::is_same_v<T, MeshStmt> || std::is_same_v<T, UseStmt>) mesh_lost_ = true;
        if constexpr (std::is_same_v<T, ImportStmt>) m.declare(m.slot(x.id), nothing(), false);
        if constexpr (std::is_same_v<T, AssignStmt>) forget_target(m, *x.target);
        if constexpr (std::is_same_v<T, LetStmt>) declared(m, x, s.span);
      },
      s.node);
}

void Check::forget(Impl& m, const Pattern& p) {
  each_name(p, [&](const Pattern& name, const NamePattern&) { m.declare(m.slot(name.id), nothing(), false); });
}

void Check::forget_target(Impl& m, const Expr& target) {
  if (std::holds_alternative<NameRef>(target.node))
    if (Value* v = place(m, m.slot(target.id))) *v = nothing();
  if (auto* t = std::get_if<TupleLit>(&target.node))
    for (const auto& e : t->elements) forget_target(m, *e.value);
  if (auto* l = std::get_if<ListLit>(&target.node))
    for (const auto& e : l->elements) forget_target(m, *e.value);
  if (auto* i = std::get_if<Index>(&target.node)) forget_target(m, *i->object);
  if (auto* f = std::get_if<Field>(&target.node)) forget_target(m, *f->object);
}

// ---- conditions

Flow Check::branch(Impl& m, const Expr& e, const IfExpr& x, Value& out) {
  Value c;
  Truth truth = Truth::Unknown;
  try {
    c = m.eval(*x.condition);
    truth = m.condition(c, x.condition->span);
  } catch (const Error& error) {
    if (throws_) throw;
    failed(m, error);
  }
  switch (truth) {
    case Truth::True: return m.eval_flow(*x.then, out);
    case Truth::False: out = {}; return x.otherwise ? m.eval_flow(*x.otherwise, out) : Flow::Next;
    case Truth::Traced: {
      const Tensor t = c.tensor();
      out = m.traced_if(e, x, t);
      return Flow::Next;
    }
    case Truth::Unknown: break;
  }
  const bool wanted = !(m.flags(e.id) & kUnused);
  const std::vector<Value> before = assigned(m, &x);
  auto part = [&](const Expr* body, Value& value) {
    if (!body) return Flow::Next;
    ++uncertain_;
    Flow flow = Flow::Next;
    try {
      flow = m.eval_flow(*body, value);
    } catch (const FlowSignal& s) { flow = s.flow; } catch (const Error& error) {
      --uncertain_;
      if (throws_) throw;
      ++uncertain_;
      failed(m, error);
      value = nothing();
    }
    --uncertain_;
    return flow;
  };
  Value yes, no;
  const Flow first = part(x.then.get(), yes);
  const std::vector<Value> after = assigned(m, &x);
  const auto list = m.frame->unit->assigned.find(&x);
  auto set = [&](const std::vector<Value>& values) {
    for (std::size_t i = 0; i < values.size(); ++i)
      if (Value* v = place(m, list->second[i].slot)) *v = values[i];
  };
  set(before);
  const Flow second = part(x.otherwise.get(), no);
  if (first == second && first != Flow::Next) {
    join(m, &x, after);
    return first;
  }
  if (first != Flow::Next)
    may_leave_ |= first != Flow::Continue;  // what follows is of the other part
  else if (second != Flow::Next)
    may_leave_ |= second != Flow::Continue, set(after);
  else
    join(m, &x, after);
  if (wanted) out = first != Flow::Next ? no : second != Flow::Next ? yes : joined(m, yes, no);
  if (is_nothing(out) && wanted) unknown(e.span);
  return Flow::Next;
}

Value Check::joined(Impl& m, const Value& a, const Value& b) const {
  if (is_nothing(a) || is_nothing(b)) return nothing();
  const auto x = number_kind(a), y = number_kind(b);
  if (x && y) {
    if (!a.is_tensor() && !b.is_tensor() && x == y && equal(a, b)) return a;
    if (*x == *y) return number_of_a_run(m, *x);
    return *x != DType::Bool && *y != DType::Bool ? number_of_a_run(m, DType::F32) : nothing();
  }
  if (a.is_tensor() && b.is_tensor()) {
    const Tensor &s = a.tensor(), &t = b.tensor();
    if (!(m.ctx.type_of(s) == m.ctx.type_of(t)) || s.traced() != t.traced()) return nothing();
    if (s.traced() || s.array() == t.array()) return a;
    return m.ctx.unknown(s.type());
  }
  if (a.is_string() && b.is_string()) return equal(a, b) ? a : nothing();
  if ((a.items() || a.fields()) && same_structure(a, b)) {
    std::vector<Value> left = leaves(a), right = leaves(b);
    if (left.size() != right.size()) return nothing();
    for (std::size_t i = 0; i < left.size(); ++i) {
      left[i] = joined(m, left[i], right[i]);
      if (is_nothing(left[i])) return nothing();
    }
    return with_leaves(a, std::move(left));
  }
  if (a.is_tensor() || b.is_tensor() || a.items() || b.items() || a.fields() || b.fields()) return nothing();
  return equal(a, b) ? a : nothing();
}

// ---- loops

Check::Loop Check::enter_loop(const Impl& m) {
  const Loop l{m.ctx.operations(), steps_, may_leave_};
  may_leave_ = false;
  return l;
}

bool Check::spent(const Impl& m, const Loop& l) const {
  return m.ctx.operations() - l.operations > kOperations || steps_ - l.steps > kSteps;
}

std::vector<Value> Check::assigned(Impl& m, const void* node) const {
  std::vector<Value> out;
  const auto it = m.frame->unit->assigned.find(node);
  if (it == m.frame->unit->assigned.end()) return out;
  for (const auto& a : it->second) {
    const Value* v = place(m, a.slot);
    out.push_back(v ? *v : nothing());
  }
  return out;
}

void Check::join(Impl& m, const void* node, const std::vector<Value>& before) {
  const std::vector<Value> now = assigned(m, node);
  for (std::size_t i = 0; i < now.size() && i < before.size(); ++i)
    if (Value* v = place(m, m.frame->unit->assigned.at(node)[i].slot)) *v = joined(m, before[i], now[i]);
}

Value Check::blurred(Impl& m, const Value& v) {
  if (const auto kind = number_kind(v)) return number_of_a_run(m, *kind);
  if (!v.items() && !v.fields()) return v;
  std::vector<Value> all = leaves(v);
  for (Value& leaf : all) leaf = blurred(m, leaf);
  return with_leaves(v, std::move(all));
}

void Check::blur(Impl& m, const void* loop, const std::vector<Value>& before) {
  const std::vector<Value> now = assigned(m, loop);
  for (std::size_t i = 0; i < now.size(); ++i) {
    Value* v = place(m, m.frame->unit->assigned.at(loop)[i].slot);
    if (!v) continue;
    const bool tree = now[i].items() || now[i].fields();
    const bool grown = tree && i < before.size() && !is_nothing(before[i]) && !same_structure(before[i], now[i]);
    *v = is_nothing(now[i]) ? now[i] : grown ? nothing() : blurred(m, now[i]);
  }
}

// ---- sizes

std::int64_t Check::size_of(const Tensor& number) {
  auto [it, fresh] = size_of_.try_emplace(number.array().get(), number.array(), 0);
  if (fresh) it->second.second = fresh_size();
  return it->second.second;
}

std::string Check::blank(std::string text) {
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

// ---- types of declarations

std::string type_text(Impl& m, const Value& v) {
  if (Check::is_nothing(v)) return "_";
  if (auto* t = v.get<Tensor>()) {
    if (const auto kind = number_kind(v))
      return *kind == DType::Bool ? "bool[]" : *kind == DType::F32 ? "float" : "int";
    runtime::Type type = m.ctx.type_of(*t);
    type.weak = false;
    const bool of_data = std::any_of(type.shape.begin(), type.shape.end(), Check::is_size);
    return of_data ? Check::blank(runtime::to_string(type)) : runtime::to_string(type);
  }
  auto list = [&](const std::vector<Value>& items) {
    std::vector<std::string> parts;
    for (const Value& x : items) parts.push_back(type_text(m, x));
    const auto alike = [&](const std::string& p) { return p == parts[0]; };
    if (parts.size() > 3 && std::all_of(parts.begin(), parts.end(), alike))
      return std::to_string(parts.size()) + " * " + parts[0];
    std::string out;
    for (std::size_t i = 0; i < parts.size(); ++i) out += (i ? ", " : "") + parts[i];
    return out;
  };
  if (auto* items = v.items()) {
    if (v.is<std::shared_ptr<List>>()) return "[" + list(*items) + "]";
    return "(" + list(*items) + (items->size() == 1 ? ",)" : ")");
  }
  if (auto* r = v.fields()) {
    std::string out;
    for (const auto& [name, x] : r->fields) out += (out.empty() ? "" : ", ") + name + ": " + type_text(m, x);
    return "{" + out + "}";
  }
  return kind_name(v);
}

void Check::declared(Impl& m, const LetStmt& s, Span span) {
  if (throws_) return;
  each_name(*s.pattern, [&](const Pattern& p, const NamePattern& n) {
    const Value* v = place(m, m.slot(p.id));
    const std::string text = type_text(m, v ? *v : nothing());
    const auto same = [&](const Let& l) { return l.span == span && l.name == n.name; };
    auto it = std::find_if(lets.begin(), lets.end(), same);
    if (it == lets.end()) it = lets.insert(lets.end(), {span, n.name, {}});
    if (std::find(it->types.begin(), it->types.end(), text) == it->types.end()) it->types.push_back(text);
  });
}

}  // namespace shard::lang
