// `x[items]` of any value: arrays go to index_array, the rest (lists, tuples, strings, ranges, records) is picked here.
#include <algorithm>

#include "interpreter/lang/eval/impl.h"
#include "interpreter/lang/eval/index/items.h"
#include "interpreter/lang/values/unknown.h"
#include "interpreter/lang/values/value_items.h"

namespace shard::lang {

using namespace grammar;
using trace::Tensor;
using Impl = Interpreter::Impl;

namespace {

// key[8]: the type of eight keys, as f32[8] is one; `key` is a function besides.
Value keys_type(Impl& m, const std::vector<IndexItem>& sizes, Span span) {
  runtime::Shape shape;
  for (const IndexItem& item : sizes) {
    if (item.ellipsis || item.slice) m.fail("type", span, "a type that is a value has every size: key[8]");
    shape.push_back(m.in.integer(item.value, item.span, "a size"));
    if (shape.back() < 0) m.fail("shape", item.span, "a size is not negative");
  }
  m.at(span, [&] { return runtime::numel(shape); });
  return Value(std::make_shared<const runtime::Type>(runtime::Type::of(runtime::DType::Key, std::move(shape))));
}

}  // namespace

Value eval_index(Impl& m, const Expr& e, const Index& x) {
  Value scratch;
  const Value* object = nullptr;
  const bool plain = x.items.size() == 1 && x.items[0].value &&
                     (std::holds_alternative<NameRef>(x.items[0].value->node) ||
                      std::holds_alternative<IntLit>(x.items[0].value->node));
  if (plain) object = m.peek(*x.object);
  if (!object) scratch = m.eval(*x.object), object = &scratch;
  if (plain && object->items()) {
    Value index = m.eval(*x.items[0].value);
    if (index.is<std::int64_t>()) return (*object->items())[list_position(m, *object, index, e.span)];
  }
  std::vector<IndexItem> items = eval_items(m, x);
  if (auto* t = object->get<Tensor>()) {
    try {
      return m.at(e.span, [&] { return Value(index_array(m.in, *t, items, e.span)); });
    } catch (Error& error) {
      if (m.fixer) m.fixer->index(error, e, *object, items);
      throw;
    }
  }
  if (auto* type = object->get<std::shared_ptr<const runtime::Type>>())
    m.fail("type", e.span, runtime::to_string(**type) + " is a type: it has no elements to read");
  if (auto* f = object->get<std::shared_ptr<const Native>>(); f && (*f)->name == "key")
    return keys_type(m, items, e.span);
  if (object->fields() && items.size() > 1 && x.items.size() == 1)  // `for k in r { r[k] }`
    m.fail("type", e.span,
           "a record is indexed by the name of a field, and this is a tuple of " + std::to_string(items.size()),
           {"a loop over a record gives each name with its value: `for (name, v) in r`"});
  if (items.size() != 1 || items[0].ellipsis)
    m.fail("type", e.span, kind_name(*object) + " takes one index, and this has " + std::to_string(items.size()),
           object->items() ? std::vector<std::string>{"an array takes several: array(xs)[i, j]"}
                           : std::vector<std::string>{});
  const IndexItem& item = items[0];
  if (auto* list = object->items()) {
    if (!item.slice) return (*list)[list_position(m, *object, item.value, e.span)];
    std::vector<Value> out;
    const Picked p = picked_by(m.in, item, static_cast<std::int64_t>(list->size()), item.span);
    if (p.unknown) only_in_a_run(item.span);
    for (std::int64_t i = 0; i < p.count; ++i) out.push_back((*list)[static_cast<std::size_t>(p.start + i * p.step)]);
    return object->is<std::shared_ptr<List>>() ? Value::list(std::move(out)) : Value::tuple(std::move(out));
  }
  if (object->fields()) {
    if (!item.slice && item.value.is_string()) return m.field(*object, item.value.str(), e.span);
    m.fail("type", e.span, "a record is indexed by the name of a field: p[\"w\"]");
  }
  if (object->is_string()) {
    std::vector<std::string> text = code_points(object->str());
    const auto size = static_cast<std::int64_t>(text.size());
    if (!item.slice)
      return Value::string(text[static_cast<std::size_t>(position(m, size, item.value, e.span, "string"))]);
    std::string out;
    const Picked p = picked_by(m.in, item, size, item.span);
    if (p.unknown) only_in_a_run(item.span);
    for (std::int64_t i = 0; i < p.count; ++i) out += text[static_cast<std::size_t>(p.start + i * p.step)];
    return Value::string(std::move(out));
  }
  if (auto* spec = object->get<std::shared_ptr<const Spec>>()) {
    const std::vector<SpecEntry>& dims = (*spec)->dims;
    const auto size = static_cast<std::int64_t>(dims.size());
    if (!item.slice) return entry_of(dims[static_cast<std::size_t>(position(m, size, item.value, e.span, "spec"))]);
    auto out = std::make_shared<Spec>();
    const Picked p = picked_by(m.in, item, size, item.span);
    if (p.unknown) only_in_a_run(item.span);
    for (std::int64_t i = 0; i < p.count; ++i)
      out->dims.push_back(dims[static_cast<std::size_t>(p.start + i * p.step)]);
    return Value(std::shared_ptr<const Spec>(std::move(out)));
  }
  if (auto* r = object->get<Range>(); r && !item.slice)
    return r->begin + position(m, std::max<std::int64_t>(r->end - r->begin, 0), item.value, e.span, "range");
  m.fail("type", e.span, kind_name(*object) + " cannot be indexed");
}

}  // namespace shard::lang
