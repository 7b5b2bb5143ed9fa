// Names in expressions, blocks and functions.
#include "interpreter/lang/names/resolver.h"

#include <algorithm>

#include "grammar/kept.h"

namespace shard::lang {

using namespace grammar;

void Resolver::items(const Index& x) {
  for (auto& i : x.items)
    for (const ExprPtr* e : {&i.value, &i.start, &i.stop, &i.step})
      if (*e) expr(**e);
}

void Resolver::entries(const SpecLit& spec) {
  for (auto& a : spec.args) {
    in_spec_ = std::holds_alternative<NameRef>(a.value->node) && !a.spread;
    expr(*a.value);
    in_spec_ = false;
  }
}

void Resolver::expr(const Expr& e, bool used) {
  std::visit(
      Overloaded{[&](const NameRef& n) { reference(n.name, e.id, e.span); }, [&](const SpecLit& x) { entries(x); },
                 [&](const AxisLit& x) {
                   for (auto& w : x.names) unit_.axes.named.insert(w.text);
                 },
                 [&](const Block& x) { block(e, x, used); },
                 [&](const IfExpr& x) {
                   if (!used) flags(e.id) |= kUnused;
                   expr(*x.condition);
                   collectors_.push_back({&x, &scopes_.function(), scopes_.now()});
                   expr(*x.then, used);
                   if (x.otherwise) expr(*x.otherwise, used);
                   collectors_.pop_back();
                 },
                 [&](const UseExpr& x) {
                   expr(*x.mesh);
                   expr(*x.body, used);
                 },
                 [&](const FunctionLit& x) {
                   annotations(*x.function);
                   function(*x.function, nullptr);
                 },
                 [&](const Binary& x) {
                   expr(*x.left);
                   const Kept product(product_with_, product_with_);
                   if (x.op == BinaryOp::MatMul && std::holds_alternative<NameRef>(x.right->node)) {
                     product_with_ = &x.right->span;
                     product_op_ = x.op_span;
                   }
                   expr(*x.right);
                 },
                 [&](const Call& x) {
                   if (!used) flags(e.id) |= kUnused;
                   call(x, e.span);
                 },
                 [&](const Field& x) {
                   if (x.name.text == "axes") unit_.axes.listed = true;
                   expr(*x.object);
                   note_member(x);
                 },
                 [&](const auto& x) {
                   if constexpr (std::is_same_v<decltype(x), const TypeLit&>) axis_names(x);
                   each_child(e, [this](const Expr& child) { expr(child); });
                 }},
      e.node);
}

void Resolver::call(const Call& x, Span span) {
  if (auto* f = std::get_if<Field>(&x.callee->node)) {  // x.f(): the nearest f that is a function, found when it runs
    expr(*f->object);
    note_member(*f);
    const int m = static_cast<int>(unit_.methods.size());
    unit_.methods.emplace_back();
    extra(x.callee->id) = m;
    const std::vector<Variable*> named = scopes_.all(f->name.text);
    if (!named.empty()) note(NameUse::Read, f->name.span, named.front());
    for (Variable* v : named) {
      if (v->declared_at < 0 || being_declared_ == v) cyclic_ = true;
      scopes_.use(v);
      uses_.push_back({v, &scopes_.function(), -1, m, false});
      lint_.read(v, &scopes_.function(), f->name.span);
    }
    if (int b = host_.builtin(f->name.text); b >= 0) builtin_methods_.push_back({m, b});
  } else {
    expr(*x.callee);
    if (auto* n = std::get_if<NameRef>(&x.callee->node)) {
      Variable* v = scopes_.find(n->name).variable;
      if (!v) v = scopes_.later(n->name);
      if (!v && host_.see_variables.count(n->name)) see_variables(*x.callee);
      if (v) lint_.calls(v, span);
      for (const Arg& a : x.args)
        if (a.name && v) note(NameUse::Argument, a.name->span, v);
      if (const int b = v ? -1 : host_.builtin(n->name); b >= 0) {
        lint_.calls_builtin(n->name, scopes_.inner().id);
        if (host_.communicates(b)) lint_.collective(n->name, x, span);
      }
      if (v && v != being_declared_) called_.try_emplace(v, CallSite{span, &scopes_.function()});
    }
  }
  for (const Arg& a : x.args) expr(*a.value);
}

void Resolver::see_variables(const Expr& callee) {
  Unit::Seen& seen = unit_.seen[callee.id];
  seen.slots = unit_.methods.size();
  unit_.methods.emplace_back();
  cyclic_ = true;  // among the variables is the function that looks
  for (const std::string& name : scopes_.names()) {
    Variable* v = scopes_.find(name).variable;
    if (!v || v->declared_at < 0 || std::find(seen.names.begin(), seen.names.end(), name) != seen.names.end()) continue;
    scopes_.use(v);
    lint_.read(v, &scopes_.function(), callee.span);
    uses_.push_back({v, &scopes_.function(), -1, static_cast<int>(seen.slots), false});
    seen.names.push_back(name);
  }
}

void Resolver::block(const Expr& e, const Block& b, bool used) {
  FunctionState& f = scopes_.function();
  scopes_.enter(f, false);
  announce(b.body);
  lint_.block(b.body);
  const std::size_t index = unit_.blocks.size();
  unit_.blocks.emplace_back();
  extra(e.id) = static_cast<std::int32_t>(index);
  DeferredBlock block{index, f.variables.size() - scopes_.inner().variables.size(), 0, &f, scopes_.inner().variables};
  const bool cyclic = cyclic_;
  cyclic_ = false;
  for (std::size_t i = 0; i < b.body.size(); ++i) {
    const Stmt& s = *b.body[i];
    const bool last = i + 1 == b.body.size();
    if (is_one_of<MeshStmt, UseStmt, RulesStmt>(s.node)) unit_.blocks[index].surroundings = true;
    statement(s, last && used);
  }
  unit_.blocks[index].cyclic = cyclic_;
  cyclic_ = cyclic || cyclic_;
  block.end = f.variables.size();
  blocks_.push_back(std::move(block));
  scopes_.leave();
}

// Annotations that are specs or variables belong to the surrounding scope: they are evaluated where the fn is.
void Resolver::annotations(const Function& f) {
  for (auto& m : f.modifiers)
    for (auto& a : m.axes) expr(*a);
  for (auto& p : f.params)
    if (p.annot) spec_annotation(*p.annot);
  if (f.result) spec_annotation(*f.result);
}

void Resolver::spec_annotation(const Annot& a) {
  each_leaf(a, [this](const Annot& leaf) {
    if (auto* x = std::get_if<SpecAnnot>(&leaf.node)) expr(*x->spec);
  });
}

void Resolver::type_annotation(const Annot& a) {
  each_leaf(a, [this](const Annot& leaf) {
    auto* x = std::get_if<TypeAnnot>(&leaf.node);
    auto* type = x ? std::get_if<TypeLit>(&x->type->node) : nullptr;
    if (x && !type) expr(*x->type);
    if (!type) return;
    axis_names(*type);
    for (auto& d : type->dims)
      if (d.size) size_name(*d.size);
  });
}

void Resolver::axis_names(const TypeLit& type) {
  for (auto& d : type.dims)
    for (auto& w : d.axes) unit_.axes.named.insert(w.text);
  for (auto& g : type.groups)
    for (auto& w : g.axes) unit_.axes.named.insert(w.text);
}

void Resolver::size_name(const Expr& size) {
  auto* n = std::get_if<NameRef>(&size.node);
  if (!n) {
    expr(size);
    return;
  }
  Variable* v = nullptr;
  for (Variable* w : scopes_.inner().variables)
    if (w->name == n->name) v = w;
  const bool bound =
      v && std::find(sizes_.begin(), sizes_.end(), v) == sizes_.end();  // an earlier parameter: compared with
  if (!v) {
    v = add(n->name, size.span, false);
    scopes_.declare(v);
    sizes_.push_back(v);
  }
  if (!bound) flags(size.id) |= kBindsSize;
  record(v, size.id);
  note(v->span == size.span ? NameUse::Declared : NameUse::Read, size.span, v);
}

void Resolver::function(const Function& f, Variable* self) {
  const std::size_t index = unit_.functions.size();
  unit_.functions.emplace_back();
  extra(f.id) = static_cast<std::int32_t>(index);
  if (found_.with_uses) found_.functions.push_back(&f);
  states_.emplace_back();
  FunctionState& state = states_.back();
  state.parent = &scopes_.function();
  state.self = self;
  scopes_.enter(state, false);
  const Kept declared(being_declared_, self ? self : being_declared_);
  const Kept outermost(outermost_, outermost_ ? outermost_ : &f);
  if (!outermost_->name.empty()) unit_.functions[index].part = ir::part_named(outermost_->name);
  unit_.functions[index].inner = outermost_ != &f;
  const Kept loops(lint_.loops, {});  // those around it are not its own
  const Kept sizes(sizes_, {});
  bool simple = !f.result;
  for (auto& p : f.params) {
    if (p.default_value) expr(*p.default_value);
    if (p.annot) type_annotation(*p.annot);
    declare_pattern(*p.pattern, false, true);
    simple = simple && std::holds_alternative<NamePattern>(p.pattern->node) && !p.annot && !p.default_value;
  }
  scopes_.enter(state, false);
  expr(*f.body);
  if (auto* b = std::get_if<Block>(&f.body->node))
    if (!b->body.empty() && std::holds_alternative<LetStmt>(b->body.back()->node))
      lint_.ends_in_let(f, b->body.back()->span);
  scopes_.leave();
  if (f.result) type_annotation(*f.result);
  scopes_.leave();
  unit_.functions[index].simple = simple;
  functions_.push_back({index, &state});
}

}  // namespace shard::lang
