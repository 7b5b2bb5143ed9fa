// What stands directly within a node, each part given to `see` in the order of the text: expressions (those that are
// left out are null), statements, functions, annotations. Walks that treat most kinds of nodes alike are made of it.
#pragma once
#include "grammar/ast.h"
#include "grammar/overloaded.h"

namespace shard::grammar {

template <class See>
void each_child(const decltype(Expr::node)& node, const See& see) {
  const auto values = [&](const auto& all) {
    for (const auto& x : all) see(x.value);
  };
  const auto both = [&](const ExprPtr& a, const ExprPtr& b) {
    see(a);
    see(b);
  };
  std::visit(Overloaded{
                 [&](const StringLit& x) { values(x.pieces); },
                 [&](const SpecLit& x) { values(x.args); },
                 [&](const TypeLit& x) {
                   for (const TypeDim& d : x.dims) see(d.size);
                 },
                 [&](const TupleLit& x) { values(x.elements); },
                 [&](const ListLit& x) { values(x.elements); },
                 [&](const RecordLit& x) {
                   for (const Entry& e : x.entries) both(e.key, e.value);
                 },
                 [&](const Block& x) {
                   for (const StmtPtr& s : x.body) see(*s);
                 },
                 [&](const IfExpr& x) {
                   both(x.condition, x.then);
                   see(x.otherwise);
                 },
                 [&](const UseExpr& x) { both(x.mesh, x.body); },
                 [&](const FunctionLit& x) { see(*x.function); },
                 [&](const Unary& x) { see(x.operand); },
                 [&](const Binary& x) { both(x.left, x.right); },
                 [&](const Call& x) {
                   see(x.callee);
                   values(x.args);
                 },
                 [&](const Index& x) {
                   see(x.object);
                   for (const Item& i : x.items) {
                     both(i.value, i.start);
                     both(i.stop, i.step);
                   }
                 },
                 [&](const Field& x) { see(x.object); },
                 [&](const Pipe& x) { both(x.value, x.target); },
                 [&](const Shard& x) {
                   both(x.value, x.spec);
                   see(x.mesh);
                 },
                 [](const auto&) {},
             },
             node);
}

template <class See>
void each_child(const Annot& annot, const See& see) {
  std::visit(Overloaded{
                 [&](const TypeAnnot& x) { see(x.type); },
                 [&](const SpecAnnot& x) { see(x.spec); },
                 [&](const RecordAnnot& x) {
                   for (const FieldAnnot& f : x.fields) see(f.annot);
                 },
                 [&](const auto& several) {
                   for (const AnnotPtr& a : several.elements) see(a);
                 },
             },
             annot.node);
}

template <class See>
void each_child(const Stmt& stmt, const See& see) {
  std::visit(Overloaded{
                 [&](const FnStmt& x) { see(*x.function); },
                 [&](const MeshStmt& x) {
                   for (const MeshAxis& a : x.axes) see(a.size);
                   see(x.devices);
                 },
                 [&](const UseStmt& x) { see(x.mesh); },
                 [&](const RulesStmt& x) { see(x.rules); },
                 [&](const TestStmt& x) { see(x.body); },
                 [&](const ForStmt& x) {
                   see(x.sequence);
                   see(x.body);
                 },
                 [&](const WhileStmt& x) {
                   see(x.condition);
                   see(x.body);
                 },
                 [&](const AssignStmt& x) {
                   see(x.target);
                   see(x.value);
                 },
                 [&](const LetStmt& x) { see(x.value); },
                 [&](const ReturnStmt& x) { see(x.value); },
                 [&](const ExprStmt& x) { see(x.value); },
                 [](const auto&) {},
             },
             stmt.node);
}

}  // namespace shard::grammar
