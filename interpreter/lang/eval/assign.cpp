// Patterns, and assignments to variables, elements and fields. Values never change in place as far as a script can see:
// what is assigned to is made its holder's own first (copied only where somebody else holds it too), then changed.
#include "interpreter/lang/eval/forms.h"
#include "interpreter/lang/eval/impl.h"
#include "interpreter/lang/eval/index/index.h"
#include "interpreter/lang/eval/index/items.h"
#include "interpreter/lang/eval/operators.h"
#include "interpreter/lang/report/lists.h"
#include "interpreter/lang/values/unknown.h"

namespace shard::lang {

using namespace grammar;
using trace::Tensor;
using Impl = Interpreter::Impl;

std::vector<Value>& own_items(Value& v) {
  if (auto* l = v.get<std::shared_ptr<List>>()) {
    if (l->use_count() != 1) *l = std::make_shared<List>(**l);
    return (*l)->items;
  }
  auto* t = v.get<std::shared_ptr<Tuple>>();
  if (t->use_count() != 1) *t = std::make_shared<Tuple>(**t);
  return (*t)->items;
}

Record& own_fields(Value& v) {
  auto* r = v.get<std::shared_ptr<Record>>();
  if (r->use_count() != 1) *r = std::make_shared<Record>(**r);
  return **r;
}

namespace {

std::string counted(std::size_t n, const std::string& what) {
  return std::to_string(n) + " " + what + (n == 1 ? "" : "s");
}

// The parts of a value that a tuple or list of `n` names takes.
std::vector<Value> parts_of(Impl& m, const Value& v, std::size_t n, Span span) {
  if (auto* items = v.items()) {
    if (items->size() != n)
      m.fail("pattern", span,
             "the pattern takes " + counted(n, "value") + " and this " +
                 (v.is<std::shared_ptr<List>>() ? "list" : "tuple") + " has " + std::to_string(items->size()));
    return *items;
  }
  if (auto* t = v.get<Tensor>(); t && !t->type().shape.empty()) {
    const std::int64_t rows = t->type().shape[0];
    if (rows != static_cast<std::int64_t>(n))
      m.fail("pattern", span,
             "the pattern takes " + counted(n, "value") + " and " + kind_name(v) + " has " + std::to_string(rows) +
                 " rows");
    std::vector<Value> out;
    for (std::int64_t i = 0; i < rows; ++i) out.push_back(row(m.in, *t, i, span));
    return out;
  }
  m.fail("pattern", span, "the pattern takes " + counted(n, "value") + ", and this is " + kind_name(v));
}

struct Step {  // one `.field` or `[items]` on the way to what is assigned
  const std::string* field = nullptr;
  std::vector<IndexItem> items;
  Span span;
};

class Assignment {
 public:
  Assignment(Impl& m, AssignOp op, Value v, Span span) : m_(m), op_(op), value_(std::move(v)), span_(span) {}

  void to(Value& at, std::span<const Step> path) {
    if (path.empty()) {
      combine(at);
      return;
    }
    const Step& s = path[0];
    if (s.field) {
      field(at, *s.field, s.span, path.subspan(1));
    } else if (at.is_tensor()) {
      array(at, s, path.subspan(1));
    } else if (at.fields() && s.items.size() == 1 && s.items[0].value.is_string()) {
      field(at, s.items[0].value.str(), s.span, path.subspan(1));
    } else if (at.items()) {
      if (s.items.size() != 1 || s.items[0].slice || s.items[0].ellipsis)
        m_.fail("type", s.span, "an element of a list is assigned by one integer index");
      const std::size_t i = list_position(m_, at, s.items[0].value, s.span);
      to(own_items(at)[i], path.subspan(1));
    } else {
      m_.fail("type", s.span, "an element of " + kind_name(at) + " cannot be assigned");
    }
  }

 private:
  void combine(Value& at) {
    if (op_ == AssignOp::Set) {
      at = std::move(value_);
      return;
    }
    at = m_.binary(operator_of(op_), at, value_, span_);
  }
  void field(Value& at, const std::string& name, Span span, std::span<const Step> rest) {
    if (!at.fields()) m_.fail("type", span, kind_name(at) + " has no field that could be assigned");
    Record& r = own_fields(at);
    for (auto& f : r.fields)
      if (f.first == name) return to(f.second, rest);
    std::vector<std::string> names;
    for (auto& f : r.fields) names.push_back(f.first);
    m_.fail("field", span, "the record has no field `" + name + "`",
            {"its fields: " + joined(names), "a record with one more field: {...r, " + name + ": value}"});
  }
  void array(Value& at, const Step& s, std::span<const Step> rest) {
    Tensor x = at.tensor();
    if (rest.empty() && op_ != AssignOp::Div) {
      Value v = op_ == AssignOp::Sub ? m_.unary(UnaryOp::Neg, value_, span_) : value_;
      const std::string_view how = scatter_of(op_);
      at = Value();  // held by x alone, so that it may be changed in place
      try {
        at = m_.at(span_, [&] { return Value(update_array(m_.in, x, s.items, how, m_.in.tensor(v, span_), span_)); });
      } catch (...) {
        at = Value(std::move(x));
        throw;
      }
      return;
    }
    Value part = m_.at(s.span, [&] { return Value(index_array(m_.in, x, s.items, s.span)); });
    to(part, rest);
    at = m_.at(span_, [&] { return Value(update_array(m_.in, x, s.items, "set", m_.in.tensor(part, span_), span_)); });
  }

