// Expressions: one function a form. Operands are read in place where that is safe, so that host arithmetic copies
// nothing.
#include "interpreter/lang/check/check.h"
#include "interpreter/lang/eval/impl.h"
#include "interpreter/lang/eval/operators.h"
#include "interpreter/lang/fixes/fix.h"
#include "interpreter/lang/values/format.h"
#include "interpreter/lang/values/host_math.h"

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

}  // namespace

Value Impl::read(Slot s, const Expr& at) {
  const CellRef* cell = nullptr;
  switch (s.where) {
    case Where::Local:
      if (check && Check::is_nothing(frame->locals[s.index])) Check::unknown(at.span);
      return frame->locals[s.index];
    case Where::Builtin: return builtins[static_cast<std::size_t>(s.index)];
    case Where::Cell: cell = &frame->cells[s.index]; break;
    case Where::Captured: cell = &frame->captured[s.index]; break;
    case Where::Global: cell = &frame->module->variables[static_cast<std::size_t>(s.index)].cell; break;
    case Where::Unknown:
      if (check) Check::unknown(at.span);  // reported with the other errors of names
      fail("name", at.span, "this name has no meaning here");
  }
  const CellRef& c = *cell;
  if (!c || !c->set) {
    auto* name = std::get_if<NameRef>(&at.node);
    fail("name", at.span,
         (name ? "`" + name->name + "`" : std::string("a variable")) + " is used before its declaration",
         {"functions see the variables around them as they are at the call; a declaration that failed gives no value"});
  }
  if (check && Check::is_nothing(c->value)) Check::unknown(at.span);
  if (observer && c->serial < observer_floor) {
    CellRef keep = c;
    return observer->on_read(keep, keep->value);
  }
  return c->value;
}

const Value* Impl::peek(const Expr& e) {
  if (e.node.index() != kExpr<NameRef> || check) return nullptr;  // a check looks at every value that is read
  const Slot s = slot(e.id);
  const Cell* c = nullptr;
  switch (s.where) {
    case Where::Local: return &frame->locals[s.index];
    case Where::Builtin: return &builtins[static_cast<std::size_t>(s.index)];
    case Where::Cell: c = frame->cells[s.index].get(); break;
    case Where::Captured: c = frame->captured[s.index].get(); break;
    case Where::Global: c = frame->module->variables[static_cast<std::size_t>(s.index)].cell.get(); break;
    case Where::Unknown: return nullptr;
  }
  if (!c || !c->set || (observer && c->serial < observer_floor)) return nullptr;
  return &c->value;
}

CellRef Impl::cell_of(Slot s) const {
  switch (s.where) {
    case Where::Cell: return frame->cells[s.index];
    case Where::Captured: return frame->captured[s.index];
    case Where::Global: return frame->module->variables[static_cast<std::size_t>(s.index)].cell;
    default: return nullptr;
  }
}

Value& Impl::assignable(Slot s, Span span) {
  if (s.where == Where::Local) return frame->locals[s.index];
  CellRef c = cell_of(s);
  if (check && s.where == Where::Unknown) Check::unknown(span);
  if (!c || !c->set) fail("name", span, "a variable is assigned before its declaration");
  if (c->serial < trace_floor)
    fail("trace", span, "a function that is traced cannot assign a variable from outside",
         {"return the value instead, and assign the result of the call"});
  return c->value;
}

