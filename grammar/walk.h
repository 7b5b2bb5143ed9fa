// What stands directly below a node of the tree, in the order in which it is written. Whoever has something to say of
// some kinds of nodes names those, and leaves all others to these.
#pragma once
#include <type_traits>

#include "grammar/ast.h"
#include "grammar/overloaded.h"

namespace shard::grammar {

// f of each part that is there, where f takes such.
template <class F, class... Parts>
void see_those(const F& f, const Parts&... parts) {
  const auto one = [&](const auto& p) {
    if constexpr (std::is_invocable_v<const F&, decltype(*p)>)
      if (p) f(*p);
  };
  (one(parts), ...);
}

// f(const Expr&) of the expressions of which `e` is made; also of a block's statements and of a function where f takes
// such.
template <class F>
void each_child(const Expr& e, const F& f) {
  const auto see = [&](const auto&... parts) { see_those(f, parts...); };
  const auto values = [&](const auto& parts) {
    for (const auto& x : parts) see(x.value);
  };
  std::visit(Overloaded{[&](const StringLit& x) { values(x.pieces); }, [&](const SpecLit& x) { values(x.args); },
                        [&](const TypeLit& x) {
                          for (const TypeDim& d : x.dims) see(d.size);
                        },
                        [&](const TupleLit& x) { values(x.elements); }, [&](const ListLit& x) { values(x.elements); },
                        [&](const RecordLit& x) {
                          for (const Entry& i : x.entries) see(i.key, i.value);
                        },
                        [&](const Block& x) {
                          for (const StmtPtr& s : x.body) see(s);
                        },
                        [&](const IfExpr& x) { see(x.condition, x.then, x.otherwise); },
                        [&](const UseExpr& x) { see(x.mesh, x.body); }, [&](const FunctionLit& x) { see(x.function); },
                        [&](const Unary& x) { see(x.operand); }, [&](const Binary& x) { see(x.left, x.right); },
                        [&](const Call& x) {
                          see(x.callee);
                          values(x.args);
                        },
                        [&](const Index& x) {
                          see(x.object);
                          for (const Item& i : x.items) see(i.value, i.start, i.stop, i.step);
                        },
                        [&](const Field& x) { see(x.object); }, [&](const Pipe& x) { see(x.value, x.target); },
                        [&](const Shard& x) { see(x.value, x.spec, x.mesh); }, [](const auto&) {}},
             e.node);
}

// The same of a statement: its expressions, and the function that it declares.
template <class F>
void each_child(const Stmt& s, const F& f) {
  const auto see = [&](const auto&... parts) { see_those(f, parts...); };
  std::visit(
      Overloaded{[&](const LetStmt& x) { see(x.value); }, [&](const FnStmt& x) { see(x.function); },
                 [&](const MeshStmt& x) {
                   for (const MeshAxis& a : x.axes) see(a.size);
                   see(x.devices);
                 },
                 [&](const UseStmt& x) { see(x.mesh); }, [&](const RulesStmt& x) { see(x.rules); },
                 [&](const TestStmt& x) { see(x.body); }, [&](const ForStmt& x) { see(x.sequence, x.body); },
                 [&](const WhileStmt& x) { see(x.condition, x.body); },
                 [&](const AssignStmt& x) { see(x.target, x.value); }, [&](const ReturnStmt& x) { see(x.value); },
                 [&](const ExprStmt& x) { see(x.value); }, [](const auto&) {}},
      s.node);
}

// The elements of a list or a tuple as it is written; null where it is neither.
inline const std::vector<Element>* elements_of(const Expr& e) {
  if (auto* l = std::get_if<ListLit>(&e.node)) return &l->elements;
  auto* t = std::get_if<TupleLit>(&e.node);
  return t ? &t->elements : nullptr;
}

// f(const Pattern&, const NamePattern&) of every name that the pattern binds.
template <class F>
void each_name(const Pattern& p, const F& f) {
  if (auto* n = std::get_if<NamePattern>(&p.node)) f(p, *n);
  if (auto* t = std::get_if<TuplePattern>(&p.node))
    for (const PatternPtr& e : t->elements) each_name(*e, f);
  if (auto* l = std::get_if<ListPattern>(&p.node))
    for (const PatternPtr& e : l->elements) each_name(*e, f);
  if (auto* r = std::get_if<RecordPattern>(&p.node))
    for (const FieldPattern& x : r->fields) each_name(*x.target, f);
}

// f(const std::string& name, Span) of every variable that the statement declares, a function's among them.
template <class F>
void each_declared(const Stmt& s, const F& f) {
  if (auto* l = std::get_if<LetStmt>(&s.node))
    each_name(*l->pattern, [&](const Pattern& p, const NamePattern& n) { f(n.name, p.span); });
  else if (auto* fn = std::get_if<FnStmt>(&s.node))
    f(fn->function->name, fn->function->name_span);
  else if (auto* m = std::get_if<MeshStmt>(&s.node))
    f(m->name.text, m->name.span);
  else if (auto* i = std::get_if<ImportStmt>(&s.node))
    f(i->name.text, i->name.span);
}

// f(const Annot&) of every annotation in the tree `a` that is no tree itself: a type or a spec.
template <class F>
void each_leaf(const Annot& a, const F& f) {
  if (auto* t = std::get_if<TupleAnnot>(&a.node))
    for (const AnnotPtr& e : t->elements) each_leaf(*e, f);
  else if (auto* l = std::get_if<ListAnnot>(&a.node))
    for (const AnnotPtr& e : l->elements) each_leaf(*e, f);
  else if (auto* r = std::get_if<RecordAnnot>(&a.node))
    for (const FieldAnnot& x : r->fields) each_leaf(*x.annot, f);
  else
    f(a);
}
inline const Expr& written_in(const Annot& leaf) {
  auto* t = std::get_if<TypeAnnot>(&leaf.node);
  return t ? *t->type : *std::get<SpecAnnot>(leaf.node).spec;
}

}  // namespace shard::grammar