  Impl& m_;
  AssignOp op_;
  Value value_;
  Span span_;
};

}  // namespace

void Impl::bind(const Pattern& p, Value v, bool fresh) {
  if (std::holds_alternative<NamePattern>(p.node)) {
    declare(slot(p.id), std::move(v), fresh);
    return;
  }
  if (auto* r = std::get_if<RecordPattern>(&p.node)) {
    const Record* fields = v.fields();
    if (!fields) fail("pattern", p.span, "the pattern takes fields of a record, and this is " + kind_name(v));
    for (const FieldPattern& f : r->fields) {
      const Value* found = fields->find(f.name.text);
      if (!found) {
        std::vector<std::string> names;
        for (auto& x : fields->fields) names.push_back(x.first);
        fail("field", f.name.span, "the record has no field `" + f.name.text + "`", {"its fields: " + joined(names)});
      }
      bind(*f.target, *found, fresh);
    }
    return;
  }
  auto* t = std::get_if<TuplePattern>(&p.node);
  const auto& elements = t ? t->elements : std::get<ListPattern>(p.node).elements;
  std::vector<Value> parts = parts_of(*this, v, elements.size(), p.span);
  v = Value();
  for (std::size_t i = 0; i < elements.size(); ++i) bind(*elements[i], std::move(parts[i]), fresh);
}

Flow exec_assign(Impl& m, const AssignStmt& s) {
  Value v;
  if (Flow flow = m.eval_flow(*s.value, v); flow != Flow::Next) return flow;
  const bool laid_out = v.is_tensor() && v.tensor().valid() && v.tensor().type().mesh;
  const Value kept =
      laid_out || std::holds_alternative<Index>(s.target->node) ? v : Value();  // for the fixes of an error
  try {
    m.assign(*s.target, s.op, std::move(v));
  } catch (Error& error) {
    if (m.fixer) m.fixer->assign(error, s, kept);
    throw;
  }
  return Flow::Next;
}

void Impl::assign(const Expr& target, AssignOp op, Value v) {
  if (std::holds_alternative<NameRef>(target.node)) {
    Value& at = assignable(slot(target.id), target.span);
    if (op == AssignOp::Set) {
      at = std::move(v);
      return;
    }
    if (auto* i = at.get<std::int64_t>(), *j = v.get<std::int64_t>(); i && j && op != AssignOp::Div) {
      std::int64_t out = 0;
      const bool bad = op == AssignOp::Add   ? __builtin_add_overflow(*i, *j, &out)
                       : op == AssignOp::Sub ? __builtin_sub_overflow(*i, *j, &out)
                                             : __builtin_mul_overflow(*i, *j, &out);
      if (!bad) {
        *i = out;
        return;
      }
    }
    if (checker && is_nothing(at)) only_in_a_run(target.span);
    at = binary(operator_of(op), at, v, target.span);
    return;
  }
  auto* tuple = std::get_if<TupleLit>(&target.node);
  auto* list = std::get_if<ListLit>(&target.node);
  if (tuple || list) {
    const auto& elements = tuple ? tuple->elements : list->elements;
    if (op != AssignOp::Set) fail("form", target.span, "several variables are assigned by `=` only");
    std::vector<Value> parts = parts_of(*this, v, elements.size(), target.span);
    v = Value();
    for (std::size_t i = 0; i < elements.size(); ++i)
      if (!std::holds_alternative<HoleLit>(elements[i].value->node))
        assign(*elements[i].value, op, std::move(parts[i]));
    return;
  }
  std::vector<Step> path;
  const Expr* root = &target;
  while (true) {
    Step s;
    s.span = root->span;
    if (auto* f = std::get_if<Field>(&root->node)) {
      s.field = &f->name.text;
      root = f->object.get();
    } else if (auto* x = std::get_if<Index>(&root->node)) {
      s.items = eval_items(*this, *x);
      root = x->object.get();
    } else {
      break;
    }
    path.insert(path.begin(), std::move(s));
  }
  if (!std::holds_alternative<NameRef>(root->node))
    fail("form", target.span, "only elements and fields of a variable can be assigned");
  Value& at = assignable(slot(root->id), target.span);
  if (checker && is_nothing(at)) only_in_a_run(target.span);
  Assignment(*this, op, std::move(v), target.span).to(at, path);
}

}  // namespace shard::lang
