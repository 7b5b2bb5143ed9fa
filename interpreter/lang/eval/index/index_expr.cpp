// `x[items]` of any value: the items between the brackets, and what they pick. Arrays go to index_array, the rest
// (lists, tuples, strings, ranges, records) is picked here.
#include <algorithm>

#include "grammar/characters.h"
#include "grammar/overloaded.h"
#include "interpreter/lang/eval/impl.h"
#include "interpreter/lang/eval/index/index.h"
#include "interpreter/lang/values/tree.h"
#include "interpreter/lang/values/unknown.h"

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

// x[2..5] is x[2:5], so that an index of ranges (shards, from_blocks) can be used as it is.
void range_to_slice(IndexItem& item) {
  const Range* r = item.value.get<Range>();
  if (!r || item.slice) return;
  item.start = Value(r->begin);
  item.stop = Value(std::max(r->begin, r->end));
  item.slice = true;
  item.value = Value();
}

// What the slice picks of these.
template <class T>
std::vector<T> sliced(Impl& m, const std::vector<T>& all, const IndexItem& slice) {
  const Picked p = picked_by(m.in, slice, std::ssize(all), slice.span);
  if (p.unknown) only_in_a_run(slice.span);
  std::vector<T> out;
  for (std::int64_t i = 0; i < p.count; ++i) out.push_back(all[static_cast<std::size_t>(p.start + i * p.step)]);
  return out;
}

}  // namespace

std::vector<IndexItem> eval_items(Interpreter& in, const Index& x) {
  std::vector<IndexItem> out;
  out.reserve(x.items.size());
  for (const Item& i : x.items) {
    IndexItem item;
    item.span = i.span;
    item.ellipsis = i.ellipsis;
    item.slice = i.slice;
    if (i.value) item.value = in.eval(*i.value);
    if (i.start) item.start = in.eval(*i.start);
    if (i.stop) item.stop = in.eval(*i.stop);
    if (i.step) item.step = in.eval(*i.step);
    // x[(i, j)] is x[i, j]
    if (auto* t = item.value.get<std::shared_ptr<Tuple>>(); t && x.items.size() == 1) {
      for (const Value& v : (*t)->items) {
        IndexItem one;
        one.span = i.span;
        one.value = v;
        range_to_slice(one);
        out.push_back(std::move(one));
      }
      return out;
    }
    range_to_slice(item);
    out.push_back(std::move(item));
  }
  return out;
}

std::int64_t position(Interpreter& in, std::int64_t size, const Value& index, Span span, const char* what) {
  const std::int64_t i = in.integer(index, span, "an index");
  const std::int64_t p = i < 0 ? i + size : i;
  if (p < 0 || p >= size)
    in.fail("index", span,
            "index " + std::to_string(i) + " is out of range for a " + what + " of " + std::to_string(size),
            {size ? "indices go from " + std::to_string(-size) + " to " + std::to_string(size - 1) : "it is empty"});
  return p;
}

std::size_t list_position(Interpreter& in, const Value& list, const Value& index, Span span) {
  return static_cast<std::size_t>(position(in, static_cast<std::int64_t>(list.items()->size()), index, span,
                                           list.is<std::shared_ptr<List>>() ? "list" : "tuple"));
}

Picked picked_by(Interpreter& in, const IndexItem& slice, std::int64_t size, Span span) {
  auto given = [](const std::optional<Value>& v) { return v && !v->is_none(); };
  auto number = [&](const std::optional<Value>& v) { return in.integer(*v, span, "a bound of a slice"); };
  Picked out;
  if (Checker* checker = in.checker())
    for (const auto* v : {&slice.start, &slice.stop, &slice.step}) {
      const std::int64_t n = given(*v) ? number(*v) : 0;
      if (!is_unknown_size(n) && !is_unknown_size(-(n + 1))) continue;
      out.unknown = true;
      out.count = checker->fresh_size();
      return out;
    }
  if (given(slice.step)) out.step = number(slice.step);
  if (out.step == 0) in.fail("value", span, "the step of a slice is 0");
  const bool forward = out.step > 0;
  auto bound = [&](const std::optional<Value>& v, std::int64_t otherwise) {
    if (!given(v)) return otherwise;
    std::int64_t i = number(v);
    if (i < 0) i = i < -size ? -1 : i + size;
    return forward ? std::clamp<std::int64_t>(i, 0, size) : std::min(i, size - 1);
  };
  const std::int64_t from = bound(slice.start, forward ? 0 : size - 1), to = bound(slice.stop, forward ? size : -1);
  const std::int64_t reach = forward ? to - from : from - to;
  const std::int64_t by = forward ? out.step : out.step == INT64_MIN ? INT64_MAX : -out.step;
  out.count = reach > 0 ? (reach - 1) / by + 1 : 0;
  out.start = out.count ? from : 0;
  if (out.count <= 1) out.step = 1;
  return out;
}

Value eval_index(Impl& m, const Expr& e, const Index& x) {
  Value scratch;
  const Value* object = nullptr;
  const bool plain = x.items.size() == 1 && x.items[0].value && is_one_of<NameRef, IntLit>(x.items[0].value->node);
  if (plain) object = m.peek(*x.object);
  if (!object) scratch = m.eval(*x.object), object = &scratch;
  if (plain && object->items()) {
    Value index = m.eval(*x.items[0].value);
    if (index.is<std::int64_t>()) return (*object->items())[list_position(m.in, *object, index, e.span)];
  }
  std::vector<IndexItem> items = eval_items(m.in, x);
  if (auto* t = object->get<Tensor>())
    return m.fixing([&] { return m.at(e.span, [&] { return Value(index_array(m.in, *t, items, e.span)); }); },
                    [&](Error& error) { m.fixer->index(error, e, *object, items); });
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
    if (!item.slice) return (*list)[list_position(m.in, *object, item.value, e.span)];
    return object->with_items(sliced(m, *list, item));
  }
  if (object->fields()) {
    if (!item.slice && item.value.is_string()) return m.field(*object, item.value.str(), e.span);
    m.fail("type", e.span, "a record is indexed by the name of a field: p[\"w\"]");
  }
  if (object->is_string()) {
    std::vector<std::string> text = code_points(object->str());
    const auto size = static_cast<std::int64_t>(text.size());
    if (!item.slice)
      return Value::string(text[static_cast<std::size_t>(position(m.in, size, item.value, e.span, "string"))]);
    return Value::string(separated(sliced(m, text, item), ""));
  }
  if (auto* spec = object->get<std::shared_ptr<const Spec>>()) {
    const std::vector<SpecEntry>& dims = (*spec)->dims;
    const auto size = static_cast<std::int64_t>(dims.size());
    if (!item.slice) return entry_of(dims[static_cast<std::size_t>(position(m.in, size, item.value, e.span, "spec"))]);
    return Value(std::make_shared<const Spec>(Spec{sliced(m, dims, item), {}, {}, {}}));
  }
  if (auto* r = object->get<Range>(); r && !item.slice)
    return r->begin + position(m.in, std::max<std::int64_t>(r->end - r->begin, 0), item.value, e.span, "range");
  m.fail("type", e.span, kind_name(*object) + " cannot be indexed");
}

}  // namespace shard::lang
