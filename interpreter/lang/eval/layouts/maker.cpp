#include "interpreter/lang/eval/layouts/maker.h"

#include <algorithm>

#include "interpreter/lang/eval/impl.h"

namespace shard::lang {

using namespace grammar;
using Impl = Interpreter::Impl;

namespace {

// A row, or a function of the library that does nothing but give its value.
bool pure(const Value& f) {
  if (f.is<const ir::OpDef*>()) return true;
  const auto* native = f.get<std::shared_ptr<const Native>>();
  return native && !(*native)->acts;
}

// What a maker takes: literals, names and elements of what is no array or one of a single element, and what is made of
// them.
bool small(Impl& m, const Expr& e) {
  if (const auto* list = std::get_if<ListLit>(&e.node))
    return std::all_of(list->elements.begin(), list->elements.end(),
                       [&](const Element& x) { return small(m, *x.value); });
  if (const auto* call = std::get_if<Call>(&e.node)) {
    const auto* name = std::get_if<NameRef>(&call->callee->node);
    return name && pure(m.eval(*call->callee)) &&
           std::all_of(call->args.begin(), call->args.end(), [&](const Arg& a) { return small(m, *a.value); });
  }
  if (const auto* part = std::get_if<Index>(&e.node)) {
    const bool plain = std::holds_alternative<NameRef>(part->object->node) &&
                       std::all_of(part->items.begin(), part->items.end(),
                                   [&](const Item& i) { return !i.slice && i.value && small(m, *i.value); });
    if (!plain) return false;
  }
  if (std::holds_alternative<NameRef>(e.node) || std::holds_alternative<Index>(e.node)) {
    const Value v = m.eval(e);
    const auto* t = v.get<trace::Tensor>();
    return t ? runtime::numel(t->type().shape) == 1 : !v.items() && !v.fields() && !v.callable();
  }
  return std::holds_alternative<IntLit>(e.node) || std::holds_alternative<FloatLit>(e.node) ||
         std::holds_alternative<BoolLit>(e.node) || std::holds_alternative<DTypeLit>(e.node);
}

bool calls(const Expr& e) {
  if (const auto* two = std::get_if<Binary>(&e.node)) return calls(*two->left) || calls(*two->right);
  if (const auto* one = std::get_if<Unary>(&e.node)) return calls(*one->operand);
  return std::holds_alternative<Call>(e.node);
}

// Elementwise operators of makers: the order of their numbers hangs on no layout.
bool made(Impl& m, const Expr& e) {
  if (const auto* two = std::get_if<Binary>(&e.node)) {
    const bool arithmetic =
        two->op == BinaryOp::Add || two->op == BinaryOp::Sub || two->op == BinaryOp::Mul || two->op == BinaryOp::Div;
    return arithmetic && made(m, *two->left) && made(m, *two->right);
  }
  if (const auto* one = std::get_if<Unary>(&e.node)) return made(m, *one->operand);
  return small(m, e);
}

}  // namespace

bool makes_array(Impl& m, const Expr& e) { return calls(e) && made(m, e); }

}  // namespace shard::lang
