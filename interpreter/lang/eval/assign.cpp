// Patterns, and assignments to variables, elements and fields. Values never change in place as far as a script can see:
// what is assigned to is made its holder's own first (copied only where somebody else holds it too), then changed.
#include <algorithm>

#include "grammar/walk.h"
#include "interpreter/lang/eval/impl.h"
#include "interpreter/lang/eval/index/index.h"
#include "interpreter/lang/eval/operators.h"
#include "interpreter/lang/report/report.h"
#include "interpreter/lang/values/unknown.h"

namespace shard::lang {

using namespace grammar;
using trace::Tensor;
using Impl = Interpreter::Impl;

namespace {

std::string counted(std::size_t n, const std::string& what) {
  return std::to_string(n) + " " + what + (n == 1 ? "" : "s");
}

// What a tuple or list of `n` names takes: all parts of a value, or with `rest` the others' parts and, at that place,
// what they leave, in a tuple, list or array as they were.
struct Taken {
  std::size_t n;
  std::optional<std::size_t> rest;

  std::string text() const { return counted(rest ? n - 1 : n, "value") + (rest ? " or more" : ""); }
  bool fits(std::size_t size) const { return rest ? size + 1 >= n : size == n; }
};

std::vector<Value> parts_of(Impl& m, const Value& v, const Taken& taken, Span span) {
  const auto refuse = [&](const std::string& what) {
    m.fail("pattern", span, "the pattern takes " + taken.text() + what);
  };
  const auto* items = v.items();
  const auto* t = v.get<Tensor>();
  if (!items && (!t || t->type().shape.empty())) refuse(", and this is " + kind_name(v));
  const bool list = v.is<std::shared_ptr<List>>();
  const std::size_t size = items ? items->size() : static_cast<std::size_t>(t->type().shape[0]);
  if (!taken.fits(size))
    refuse(items ? std::string(" and this ") + (list ? "list" : "tuple") + " has " + std::to_string(size)
                 : " and " + kind_name(v) + " has " + std::to_string(size) + " rows");
  if (items && !taken.rest) return *items;
  const auto part = [&](std::size_t i) {
    return items ? (*items)[i] : row(m.in, *t, static_cast<std::int64_t>(i), span);
  };
  const std::size_t left = size + 1 - taken.n;  // for the rest
  std::vector<Value> out;
  for (std::size_t i = 0; i < taken.n; ++i) {
    if (i != taken.rest) {
      out.push_back(part(taken.rest && i > *taken.rest ? i + left - 1 : i));
    } else if (!items) {
      IndexItem slice;
      slice.slice = true, slice.span = span;
      slice.start = Value(static_cast<std::int64_t>(i)), slice.stop = Value(static_cast<std::int64_t>(i + left));
      out.emplace_back(index_array(m.in, *t, {slice}, span));
    } else {
      const auto from = items->begin() + static_cast<std::ptrdiff_t>(i);
      std::vector<Value> rest(from, from + static_cast<std::ptrdiff_t>(left));
      out.push_back(list ? Value::list(std::move(rest)) : Value::tuple(std::move(rest)));
    }
  }
  return out;
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
      const std::size_t i = list_position(m_.in, at, s.items[0].value, s.span);
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
    m_.fail("field", span, "the record has no field `" + name + "`",
            {"its fields: " + joined(r.names()), "a record with one more field: {...r, " + name + ": value}"});
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

// The fields of a record that a pattern does not name.
Value fields_left(const Record& r, const RecordPattern& p) {
  std::vector<std::pair<std::string, Value>> out;
  for (const auto& [name, v] : r.fields)
    if (std::none_of(p.fields.begin(), p.fields.end(),
                     [&n = name](const auto& f) { return !f.rest && f.name.text == n; }))
      out.emplace_back(name, v);
  return Value::record(std::move(out));
}

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
      if (f.rest) {
        bind(*f.target, fields_left(*fields, *r), fresh);
        continue;
      }
      const Value* found = fields->find(f.name.text);
      if (!found)
        fail("field", f.name.span, "the record has no field `" + f.name.text + "`",
             {"its fields: " + joined(fields->names())});
      bind(*f.target, *found, fresh);
    }
    return;
  }
  auto* t = std::get_if<TuplePattern>(&p.node);
  auto* l = std::get_if<ListPattern>(&p.node);
  const auto& elements = t ? t->elements : l->elements;
  std::vector<Value> parts = parts_of(*this, v, {elements.size(), t ? t->rest : l->rest}, p.span);
  v = Value();
  for (std::size_t i = 0; i < elements.size(); ++i) bind(*elements[i], std::move(parts[i]), fresh);
}

Flow exec_assign(Impl& m, const AssignStmt& s) {
  Value v;
  if (Flow flow = m.eval_flow(*s.value, v); flow != Flow::Next) return flow;
  assign_value(m, s, std::move(v));
  return Flow::Next;
}

void assign_value(Impl& m, const AssignStmt& s, Value v) {
  const bool laid_out = v.is_tensor() && v.tensor().valid() && v.tensor().type().mesh;
  const Value kept =
      laid_out || std::holds_alternative<Index>(s.target->node) ? v : Value();  // for the fixes of an error
  m.fixing([&] { m.assign(*s.target, s.op, std::move(v)); }, [&](Error& e) { m.fixer->assign(e, s, kept); });
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
  if (const auto* several = elements_of(target)) {
    const std::vector<Element>& elements = *several;
    if (op != AssignOp::Set) fail("form", target.span, "several variables are assigned by `=` only");
    std::optional<std::size_t> rest;
    for (std::size_t i = 0; i < elements.size(); ++i)
      if (elements[i].spread) rest = i;
    std::vector<Value> parts = parts_of(*this, v, {elements.size(), rest}, target.span);
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
      s.items = eval_items(in, *x);
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
