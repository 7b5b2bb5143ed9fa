// What stands directly below a node of the tree, in the order in which it is written. Whoever has something to say of
// some kinds of nodes names those, and leaves all others to these.
#pragma once
#include "grammar/children.h"

namespace shard::grammar {

// f(const Expr&) of the expressions of which `e` is made; not of a block's statements, nor of what a function is.
template <class F>
void each_child(const Expr& e, const F& f) {
  each_child(e.node, Overloaded{[&](const ExprPtr& part) {
                                  if (part) f(*part);
                                },
                                [](const auto&) {}});
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

}  // namespace shard::grammar