void Impl::declare(Slot s, Value v, bool fresh) {
  if (s.where == Where::Local) {
    frame->locals[s.index] = std::move(v);
    return;
  }
  if (s.where == Where::Unknown) return;  // while checking, after an error of names
  CellRef* c = s.where == Where::Cell ? &frame->cells[s.index]
                                      : &frame->module->variables[static_cast<std::size_t>(s.index)].cell;
  if (fresh || !*c) *c = new_cell();
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
    case kExpr<StringLit>: return eval_string(e, as<StringLit>(e));
    case kExpr<DTypeLit>: return *runtime::dtype_named(as<DTypeLit>(e).name);
    case kExpr<AxisLit>: {
      auto axis = std::make_shared<Axis>();
      for (const Word& w : as<AxisLit>(e).names) axis->names.push_back(w.text);
      return Value(std::shared_ptr<const Axis>(std::move(axis)));
    }
    case kExpr<HoleLit>: fail("form", e.span, "`_` means something only in specs, sizes and rules");
    case kExpr<OpenLit>: fail("form", e.span, "`?` means something only in specs");
    case kExpr<SpecLit>: return eval_spec(e, as<SpecLit>(e));
    case kExpr<TypeLit>: return eval_type(e, as<TypeLit>(e));
    case kExpr<TupleLit>: return eval_sequence(e, as<TupleLit>(e).elements, false);
    case kExpr<ListLit>: return eval_sequence(e, as<ListLit>(e).elements, true);
    case kExpr<RecordLit>: return eval_record(as<RecordLit>(e));
    case kExpr<Block>:
    case kExpr<IfExpr>:
    case kExpr<UseExpr>: {
      Value out;
      if (Flow flow = eval_flow(e, out); flow != Flow::Next) throw FlowSignal{flow};
      return out;
    }
    case kExpr<FunctionLit>: return eval_function(as<FunctionLit>(e).function);
    case kExpr<Unary>: return unary(as<Unary>(e).op, eval(*as<Unary>(e).operand), e.span);
    case kExpr<Binary>: {
      const Binary& b = as<Binary>(e);
      if (b.op == BinaryOp::And || b.op == BinaryOp::Or) return eval_logic(e, b);
      Value left, right;
      const Value* l = is_plain(*b.right) ? peek(*b.left) : nullptr;
      if (!l) left = eval(*b.left), l = &left;
      const Value* r = peek(*b.right);
      if (!r) right = eval(*b.right), r = &right;
      try {
        return binary(b.op, *l, *r, e.span);
      } catch (Error& error) {
        mend_binary(*this, error, e, *l, *r);
        throw;
      }
    }
    case kExpr<Call>: return eval_call(e, as<Call>(e));
    case kExpr<Index>: return eval_index(e, as<Index>(e));
    case kExpr<Field>: {
      const Field& f = as<Field>(e);
      if (const Value* object = peek(*f.object)) return field(*object, f.name.text, e.span);
      Value out = field(eval(*f.object), f.name.text, e.span);
      if (check && Check::is_nothing(out)) Check::unknown(e.span);  // of a module
      return out;
    }
    case kExpr<Pipe>: return eval_pipe(e, as<Pipe>(e));
    case kExpr<grammar::Shard>: return eval_shard(e, as<grammar::Shard>(e));
  }
  fail("internal", e.span, "an expression that the evaluator does not know");
}

Flow Impl::eval_flow(const Expr& e, Value& out) {
  switch (e.node.index()) {
    case kExpr<Block>: return exec_block(e, as<Block>(e), &out);
    case kExpr<IfExpr>: return eval_if(e, as<IfExpr>(e), out);
    case kExpr<UseExpr>: return eval_use(as<UseExpr>(e), out);
    default: out = eval(e); return Flow::Next;
  }
}

Flow Impl::eval_if(const Expr& e, const IfExpr& x, Value& out) {
  if (check) return check->branch(*this, e, x, out);
  Value scratch;
  const Value* c = peek(*x.condition);
  if (!c) scratch = eval(*x.condition), c = &scratch;
  switch (condition(*c, x.condition->span)) {
    case Truth::True: return eval_flow(*x.then, out);
    case Truth::False:
      if (x.otherwise) return eval_flow(*x.otherwise, out);
      out = {};
      return Flow::Next;
    case Truth::Traced:
    case Truth::Unknown: break;
  }
  const Tensor t = c->tensor();
  out = traced_if(e, x, t);
  return Flow::Next;
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
    if (check && !t->array()->buffer) return Truth::Unknown;
    runtime::ArrayRef host = at(span, [&] { return runtime::to_host(ctx.pool(), ctx.concrete(*t, "a condition")); });
    return runtime::element_int(*host, 0) ? Truth::True : Truth::False;
  }
  fail("condition", span, "a condition takes a bool, and this is " + kind_name(v),
       {"numbers, lists and none have no truth: compare with something, such as `x != 0` or `len(xs) > 0`"});
}

