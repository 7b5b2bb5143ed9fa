// The plan cache, the mesh of a graph, and what an executable is found by.
#include "interpreter/exec/cache.h"

#include <algorithm>

namespace shard::exec {
namespace {

std::size_t hash_layout(std::size_t h, const runtime::Sharding& s) {
  for (const auto& d : s.dims) {
    h = ir::mix(h, d.axes.size());
    for (auto a : d.axes) h = ir::mix(h, a);
  }
  return ir::mix(h, s.unreduced.bits());
}

// Of an array's description, or of an array.
template <class A>
bool same(const ArrayInfo& info, const A& a, const runtime::MeshRef& mesh) {
  return info.distinct == a.distinct && info.type == a.type && info.layout == a.layout && same_mesh(info.mesh, mesh);
}

// The first mesh stays; another one must be of the same devices and axes.
void meet(runtime::MeshRef& mesh, const runtime::MeshRef& other) {
  if (!other || other == mesh) return;
  if (!mesh) {
    mesh = other;
    return;
  }
  if (!runtime::same_devices(*mesh, *other))
    throw runtime::RuntimeError("mesh", "operands live on two meshes, " + runtime::to_string(*mesh) + " and " +
                                            runtime::to_string(*other) + ": move one with `shard x as P(...) on m`");
}

void meet_all(runtime::MeshRef& mesh, const ir::Graph& g) {
  for (const ir::Node& n : g.nodes) {
    for (const auto& [name, value] : n.attrs)
      if (auto* layout = std::get_if<ir::Layout>(&value)) meet(mesh, layout->mesh);
    for (const auto& r : n.regions) meet_all(mesh, *r);
  }
}

}  // namespace

ArrayInfo array_info(const runtime::DeviceArray& a) { return {a.type, a.layout, a.distinct, a.type.mesh}; }

bool matches(const ArrayInfo& info, const runtime::DeviceArray& a) { return same(info, a, a.type.mesh); }

runtime::MeshRef mesh_of(const ir::Graph& graph, std::span<const ArrayInfo> args, const runtime::MeshRef& current) {
  runtime::MeshRef mesh;
  for (const ArrayInfo& a : args) meet(mesh, a.mesh);
  meet_all(mesh, graph);
  return mesh && current && runtime::same_devices(*mesh, *current) ? current : mesh;
}

std::shared_ptr<const Executable> PlanCache::get(const Target& target, const ir::GraphRef& graph,
                                                 std::span<const ArrayInfo> args, const runtime::MeshRef& mesh) {
  std::size_t key = ir::mix(ir::hash(*graph), reinterpret_cast<std::size_t>(&target));
  for (const ArrayInfo& a : args)
    key = hash_layout(ir::mix(ir::mix(key, runtime::hash(a.type)), a.distinct.bits()), a.layout);
  auto [begin, end] = plans_.equal_range(key);
  for (auto it = begin; it != end; ++it) {
    const Entry& e = it->second;
    if (e.target != &target || !same_mesh(e.mesh, mesh) ||
        !std::equal(args.begin(), args.end(), e.args.begin(), e.args.end(),
                    [](const ArrayInfo& a, const ArrayInfo& b) { return same(a, b, b.mesh); }))
      continue;
    if (e.graph == graph || ir::equal(*e.graph, *graph)) return e.plan;
  }
  if (plans_.size() >= limit_) clear();
  auto plan = compile(target, table_, *graph, args, mesh);
  ++compiled_;
  plans_.emplace(key, Entry{&target, graph, {args.begin(), args.end()}, mesh, plan});
  return plan;
}

std::shared_ptr<const Executable> PlanCache::get(const Target& target, const ir::GraphRef& graph,
                                                 std::span<const ArrayRef> args, const runtime::MeshRef& current) {
  auto fits = [&](const Entry& r) {
    return r.target == &target && r.graph == graph && same_mesh(r.mesh, current) &&
           std::equal(args.begin(), args.end(), r.args.begin(), r.args.end(),
                      [](const ArrayRef& a, const ArrayInfo& b) { return matches(b, *a); });
  };
  auto [begin, end] = recent_.equal_range(graph.get());
  for (auto it = begin; it != end; ++it)
    if (fits(it->second)) return it->second.plan;
  std::vector<ArrayInfo> infos;
  for (const ArrayRef& a : args) infos.push_back(array_info(*a));
  auto plan = get(target, graph, infos, mesh_of(*graph, infos, current));
  if (recent_.size() >= kRecent) recent_.clear();
  recent_.emplace(graph.get(), Entry{&target, graph, std::move(infos), current, plan});
  return plan;
}

}  // namespace shard::exec
