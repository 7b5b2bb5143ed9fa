// Fields of values: of records, arrays, types, meshes, specs and devices.
#include <algorithm>

#include "interpreter/ir/core_ops.h"
#include "interpreter/lang/eval/impl.h"
#include "interpreter/lang/report/report.h"
#include "runtime/channel/processes.h"

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

// The axes that split a dimension, in order, or over which something is unreduced or reduced.
Value axes_of(const Spec& s) {
  std::vector<Value> axes;
  const auto add = [&](const std::vector<std::string>& names) {
    for (const std::string& n : names)
      axes.emplace_back(std::shared_ptr<const Axis>(std::make_shared<Axis>(Axis{{n}})));
  };
  for (const SpecEntry& entry : s.dims) add(entry.axes);
  add(s.unreduced), add(s.reduced);
  return Value::list(std::move(axes));
}

std::vector<std::string> field_names(const Value& v) {
  std::vector<std::string> out;
  if (auto* r = v.fields()) {
    out = r->names();
  } else if (v.is_tensor() || v.is_host_number() || v.is<bool>()) {
    out = {"shape", "dtype", "ndim", "size", "T"};
  } else if (v.is<std::shared_ptr<const runtime::Type>>()) {
    out = {"shape", "dtype", "ndim", "size"};
  } else if (v.is<std::shared_ptr<const MeshValue>>()) {
    out = {"axes", "shape", "devices"};
  } else if (v.is<std::shared_ptr<const Spec>>()) {
    out = {"axes"};
  } else if (v.is<Device>()) {
    out = {"id", "process", "kind"};
  }
  return out;
}

}  // namespace

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
  if (auto* s = object.get<std::shared_ptr<const Spec>>(); s && name == "axes") return axes_of(**s);
  if (auto* d = object.get<Device>()) {
    if (name == "id") return Value(static_cast<std::int64_t>(d->id));
    if (name == "kind") return Value::string(ctx.target().device_kind(d->id));
    const auto& processes = ctx.processes();  // each has as many devices, in order
    const int each = ctx.devices() / (processes ? processes->count() : 1);
    if (name == "process") return Value(static_cast<std::int64_t>(d->id / std::max(each, 1)));
  }
  return std::nullopt;
}

Value Impl::field(const Value& object, const std::string& name, Span span) {
  if (auto v = at(span, [&] { return find_field(object, name); })) return std::move(*v);
  std::vector<std::string> names = field_names(object), notes;
  if (!names.empty()) notes.push_back("its fields: " + listed_fields(names));
  if (auto member = member_here(object.fields(), name); !member.empty())
    notes.push_back("it is called `" + std::string(member) + "` here");
  else if (auto near = near_miss(name, names))
    notes.push_back("did you mean `" + *near + "`?");
  else if (builtins.find(name) >= 0)
    notes.push_back(object.fields() ? "`" + name + "` is a builtin and stands alone: `" + name + "`"
                                    : "`" + name + "` is a function: call it with `." + name + "()`");
  else if (auto here = builtins.aliases().name_here(name); !here.empty())
    notes.push_back("it is called `" + std::string(here) + "` here");
  else if (auto say = builtins.aliases().way_here(name); !say.empty())
    notes.emplace_back(say);
  if (const auto* items = object.items())  // `p = opt.step(...)`, where a pair comes out
    for (std::size_t i = 0; i < items->size(); ++i)
      if (const Record* r = (*items)[i].fields(); r && r->find(name)) {
        notes.push_back("element " + std::to_string(i) + " has it: take the " +
                        (object.is<std::shared_ptr<List>>() ? "list" : "tuple") + " apart, `(a, b) = ...`");
        break;
      }
  fail("field", span, (object.fields() ? "the record" : kind_name(object)) + " has no field `" + name + "`",
       std::move(notes));
}

}  // namespace shard::lang
