// Names in statements: loops, `let`, and which arguments an assignment lets move.
#include "interpreter/lang/names/resolver.h"

#include <algorithm>
#include <optional>
#include <set>

#include "grammar/advice/advice.h"
#include "grammar/kept.h"
#include "grammar/parse.h"

namespace shard::lang {

using namespace grammar;

namespace {

std::uint32_t let_begin(const LetStmt& x) {  // `let` stands before the pattern
  return x.pattern->span.begin >= 4 ? x.pattern->span.begin - 4 : 0;
}

}  // namespace

template <class F>
void Resolver::loop(Span span, F body) {
  scopes_.enter(scopes_.function(), true);
  ++scopes_.function().loops;
  lint_.loops.push_back(span);
  body();
  lint_.loops.pop_back();
  --scopes_.function().loops;
  scopes_.leave();
}

void Resolver::statement(const Stmt& s, bool used) {
  const Kept outer(statement_, s.span);
  std::visit(Overloaded{[&](const LetStmt& x) { let(x, s.span); },
                        [&](const FnStmt& x) {
                          annotations(*x.function);
                          Variable* v = declare(x.function->name, x.function->id);
                          function(*x.function, v);
                          lint_.function(v, x.function->name_span);
                        },
                        [&](const MeshStmt& x) {
                          for (auto& a : x.axes)
                            if (a.size) expr(*a.size);
                          if (x.devices) expr(*x.devices);
                          declare(x.name.text, x.id);
                          lint_.mesh(x);
                          for (auto& a : x.axes) {
                            const auto* size = a.size ? std::get_if<IntLit>(&a.size->node) : nullptr;
                            if (a.kind == AxisKind::Auto && (!size || size->value != 1))
                              unit_.axes.declared.push_back(a.name);
                          }
                        },
                        [&](const TestStmt& x) { expr(*x.body, false); },
                        [&](const ImportStmt& x) { declare(x.name.text, x.id); },
                        [&](const ForStmt& x) {
                          expr(*x.sequence);
                          collectors_.push_back({&x, &scopes_.function(), scopes_.now()});
                          loop(s.span, [&] {
                            declare_pattern(*x.pattern, false);
                            expr(*x.body, false);
                          });
                          collectors_.pop_back();
                        },
                        [&](const WhileStmt& x) {
                          collectors_.push_back({&x, &scopes_.function(), scopes_.now()});
                          loop(s.span, [&] {
                            expr(*x.condition);
                            expr(*x.body, false);
                          });
                          collectors_.pop_back();
                        },
                        [&](const AssignStmt& x) { assign(x); },
                        [&](const ExprStmt& x) {
                          if (!made_mesh(*x.value, s.span, "m")) expr(*x.value, used);
                        },
                        [&](const auto&) { each_child(s, [this](const Expr& e) { expr(e); }); }},
             s.node);
}

// What a `let` of these names, in a loop, hides of the same function outside of the loop.
std::vector<Variable*> Resolver::hidden_outside(const Names& names) {
  std::vector<Variable*> out(names.size());
  const FunctionState& here = scopes_.function();
  if (here.loops == 0) return out;
  for (std::size_t i = 0; i < names.size(); ++i) {
    const Scopes::Found found = scopes_.find(names[i].first);
    const Variable* v = found.variable;
    if (v && found.outside_loop && !v->is_function && (v->owner ? v->owner == &here : !here.is_function))
      out[i] = found.variable;
  }
  return out;
}

// `let m = jax.make_mesh((2, 4), ("data", "model"))`, `Mesh(...)`: a mesh is no call here. Whether it was one.
bool Resolver::made_mesh(const Expr& value, Span span, const std::string& name) {
  const auto* call = std::get_if<Call>(&value.node);
  if (!call) return false;
  const auto* field = std::get_if<Field>(&call->callee->node);
  const Expr* root = call->callee.get();
  while (const auto* f = std::get_if<Field>(&root->node)) root = f->object.get();
  const auto* first = std::get_if<NameRef>(&root->node);
  const std::string& called = field ? field->name.text : first ? first->name : name;
  if (!first || (called != "make_mesh" && called != "Mesh")) return false;
  if (scopes_.find(first->name).variable || scopes_.later(first->name)) return false;
  const std::string line = mesh_line(print(value), name);
  std::vector<Fix> fixes;
  if (!line.empty()) fixes.push_back({"declare it", span, line});
  error("name", value.span, "a mesh is declared: `" + (line.empty() ? "mesh m = (@X: 8)" : line) + "`", {},
        std::move(fixes));
  return true;
}

void Resolver::let(const LetStmt& x, Span span) {
  const auto* one = std::get_if<NamePattern>(&x.pattern->node);
  const std::size_t first = uses_.size();
  if (!made_mesh(*x.value, span, one ? one->name : "m")) expr(*x.value);
  Names names;
  each_name(*x.pattern, [&](const Pattern& p, const NamePattern& n) { names.emplace_back(n.name, p.span); });
  if (scopes_.function().loops) {
    for (const auto& [name, place] : names)
      for (std::size_t i = first; i < uses_.size(); ++i) {
        const Use& u = uses_[i];
        if (u.variable->name != name || !u.outside_loop || u.method >= 0) continue;
        error("loop", x.pattern->span,
              "`let " + name + "` in a loop makes a new `" + name + "` in each turn, from the one outside",
              {"drop the `let` to assign the variable outside the loop"},
              {{"drop the `let`", Span{x.pattern->span.source, let_begin(x), x.pattern->span.begin}, "", true}});
        break;
      }
  }
  const std::vector<Variable*> outside = hidden_outside(names);
  declare_pattern(*x.pattern, true);
  std::vector<Variable*> declared;
  for (const auto& [name, place] : names) {
    declared.push_back(scopes_.find(name).variable);
    if (const int b = host_.builtin(name); b >= 0 && host_.is_function(b))
      lint_.hides_builtin(declared.back(), scopes_.inner().id);
  }
  if (!declared.empty()) lint_.let(x, span, declared, outside);
}

void Resolver::assign(const AssignStmt& x) {
  lint_.assignment(x);
  const std::size_t first = uses_.size();
  if (x.op == AssignOp::Set) collect_moves(*x.value);
  expr(*x.value);
  const std::size_t end = uses_.size();
  target(*x.target, x.op == AssignOp::Set);
  if (x.op != AssignOp::Set) {
    moves_.clear();
    return;
  }
  std::set<Variable*> targets;
  auto* call = std::get_if<Call>(&x.value->node);
  auto add_target = [&](const Expr& e, std::optional<std::int32_t> part) {
    if (!std::holds_alternative<NameRef>(e.node)) return;
    for (std::size_t i = end; i < uses_.size(); ++i) {
      if (uses_[i].id != e.id) continue;
      targets.insert(uses_[i].variable);
      if (call && part) note_places(*call, uses_[i].variable, *part, first, end);
    }
  };
  const auto add_targets = [&](const std::vector<Element>& elements) {
    bool counted = true;  // behind a `...` nothing says which result it is
    for (std::size_t i = 0; i < elements.size(); ++i) {
      counted = counted && !elements[i].spread;
      add_target(*elements[i].value, counted ? std::optional(static_cast<std::int32_t>(i)) : std::nullopt);
    }
  };
  if (const auto* elements = elements_of(*x.target))
    add_targets(*elements);
  else
    add_target(*x.target, kWholeResult);
  for (Variable* v : targets) {
    std::int32_t id = -1;
    int count = 0;
    for (std::size_t i = first; i < end; ++i)
      if (uses_[i].variable == v) {
        ++count;
        id = uses_[i].id;
      }
    if (count == 1 && id >= 0 && std::find(moves_.begin(), moves_.end(), id) != moves_.end()) moved_.push_back({id, v});
  }
  moves_.clear();
}

// The arguments that are the variable v, which gets this part of the call's result.
void Resolver::note_places(const Call& call, const Variable* v, std::int32_t part, std::size_t first, std::size_t end) {
  for (const Arg& a : call.args)
    for (std::size_t i = first; i < end && !a.spread; ++i)
      if (uses_[i].id == a.value->id && uses_[i].variable == v) unit_.becomes[a.value->id] = part;
}

// Arguments that are evaluated exactly once where the value is: only through calls and operators, not into blocks.
void Resolver::collect_moves(const Expr& e) {
  const auto movable = [&](const Expr& x) {
    if (std::holds_alternative<NameRef>(x.node))
      moves_.push_back(x.id);
    else
      collect_moves(x);
  };
  std::visit(
      Overloaded{[&](const Call& c) {
                   for (auto& a : c.args) a.spread ? collect_moves(*a.value) : movable(*a.value);
                   if (auto* f = std::get_if<Field>(&c.callee->node)) movable(*f->object);
                 },
                 [&](const Pipe& p) {
                   movable(*p.value);
                   collect_moves(*p.target);
                 },
                 [&](const TupleLit& t) {
                   for (auto& x : t.elements) collect_moves(*x.value);
                 },
                 [&](const Unary& u) { collect_moves(*u.operand); }, [&](const Index& i) { collect_moves(*i.object); },
                 [&](const Field& f) { collect_moves(*f.object); }, [&](const auto&) {}},
      e.node);
}

}  // namespace shard::lang