Value Impl::eval_logic(const Expr& e, const Binary& b) {
  const bool is_and = b.op == BinaryOp::And;
  Value left = eval(*b.left);
  const Truth l = condition(left, b.left->span);
  if (l == Truth::Unknown) {  // the right one may never be asked
    condition(eval(*b.right), b.right->span);
    return left;
  }
  if (l != Truth::Traced) {
    if ((l == Truth::True) != is_and) return l == Truth::True;
    Value right = eval(*b.right);
    switch (condition(right, b.right->span)) {
      case Truth::True: return true;
      case Truth::False: return false;
      case Truth::Traced:
      case Truth::Unknown: return right;
    }
  }
  Value right = eval(*b.right);
  switch (condition(right, b.right->span)) {
    case Truth::True: return is_and ? left : Value(true);
    case Truth::False: return is_and ? Value(false) : left;
    case Truth::Traced:
    case Truth::Unknown: break;
  }
  return at(e.span, [&] { return Value(ctx.apply1(ctx.table().at(row_of(b.op)), {left.tensor(), right.tensor()})); });
}

Value Impl::eval_string(const Expr&, const StringLit& s) {
  if (s.pieces.size() == 1 && !s.pieces[0].value) return Value::string(s.pieces[0].text);
  std::string text;
  std::shared_ptr<DeferredString> deferred;
  for (const StringPiece& p : s.pieces) {
    if (!p.value) {
      (deferred ? deferred->texts.back() : text) += p.text;
      continue;
    }
    Value v = eval(*p.value);
    if (!deferred && at(p.value->span, [&] { return has_traced(v); })) {
      deferred = std::make_shared<DeferredString>();
      deferred->texts.push_back(std::move(text));
    }
    at(p.value->span, [&] {
      if (deferred)
        append_shown(*deferred, v, p.format, ctx.pool());
      else
        text += p.format.empty() ? lang::show(v, ctx.pool()) : format_value(v, p.format, ctx.pool());
    });
  }
  if (deferred) return Value(std::shared_ptr<const DeferredString>(std::move(deferred)));
  return Value::string(std::move(text));
}

Value Impl::eval_sequence(const Expr&, const std::vector<Element>& elements, bool list) {
  std::vector<Value> items;
  items.reserve(elements.size());
  for (const Element& x : elements) {
    Value v = eval(*x.value);
    if (!x.spread) {
      items.push_back(std::move(v));
      continue;
    }
    if (auto* inner = v.items()) {
      items.insert(items.end(), inner->begin(), inner->end());
    } else if (auto* r = v.get<Range>()) {
      if (r->end - r->begin > (std::int64_t{1} << 26))
        fail("size", x.value->span, "a range of " + std::to_string(r->end - r->begin) + " is too long to spread");
      for (std::int64_t i = r->begin; i < r->end; ++i) items.emplace_back(i);
    } else {
      fail("type", x.value->span, "`...` spreads lists, tuples and ranges, and this is " + kind_name(v),
           v.is_tensor() ? std::vector<std::string>{"a list of an array's rows is `map(fn(v) = v, x)`"}
                         : std::vector<std::string>{});
    }
  }
  return list ? Value::list(std::move(items)) : Value::tuple(std::move(items));
}

Value Impl::eval_record(const RecordLit& r) {
  std::vector<std::pair<std::string, Value>> fields;
  fields.reserve(r.entries.size());
  auto set = [&](const std::string& name, Value v) {
    for (auto& f : fields)
      if (f.first == name) {
        f.second = std::move(v);
        return;
      }
    fields.emplace_back(name, std::move(v));
  };
  for (const Entry& x : r.entries) {
    if (x.name) {
      // `_` in a record of rules: the name is laid out nowhere.
      set(x.name->text, std::holds_alternative<HoleLit>(x.value->node) ? Value() : eval(*x.value));
      continue;
    }
    Value v = eval(*x.value);
    const Record* inner = v.fields();
    if (!inner) fail("type", x.value->span, "`...` in a record spreads a record, and this is " + kind_name(v));
    for (const auto& [name, value] : inner->fields) set(name, value);
  }
  return Value::record(std::move(fields));
}

}  // namespace shard::lang
