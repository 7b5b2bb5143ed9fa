#include "interpreter/lang/names/lint.h"

#include <algorithm>

#include "grammar/overloaded.h"
#include "grammar/parse.h"

namespace shard::lang {

using namespace grammar;

namespace {

bool is_literal(const Expr& e) {
  if (auto* u = std::get_if<Unary>(&e.node)) return is_literal(*u->operand);
  if (auto* l = std::get_if<ListLit>(&e.node)) return l->elements.empty();
  return is_one_of<IntLit, FloatLit, BoolLit, NoneLit, StringLit>(e.node);
}

bool is_no_function(const Expr& e) { return is_literal(e) || is_one_of<Binary, ListLit, TupleLit, RecordLit>(e.node); }

bool inside(const Span& s, const Span& of) { return s.begin >= of.begin && s.begin < of.end; }

// What never lets the statement behind it run.
const char* leaves(const Expr& e);
const char* leaves(const Stmt& s) {
  if (std::holds_alternative<ReturnStmt>(s.node)) return "return";
  if (std::holds_alternative<BreakStmt>(s.node)) return "break";
  if (std::holds_alternative<ContinueStmt>(s.node)) return "continue";
  auto* e = std::get_if<ExprStmt>(&s.node);
  return e ? leaves(*e->value) : nullptr;
}
const char* leaves(const Expr& e) {
  if (auto* b = std::get_if<Block>(&e.node)) return b->body.empty() ? nullptr : leaves(*b->body.back());
  auto* x = std::get_if<IfExpr>(&e.node);
  const char* word = x && x->otherwise ? leaves(*x->then) : nullptr;
  return word && leaves(*x->otherwise) ? word : nullptr;
}

}  // namespace

void Lint::warn(const char* code, Span span, std::string message, std::vector<std::string> notes,
                std::vector<Fix> fixes) {
  found_.push_back({code, span, std::move(message), std::move(notes), std::move(fixes), {}, true});
}

void Lint::let(const LetStmt& s, Span span, const std::vector<Variable*>& declared,
               const std::vector<Variable*>& outside) {
  for (const Variable* v : declared) {
    facts_[v].starts_with_literal = is_literal(*s.value);
    facts_[v].no_function = is_no_function(*s.value);
  }
  swapped(s);
  if (const auto* parts = std::get_if<TuplePattern>(&s.pattern->node); parts && !parts->elements.empty())
    if (const auto* first = std::get_if<NamePattern>(&parts->elements[0]->node))
      updates(first->name, *s.value, s.pattern->span);
  if (std::holds_alternative<RecordPattern>(s.pattern->node) && declared.size() != 1) return;
  lets_.push_back({declared, outside, span, s.pattern->span, loops.empty() ? Span{} : loops.back()});
}

void Lint::swapped(const LetStmt& s) {
  static const std::set<std::string> gradients{"g", "gs", "grad", "grads", "gradient", "gradients"},
      values{"l", "loss", "value", "val", "cost"};
  const auto* both = std::get_if<TuplePattern>(&s.pattern->node);
  const auto* call = std::get_if<Call>(&s.value->node);
  const auto* made = call ? std::get_if<Call>(&call->callee->node) : nullptr;
  const auto* by = made ? std::get_if<NameRef>(&made->callee->node) : nullptr;
  if (!both || both->elements.size() != 2 || !by || by->name != "value_and_grad") return;
  const auto *first = std::get_if<NamePattern>(&both->elements[0]->node),
             *second = std::get_if<NamePattern>(&both->elements[1]->node);
  if (!first || !second || !gradients.contains(first->name) || !values.contains(second->name)) return;
  const std::string right = "(" + second->name + ", " + first->name + ")";
  warn("swapped-gradient", s.pattern->span, "`value_and_grad` gives the value first: `" + right + "`", {},
       {{"take the value first", s.pattern->span, right}});
}

void Lint::assignment(const AssignStmt& s) {
  const auto* parts = std::get_if<TupleLit>(&s.target->node);
  if (!parts || parts->elements.empty()) return;
  if (const auto* first = std::get_if<NameRef>(&parts->elements[0].value->node))
    updates(first->name, *s.value, s.target->span);
}

// `(p, s) = opt.update(g, s, p)`: the first is what is to be added to p.
void Lint::updates(const std::string& first, const Expr& value, Span targets) {
  const auto* call = std::get_if<Call>(&value.node);
  const auto* method = call ? std::get_if<Field>(&call->callee->node) : nullptr;
  if (!method || method->name.text != "update" || call->args.size() != 3) return;
  const auto name = [&](std::size_t i) {
    const auto* n = std::get_if<NameRef>(&call->args[i].value->node);
    return n && !call->args[i].name ? n->name : std::string();
  };
  if (name(2) != first) return;
  const std::string step = print(*method->object) + ".step(" + first + ", " + print(*call->args[0].value) + ", " +
                           print(*call->args[1].value) + ")";
  warn("updates-as-parameters", targets,
       "`update` gives what is to be added to `" + first + "`, and `step` the sum: `" + step + "`", {},
       {{"make the step", value.span, step}});
}

void Lint::assigned(const Variable* v, const FunctionState* by, Span target, Span statement, bool part) {
  Facts& f = facts_[v];
  if (f.parameter && f.assignments.empty()) assigned_parameters_.push_back(v);
  f.assignments.push_back({by, target, statement, part, loops.empty() ? Span{} : loops.front()});
}

void Lint::block(const std::vector<StmtPtr>& body) {
  for (std::size_t i = 0; i + 1 < body.size(); ++i) {
    const char* word = leaves(*body[i]);
    if (!word) continue;
    warn("unreachable", {body[i + 1]->span.source, body[i + 1]->span.begin, body.back()->span.end},
         std::string("nothing after this `") + word + "` runs", {"drop it, or move it up"});
    return;
  }
}

void Lint::mesh(const MeshStmt& s) {
  for (const MeshAxis& a : s.axes) {
    const auto* size = a.size ? std::get_if<IntLit>(&a.size->node) : nullptr;
    const bool one = size && size->value == 1;
    auto [at, fresh] = axis_of_one_.try_emplace(a.name.text, one);
    if (!fresh) at->second = at->second && one;
  }
}

void Lint::collective(const std::string& name, const Call& call, Span span) {
  Called c{name, span, {}};
  for (const Arg& a : call.args)
    if (const auto* axes = std::get_if<AxisLit>(&a.value->node))
      for (const Word& w : axes->names) c.axes.push_back(w.text);
  if (!c.axes.empty()) collectives_.push_back(std::move(c));
}

void Lint::finish_let(const Let& l) {
  const Variable& first = *l.declared.front();
  const auto is_read = [&](const Variable* v) { return !facts_[v].reads.empty(); };
  const auto spared = [&](const Variable* v) { return !v->owner || v->name[0] == '_'; };
  const bool unread = std::none_of(l.declared.begin(), l.declared.end(), is_read);
  for (std::size_t i = 0; i < l.declared.size(); ++i) {
    const Variable* outer = i < l.outside.size() ? l.outside[i] : nullptr;
    if (!outer) continue;
    const Facts& f = facts_[outer];
    const bool awaited =
        f.starts_with_literal && f.assignments.empty() &&
        std::any_of(f.reads.begin(), f.reads.end(), [&](const Read& r) { return r.span.begin >= l.loop.end; });
    if (!(unread && !spared(l.declared[i])) && !awaited) continue;
    const std::string& name = outer->name;
    warn("let-in-loop", l.pattern,
         "`let " + name + "` makes a new `" + name + "` in each turn, and the one outside of the loop keeps its value",
         {}, {{"drop the `let` to assign the one outside", {l.span.source, l.span.begin, l.pattern.begin}, ""}});
    return;
  }
  if (!unread || std::any_of(l.declared.begin(), l.declared.end(), spared)) return;
  if (l.declared.size() > 1)
    return warn("unused-variable", l.pattern, "nothing reads what this `let` declares",
                {"drop it, or begin the names with `_`"});
  if (const auto in = last_lets_.find(l.span.begin); in != last_lets_.end())
    return warn("unused-variable", l.pattern,
                (in->second.empty() ? "the function" : "`" + in->second + "`") +
                    " ends in a `let` and gives none: end with `" + first.name + "`",
                {}, {{"give the value", {l.span.source, l.span.end, l.span.end}, "; " + first.name}});
  const bool assigned = !facts_[&first].assignments.empty();
  warn("unused-variable", l.pattern,
       "`" + first.name + (assigned ? "` is assigned, and nothing reads it" : "` is declared, and nothing reads it"),
       {}, {{"a name that begins with `_` says that this is meant", first.span, "_" + first.name}});
}

// A parameter that is assigned, and not read afterwards.
void Lint::finish_parameter(const Variable& v) {
  const Facts& f = facts_[&v];
  if (v.name[0] == '_') return;
  for (const Assignment& a : f.assignments) {
    if (a.by != v.owner) continue;
    const auto later = [&](const Read& r) {
      return r.by != a.by || r.span.begin >= a.statement.end || (a.in_loop.known() && inside(r.span, a.in_loop));
    };
    if (std::any_of(f.reads.begin(), f.reads.end(), later)) continue;
    warn("lost-assignment", a.target,
         std::string("this changes ") + (a.part ? "a copy of " : "") + "`" + v.name +
             "` that nothing reads: the caller's value stays as it is",
         {"give the changed value back: end the function with `" + v.name + "`, and assign the result of its call"});
    return;
  }
}

std::vector<Diagnostic> Lint::finish() {
  for (const Let& l : lets_) finish_let(l);
  for (const auto& [v, span] : functions_)
    if (v->owner && v->name[0] != '_' && facts_[v].reads.empty())
      warn("unused-variable", span, "`" + v->name + "` is declared, and nothing calls it", {},
           {{"a name that begins with `_` says that this is meant", span, "_" + v->name}});
  for (const Variable* v : assigned_parameters_) finish_parameter(*v);
  for (const Hidden& h : hidden_) {
    const auto called = builtin_calls_.find({h.scope, h.variable->name});
    const Facts& f = facts_[h.variable];
    const bool hides_call = f.no_function && f.assignments.empty() && f.called.known();
    if (called == builtin_calls_.end() && !hides_call) continue;
    warn("shadowed-builtin", h.variable->span,
         "`" + h.variable->name + "` hides the builtin function of that name, which is called " +
             (hides_call ? "below" : "above"),
         {"call the variable otherwise"});
  }
  for (const Called& c : collectives_) {
    const auto of_one = [&](const std::string& axis) {
      const auto at = axis_of_one_.find(axis);
      return at != axis_of_one_.end() && at->second;
    };
    if (std::all_of(c.axes.begin(), c.axes.end(), of_one))
      warn("axis-of-one", c.span, "`" + c.name + "` over @" + c.axes.front() + " does nothing: the axis has the size 1",
           {"give the axis more devices in the mesh, or drop the collective"});
  }
  return std::move(found_);
}

}  // namespace shard::lang
