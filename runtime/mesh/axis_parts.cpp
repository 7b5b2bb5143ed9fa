#include "runtime/mesh/axis_parts.h"

#include "runtime/mesh/part.h"

namespace shard::runtime {
namespace {

// Axis `a` of any mesh of these axes as two, of these sizes.
void divide(std::vector<MeshAxis>& axes, AxisId a, std::int64_t first, std::int64_t second) {
  axes.insert(axes.begin() + a + 1, axes[a]);
  axes[a].size = first;
  axes[static_cast<std::size_t>(a) + 1].size = second;
}

// Of the part of `mesh` in this process: the box is as many devices of axis `a` in a row as before.
std::shared_ptr<const MeshPart> divided(const MeshPart& part, AxisId a, std::int64_t first, std::int64_t second) {
  const std::int64_t box = part.here.axes[a].size, begins = part.first[a];
  if (box % second != 0 && second % box != 0) return nullptr;
  auto out = std::make_shared<MeshPart>(part);
  const std::int64_t slow = box % second == 0 ? box / second : 1, fast = box % second == 0 ? second : box;
  divide(out->here.axes, a, slow, fast);
  out->first.insert(out->first.begin() + a + 1, begins % second);
  out->first[a] = begins / second;
  out->apart = {};
  for (AxisId x : part.apart.list())
    if (x != a) out->apart.add(x > a ? static_cast<AxisId>(x + 1) : x);
  if (slow < first) out->apart.add(a);
  if (fast < second) out->apart.add(static_cast<AxisId>(a + 1));
  return out;
}

template <class Of>
ArrayRef relaid(ArrayRef array, const MeshRef& mesh, Of of) {
  auto out = std::make_shared<DeviceArray>(*array);
  out->type.mesh = mesh;
  of(*out);
  return out;
}

}  // namespace

MeshRef with_parts(const MeshRef& mesh, AxisId a, std::int64_t first) {
  auto out = std::make_shared<Mesh>(*mesh);
  const std::int64_t second = mesh->size_of(a) / first;
  divide(out->axes, a, first, second);
  const std::string name = mesh->axes[a].name;
  out->axes[a].name = name + ":(1)" + std::to_string(first);
  out->axes[static_cast<std::size_t>(a) + 1].name = name + ":(" + std::to_string(first) + ")" + std::to_string(second);
  if (!mesh->whole) {
    out->whole = mesh;
    for (std::size_t i = 0; i < mesh->axes.size(); ++i) out->part_of.push_back(static_cast<AxisId>(i));
  }
  out->part_of.insert(out->part_of.begin() + a, out->part_of[a]);
  if (mesh->part && !(out->part = divided(*mesh->part, a, first, second))) return nullptr;
  return out;
}

AxisSet to_parts(AxisSet axes, const Mesh& parts) {
  AxisSet out;
  for (std::size_t i = 0; i < parts.part_of.size(); ++i)
    if (axes.has(parts.part_of[i])) out.add(static_cast<AxisId>(i));
  return out;
}

Sharding to_parts(Sharding layout, const Mesh& parts) {
  for (DimSharding& d : layout.dims) {
    std::vector<AxisId> axes;
    for (AxisId a : d.axes)
      for (AxisId part : to_parts(AxisSet::of(a), parts).list()) axes.push_back(part);
    d.axes = std::move(axes);
  }
  layout.unreduced = to_parts(layout.unreduced, parts);
  layout.reduced = to_parts(layout.reduced, parts);
  return layout;
}

AxisSet to_wholes(AxisSet axes, const Mesh& parts) {
  AxisSet out;
  for (AxisId a : axes.list()) out.add(parts.part_of[a]);
  return out;
}

Sharding to_wholes(Sharding layout, const Mesh& parts) {
  for (DimSharding& d : layout.dims) {
    const std::vector<std::string> names = names_of(parts, d.axes);
    std::vector<AxisId> axes;
    for (const std::string& name : names) {
      const auto whole = parts.whole->find(name);
      if (!whole) break;
      axes.push_back(*whole);
    }
    d.axes = std::move(axes);
  }
  layout.unreduced = to_wholes(layout.unreduced, parts);
  layout.reduced = to_wholes(layout.reduced, parts);
  return layout;
}

ArrayRef to_parts(ArrayRef array, const MeshRef& parts) {
  if (!parts || !parts->whole || !array->type.mesh || same_mesh(array->type.mesh, parts)) return array;
  return relaid(std::move(array), parts, [&](DeviceArray& a) {
    a.layout = to_parts(std::move(a.layout), *parts);
    a.distinct = to_parts(a.distinct, *parts);
  });
}

ArrayRef to_wholes(ArrayRef array, const MeshRef& parts) {
  if (!parts || !parts->whole || !same_mesh(array->type.mesh, parts)) return array;
  return relaid(std::move(array), parts->whole, [&](DeviceArray& a) {
    a.layout = to_wholes(std::move(a.layout), *parts);
    a.distinct = to_wholes(a.distinct, *parts);
  });
}

}  // namespace shard::runtime
