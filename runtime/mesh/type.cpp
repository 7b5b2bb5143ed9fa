// Types as text in the notation users write, f32[8@X,4@(Y,Z)]{V:i, U:(a,b), R:c}, and their equality and hash.
#include "runtime/mesh/type.h"

#include <algorithm>
#include <functional>

namespace shard::runtime {
namespace {

std::string names(const MeshRef& mesh, const std::vector<AxisId>& axes) {
  std::vector<std::string> all;
  if (mesh && std::all_of(axes.begin(), axes.end(), [&](AxisId a) { return a < mesh->axes.size(); }))
    all = names_of(*mesh, axes);
  else
    for (AxisId a : axes) all.push_back("#" + std::to_string(a));
  if (all.size() == 1) return all[0];
  std::string s = "(";
  for (std::size_t i = 0; i < all.size(); ++i) s += (i ? "," : "") + all[i];
  return s + ")";
}

}  // namespace

Type Type::of(DType dtype, Shape shape, bool weak) {
  const std::size_t rank = shape.size();
  return Type{dtype, weak, std::move(shape), Sharding::replicated(rank), {}, nullptr};
}

bool operator==(const Type& a, const Type& b) {
  if (a.dtype != b.dtype || a.weak != b.weak || a.shape != b.shape || !(a.sharding == b.sharding) ||
      !(a.varying == b.varying))
    return false;
  if (a.mesh == b.mesh) return true;
  return a.mesh && b.mesh && *a.mesh == *b.mesh;
}

std::size_t hash(const Type& t) {
  std::size_t h = mix(static_cast<std::size_t>(t.dtype), t.weak ? 1 : 0);
  for (const std::int64_t d : t.shape) h = mix(h, static_cast<std::size_t>(d));
  for (const DimSharding& d : t.sharding.dims) {
    h = mix(h, d.axes.size() * 2 + (d.open ? 1 : 0));
    for (const AxisId a : d.axes) h = mix(h, a);
  }
  h = mix(h, t.sharding.unreduced.bits());
  h = mix(h, t.sharding.reduced.bits());
  h = mix(h, static_cast<std::size_t>(t.sharding.unreduced_kind));
  h = mix(h, t.varying.bits());
  if (t.mesh)
    for (const MeshAxis& a : t.mesh->axes)
      h = mix(mix(h, std::hash<std::string>{}(a.name)), static_cast<std::size_t>(a.size));
  return h;
}

std::string to_string(const Type& t) {
  std::string s = std::string(name(t.dtype)) + "[";
  for (std::size_t i = 0; i < t.shape.size(); ++i) {
    s += (i ? "," : "") + std::to_string(t.shape[i]);
    if (i < t.sharding.dims.size() && !t.sharding.dims[i].axes.empty())
      s += "@" + names(t.mesh, t.sharding.dims[i].axes);
  }
  s += "]";
  std::string groups;
  const auto group = [&](const char* tag, AxisSet axes) {
    if (!axes.empty()) groups += (groups.empty() ? "" : ", ") + std::string(tag) + ":" + names(t.mesh, axes.list());
  };
  const UnreducedKind p = t.sharding.unreduced_kind;
  group("V", t.varying);
  group(p == UnreducedKind::Sum ? "U" : p == UnreducedKind::Max ? "U_max" : "U_min", t.sharding.unreduced);
  group("R", t.sharding.reduced);
  return groups.empty() ? s : s + "{" + groups + "}";
}

}  // namespace shard::runtime
