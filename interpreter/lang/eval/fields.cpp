// Fields of values, and indexing of what is no array: lists, tuples, strings, ranges and records.
#include <algorithm>

#include "interpreter/ir/core_ops.h"
#include "interpreter/lang/eval/forms.h"
#include "interpreter/lang/eval/impl.h"
#include "interpreter/lang/index/items.h"
#include "interpreter/lang/names/aliases.h"
#include "interpreter/lang/report/lists.h"

namespace shard::lang {

using namespace grammar;
using trace::Tensor;
using Impl = Interpreter::Impl;

namespace {

Value shape_value(const runtime::Shape& shape) {
  std::vector<Value> sizes;
  for (std::int64_t n : shape) sizes.emplace_back(n);
  return Value::tuple(std::move(sizes));
}

std::optional<Value> type_field(const runtime::Type& t, const std::string& name) {
  if (name == "shape") return shape_value(t.shape);
  if (name == "dtype") return Value(t.dtype);
  if (name == "ndim") return Value(static_cast<std::int64_t>(t.shape.size()));
  if (name == "size") return Value(runtime::numel(t.shape));
  return std::nullopt;
}

std::optional<Value> mesh_field(const runtime::Mesh& mesh, const std::string& name) {
  if (name == "axes") {
    std::vector<Value> axes;
    for (const auto& a : mesh.axes)
      axes.emplace_back(std::shared_ptr<const Axis>(std::make_shared<Axis>(Axis{{a.name}})));
    return Value::tuple(std::move(axes));
  }
  if (name == "shape") {
    std::vector<std::pair<std::string, Value>> sizes;
    for (const auto& a : mesh.axes) sizes.emplace_back(a.name, Value(a.size));
    return Value::record(std::move(sizes));
  }
  if (name == "devices") {
    std::vector<Value> devices;
    for (int id : mesh.devices) devices.emplace_back(Device{id});
    return Value::list(std::move(devices));
  }
  return std::nullopt;
}

std::vector<std::string> field_names(const Value& v) {
  std::vector<std::string> out;
  if (auto* r = v.fields()) {
    for (const auto& f : r->fields) out.push_back(f.first);
  } else if (v.is_tensor() || v.is_host_number() || v.is<bool>()) {
    out = {"shape", "dtype", "ndim", "size", "T"};
  } else if (v.is<std::shared_ptr<const runtime::Type>>()) {
    out = {"shape", "dtype", "ndim", "size"};
  } else if (v.is<std::shared_ptr<const MeshValue>>()) {
    out = {"axes", "shape", "devices"};
  } else if (v.is<Device>()) {
    out = {"id"};
  }
  return out;
}

// Code points of a UTF-8 string; broken bytes count one each.
std::vector<std::string> characters(const std::string& s) {
  std::vector<std::string> out;
  for (std::size_t i = 0; i < s.size();) {
    const auto c = static_cast<unsigned char>(s[i]);
    std::size_t n = c < 0x80 ? 1 : c >> 5 == 6 ? 2 : c >> 4 == 14 ? 3 : c >> 3 == 30 ? 4 : 1;
    if (i + n > s.size()) n = 1;
    out.push_back(s.substr(i, n));
    i += n;
  }
  return out;
}

std::int64_t position(Impl& m, std::int64_t size, const Value& index, Span span, const char* what) {
  const std::int64_t i = m.in.integer(index, span, "an index");
  const std::int64_t p = i < 0 ? i + size : i;
  if (p < 0 || p >= size)
    m.fail("index", span,
           "index " + std::to_string(i) + " is out of range for a " + what + " of " + std::to_string(size),
           {size ? "indices go from " + std::to_string(-size) + " to " + std::to_string(size - 1) : "it is empty"});
  return p;
}

// Positions that a slice picks of a sequence of `size`, as Python's.
std::vector<std::int64_t> sliced(Impl& m, const IndexItem& x, std::int64_t size) {
  auto number = [&](const std::optional<Value>& v) { return m.in.integer(*v, x.span, "a bound of a slice"); };
  auto given = [](const std::optional<Value>& v) { return v && !v->is_none(); };
  const std::int64_t step = given(x.step) ? number(x.step) : 1;
  if (step == 0) m.fail("value", x.span, "the step of a slice is 0");
  auto bound = [&](const std::optional<Value>& v, std::int64_t otherwise) {
    if (!given(v)) return otherwise;
    std::int64_t i = number(v);
    if (i < 0)
      i = i < -size ? -1 : i + size;
    else if (i > size)
      i = size;
    if (step < 0) return std::min(i, size - 1);
    return std::max<std::int64_t>(i, 0);
  };
  std::int64_t from = bound(x.start, step > 0 ? 0 : size - 1), to = bound(x.stop, step > 0 ? size : -1);
  std::vector<std::int64_t> out;
  for (std::int64_t i = from; step > 0 ? i < to : i > to; i += step) {
    out.push_back(i);
    if (__builtin_add_overflow(i, step, &size)) break;
  }
  return out;
}

}  // namespace

std::size_t list_position(Impl& m, const Value& list, const Value& index, Span span) {
  return static_cast<std::size_t>(position(m, static_cast<std::int64_t>(list.items()->size()), index, span,
                                           list.is<std::shared_ptr<List>>() ? "list" : "tuple"));
}

// x[2..5] is x[2:5], so that an index of ranges (shards, from_blocks) can be used as it is.
static void range_to_slice(IndexItem& item) {
  const Range* r = item.value.get<Range>();
  if (!r || item.slice) return;
  item.start = Value(r->begin);
  item.stop = Value(std::max(r->begin, r->end));
  item.slice = true;
  item.value = Value();
}

std::vector<IndexItem> eval_items(Impl& m, const Index& x) {
  std::vector<IndexItem> out;
  out.reserve(x.items.size());
  for (const Item& i : x.items) {
    IndexItem item;
    item.span = i.span;
    item.ellipsis = i.ellipsis;
    item.slice = i.slice;
    if (i.value) item.value = m.eval(*i.value);
    if (i.start) item.start = m.eval(*i.start);
    if (i.stop) item.stop = m.eval(*i.stop);
    if (i.step) item.step = m.eval(*i.step);
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
  if (items.size() != 1 || items[0].ellipsis)
    m.fail("type", e.span, kind_name(*object) + " takes one index, and this has " + std::to_string(items.size()),
           object->items() ? std::vector<std::string>{"an array takes several: array(xs)[i, j]"}
                           : std::vector<std::string>{});
  const IndexItem& item = items[0];
  if (auto* list = object->items()) {
    if (!item.slice) return (*list)[list_position(m, *object, item.value, e.span)];
    std::vector<Value> out;
    for (std::int64_t i : sliced(m, item, static_cast<std::int64_t>(list->size())))
      out.push_back((*list)[static_cast<std::size_t>(i)]);
    return object->is<std::shared_ptr<List>>() ? Value::list(std::move(out)) : Value::tuple(std::move(out));
  }
  if (object->fields()) {
    if (!item.slice && item.value.is_string()) return m.field(*object, item.value.str(), e.span);
    m.fail("type", e.span, "a record is indexed by the name of a field: p[\"w\"]");
  }
  if (object->is_string()) {
    std::vector<std::string> text = characters(object->str());
    const auto size = static_cast<std::int64_t>(text.size());
    if (!item.slice)
      return Value::string(text[static_cast<std::size_t>(position(m, size, item.value, e.span, "string"))]);
    std::string out;
    for (std::int64_t i : sliced(m, item, size)) out += text[static_cast<std::size_t>(i)];
    return Value::string(std::move(out));
  }
  if (auto* r = object->get<Range>(); r && !item.slice)
    return r->begin + position(m, std::max<std::int64_t>(r->end - r->begin, 0), item.value, e.span, "range");
  m.fail("type", e.span, kind_name(*object) + " cannot be indexed");
}

std::optional<Value> Impl::find_field(const Value& object, const std::string& name) {
  if (auto* r = object.fields()) {
    const Value* v = r->find(name);
    if (!v && r->unshown) v = r->unshown->find(name);
    return v ? std::optional<Value>(*v) : std::nullopt;
  }
  if (auto* t = object.get<Tensor>()) {
    if (name == "T") {
      if (t->type().rank() < 2) return object;
      ir::Ints perm;
      for (std::int64_t i = -1; i >= -t->type().rank(); --i) perm.push_back(i);
      return Value(ctx.apply1(*ctx.table().core().transpose, {*t}, {{"perm", std::move(perm)}}));
    }
    return type_field(t->type(), name);
  }
  if (object.is_host_number() || object.is<bool>()) {
    if (name == "T") return object;
    return type_field(runtime::Type::of(object.is<bool>()     ? runtime::DType::Bool
                                        : object.is<double>() ? runtime::DType::F32
                                                              : runtime::DType::I32,
                                        {}),
                      name);
  }
  if (auto* t = object.get<std::shared_ptr<const runtime::Type>>()) return type_field(**t, name);
  if (auto* m = object.get<std::shared_ptr<const MeshValue>>()) return mesh_field(*(*m)->mesh, name);
  if (auto* d = object.get<Device>(); d && name == "id") return Value(static_cast<std::int64_t>(d->id));
  return std::nullopt;
}

Value Impl::field(const Value& object, const std::string& name, Span span) {
  if (auto v = at(span, [&] { return find_field(object, name); })) return std::move(*v);
  std::vector<std::string> names = field_names(object), notes;
  if (!names.empty()) notes.push_back("its fields: " + listed_fields(names));
  if (auto member = member_here(name, names); !member.empty())
    notes.push_back("it is called `" + std::string(member) + "` here");
  else if (auto near = near_miss(name, names))
    notes.push_back("did you mean `" + *near + "`?");
  else if (builtins.find(name) >= 0)
    notes.push_back(object.fields() ? "`" + name + "` is a builtin and stands alone: `" + name + "`"
                                    : "`" + name + "` is a function: call it with `." + name + "()`");
  else if (auto here = name_here(name); !here.empty())
    notes.push_back("it is called `" + std::string(here) + "` here");
  else if (auto say = way_here(name); !say.empty())
    notes.emplace_back(say);
  fail("field", span, (object.fields() ? "the record" : kind_name(object)) + " has no field `" + name + "`",
       std::move(notes));
}

}  // namespace shard::lang
