// The walk over expressions, and the variables that they read and declare. Operands are read in place where that is
// safe, so that host arithmetic copies nothing.
#include "interpreter/lang/eval/impl.h"
#include "interpreter/lang/eval/layouts/spec.h"
#include "interpreter/lang/eval/operators.h"
#include "interpreter/lang/values/unknown.h"

namespace shard::lang {

using namespace grammar;
using trace::Tensor;
using Impl = Interpreter::Impl;

namespace {

template <class T, class V>
struct index_in;
template <class T, class... U>
struct index_in<T, std::variant<U...>> {
  static constexpr std::size_t value = [] {
    std::size_t i = 0, found = sizeof...(U);
    ((std::is_same_v<T, U> ? (found = i, ++i) : ++i), ...);
    return found;
  }();
};
template <class T>
inline constexpr std::size_t kExpr = index_in<T, decltype(Expr::node)>::value;
template <class T>
const T& as(const Expr& e) {
  return *std::get_if<T>(&e.node);
}

// Nothing that evaluating `e` does can change a variable.
bool is_plain(const Expr& e) {
  const std::size_t k = e.node.index();
  return k == kExpr<NameRef> || k == kExpr<IntLit> || k == kExpr<FloatLit> || k == kExpr<BoolLit> ||
         k == kExpr<NoneLit>;
}

Flow eval_if(Impl& m, const Expr& e, const IfExpr& x, Value& out) {
  if (m.checker) return m.checker->branch(e, x, out);
  Value scratch;
  const Value* c = m.peek(*x.condition);
  if (!c) scratch = m.eval(*x.condition), c = &scratch;
  switch (m.condition(*c, x.condition->span)) {
    case Truth::True: return m.eval_flow(*x.then, out);
    case Truth::False:
      if (x.otherwise) return m.eval_flow(*x.otherwise, out);
      out = {};
      return Flow::Next;
    case Truth::Traced:
    case Truth::Unknown: break;
  }
  const Tensor t = c->tensor();
  out = traced_if(m, e, x, t);
  return Flow::Next;
}

}  // namespace

Value logic_of(Impl& m, const Expr& e, const Binary& b, Value left) {
  const bool is_and = b.op == BinaryOp::And;
  const Truth l = m.condition(left, b.left->span);
  if (l == Truth::Unknown) {  // the right one may never be asked
    m.condition(m.eval(*b.right), b.right->span);
    return left;
  }
  if (l != Truth::Traced) {
    if ((l == Truth::True) != is_and) return l == Truth::True;
    Value right = m.eval(*b.right);
    switch (m.condition(right, b.right->span)) {
      case Truth::True: return true;
      case Truth::False: return false;
      case Truth::Traced:
      case Truth::Unknown: return right;
    }
  }
  Value right = m.eval(*b.right);
  switch (m.condition(right, b.right->span)) {
    case Truth::True: return is_and ? left : Value(true);
    case Truth::False: return is_and ? Value(false) : left;
    case Truth::Traced:
    case Truth::Unknown: break;
  }
  return m.at(e.span, [&] {
    return Value(m.ctx.apply1(m.ctx.table().at(row_of(b.op)), {left.tensor(), right.tensor()}));
  });
}

Value binary_of(Impl& m, const Expr& e, const Binary& b, const Value& l, const Value& r) {
  try {
    return m.binary(b.op, l, r, e.span);
  } catch (Error& error) {
    if (m.fixer) m.fixer->binary(error, e, l, r);
    throw;
  }
}

Value Impl::read(Slot s, const Expr& at) {
  if (s.where == Where::Local) {
    if (checker && is_nothing(frame().locals[s.index])) only_in_a_run(at.span);
    return frame().locals[s.index];
  }
  if (s.where == Where::Builtin) return builtins[s.index];
  const CellRef* cell = cell_at(s);
  if (!cell && checker) only_in_a_run(at.span);  // reported with the other errors of names
  if (!cell) fail("name", at.span, "this name has no meaning here");
  const CellRef& c = *cell;
  if (!c || !c->set) {
    auto* name = std::get_if<NameRef>(&at.node);
    fail("name", at.span,
         (name ? "`" + name->name + "`" : std::string("a variable")) + " is used before its declaration",
         {"functions see the variables around them as they are at the call; a declaration that failed gives no value"});
  }
  if (checker && is_nothing(c->value)) only_in_a_run(at.span);
  if (cells.observed(*c)) {
    CellRef keep = c;
    return cells.observer->on_read(keep, keep->value);
  }
  return c->value;
}

const Value* Impl::peek(const Expr& e) {
  if (e.node.index() != kExpr<NameRef> || checker) return nullptr;  // a check looks at every value that is read
  const Slot s = slot(e.id);
  if (s.where == Where::Local) return &frame().locals[s.index];
  if (s.where == Where::Builtin) return &builtins[s.index];
  const CellRef* c = cell_at(s);
  return c && *c && (*c)->set && !cells.observed(**c) ? &(*c)->value : nullptr;
}

Value* Impl::place_of(Slot s) const {
  if (s.where == Where::Local) return &frame().locals[s.index];
  const CellRef* c = cell_at(s);
  return c && *c && (*c)->set ? &(*c)->value : nullptr;
}

CellRef Impl::cell_of(Slot s) const {
  const CellRef* c = cell_at(s);
  return c ? *c : nullptr;
}

Value& Impl::assignable(Slot s, Span span) {
  if (s.where == Where::Local) return frame().locals[s.index];
  ++watch.effects;
  const CellRef* c = cell_at(s);
  if (checker && s.where == Where::Unknown) only_in_a_run(span);
  if (!c || !*c || !(*c)->set) fail("name", span, "a variable is assigned before its declaration");
  if ((*c)->serial < cells.trace_floor)
    fail("trace", span, "a function that is traced cannot assign a variable from outside",
         {"return the value instead, and assign the result of the call"});
  return (*c)->value;
}

void Impl::declare(Slot s, Value v, bool fresh) {
  if (s.where == Where::Local) {
    frame().locals[s.index] = std::move(v);
    return;
  }
  if (s.where == Where::Unknown) return;  // while checking, after an error of names
  CellRef* c =
      s.where == Where::Cell ? &frame().cells[s.index] : &frame().module->cells[static_cast<std::size_t>(s.index)];
  if (fresh || !*c) *c = cells.make();
  (*c)->value = std::move(v);
  (*c)->set = true;
}

Value Impl::eval(const Expr& e) {
  switch (e.node.index()) {
    case kExpr<IntLit>: return as<IntLit>(e).value;
    case kExpr<FloatLit>: return as<FloatLit>(e).value;
    case kExpr<BoolLit>: return as<BoolLit>(e).value;
    case kExpr<NoneLit>: return {};
    case kExpr<NameRef>: return read(slot(e.id), e);
    case kExpr<StringLit>: return eval_string(*this, as<StringLit>(e));
    case kExpr<DTypeLit>: return *runtime::dtype_named(as<DTypeLit>(e).name);
    case kExpr<AxisLit>: return Value(std::make_shared<const Axis>(Axis{texts_of(as<AxisLit>(e).names)}));
    case kExpr<HoleLit>:
      if (modules.lasting && modules.main == modules.lasting)
        if (auto last = in.global("_")) return *last;  // of a REPL: the last value
      fail("form", e.span, "`_` means something only in specs, sizes and rules");
    case kExpr<OpenLit>: fail("form", e.span, "`?` means something only in specs");
    case kExpr<SpecLit>: return eval_spec(*this, as<SpecLit>(e));
    case kExpr<TypeLit>: return eval_type(*this, e, as<TypeLit>(e));
    case kExpr<TupleLit>: return eval_sequence(*this, as<TupleLit>(e).elements, false);
    case kExpr<ListLit>: return eval_sequence(*this, as<ListLit>(e).elements, true);
    case kExpr<RecordLit>: return eval_record(*this, as<RecordLit>(e));
    case kExpr<Block>:
    case kExpr<IfExpr>:
    case kExpr<UseExpr>: {
      Value out;
      if (Flow flow = eval_flow(e, out); flow != Flow::Next) throw FlowSignal{flow};
      return out;
    }
    case kExpr<FunctionLit>: return eval_function(*this, as<FunctionLit>(e).function);
    case kExpr<Unary>: return unary(as<Unary>(e).op, eval(*as<Unary>(e).operand), e.span);
    case kExpr<Binary>: {
      const Binary& b = as<Binary>(e);
      if (b.op == BinaryOp::And || b.op == BinaryOp::Or) return logic_of(*this, e, b, eval(*b.left));
      Value left, right;
      const Value* l = is_plain(*b.right) ? peek(*b.left) : nullptr;
      if (!l) left = eval(*b.left), l = &left;
      const Value* r = peek(*b.right);
      if (!r) right = eval(*b.right), r = &right;
      return binary_of(*this, e, b, *l, *r);
    }
    case kExpr<Call>: return eval_call(*this, e, as<Call>(e));
    case kExpr<Index>: return eval_index(*this, e, as<Index>(e));
    case kExpr<Field>: {
      const Field& f = as<Field>(e);
      if (const Value* object = peek(*f.object)) return field(*object, f.name.text, e.span);
      Value out = field(eval(*f.object), f.name.text, e.span);
      if (checker && is_nothing(out)) only_in_a_run(e.span);  // of a module
      return out;
    }
    case kExpr<Pipe>: return eval_pipe(*this, e, as<Pipe>(e));
    case kExpr<grammar::Shard>: return eval_shard(*this, e, as<grammar::Shard>(e));
  }
  fail("internal", e.span, "an expression that the evaluator does not know");
}

Flow Impl::eval_flow(const Expr& e, Value& out) {
  switch (e.node.index()) {
    case kExpr<Block>: return exec_block(*this, e, as<Block>(e), &out);
    case kExpr<IfExpr>: return eval_if(*this, e, as<IfExpr>(e), out);
    case kExpr<UseExpr>: return eval_use(*this, as<UseExpr>(e), out);
    default: out = eval(e); return Flow::Next;
  }
}

Truth Impl::condition(const Value& v, Span span) {
  if (auto* b = v.get<bool>()) return *b ? Truth::True : Truth::False;
  if (auto* t = v.get<Tensor>()) {
    const runtime::Type& type = t->type();
    if (type.dtype != runtime::DType::Bool || !type.shape.empty())
      fail("condition", span, "a condition takes one truth value, and this is " + runtime::to_string(type),
           {type.dtype == runtime::DType::Bool ? "reduce it with any() or all(), or use `where` and the operators & | ~"
                                               : "compare it with something"});
    if (t->traced()) {
      if (!t->known()) return Truth::Traced;
      return std::get<bool>(at(span, [&] { return ctx.need(*t); })) ? Truth::True : Truth::False;
    }
    if (checker && !t->array()->has_elements()) return Truth::Unknown;
    runtime::ArrayRef host = at(span, [&] { return runtime::to_host(ctx.pool(), ctx.concrete(*t, "a condition")); });
    return runtime::element_int(*host, 0) ? Truth::True : Truth::False;
  }
  fail("condition", span, "a condition takes a bool, and this is " + kind_name(v),
       {"numbers, lists and none have no truth: compare with something, such as `x != 0` or `len(xs) > 0`"});
}

}  // namespace shard::lang
