#include "interpreter/ir/collective.h"

#include <algorithm>
#include <utility>

#include "interpreter/ir/explicit_law.h"
#include "interpreter/ir/op.h"

namespace shard::ir {
using runtime::AxisSet;

namespace {

// A permutation that hands the same value to everyone gives that value.
bool reaches_all(const Attrs& attrs, std::int64_t devices) {
  std::vector<bool> got(static_cast<std::size_t>(devices), false);
  for (auto [from, to] : attrs.pairs("pairs"))
    if (to >= 0 && to < devices) got[static_cast<std::size_t>(to)] = true;
  return std::find(got.begin(), got.end(), false) == got.end();
}

}  // namespace

bool tiled(const Collective& c, const Attrs& attrs) { return !c.communicates() || attrs.says("tiled"); }

AxisSet differing(const Collective& c, const Attrs& attrs, AxisSet in, AxisSet over, std::int64_t devices) {
  if (c.split || c.place) return in | over;
  const bool meets = !(in & over).empty();
  if (c.pairs) return !meets && reaches_all(attrs, devices) ? in : in | over;
  if (!c.communicates()) return in;
  if (attrs.has("groups")) return meets ? in | over : in;
  return in - over;
}

CommCost comm_cost(const Collective& c, std::int64_t bytes, std::int64_t devices) {
  if (!c.communicates()) return {};
  bytes = std::min(bytes, INT64_MAX / 2 / devices);  // sizes saturate
  if (c.pairs) return {bytes, bytes};
  const std::int64_t others = bytes * (devices - 1);
  if (c.split) return {bytes, others / devices};  // all parts but a device's own
  if (c.join) return {bytes * devices, others};
  return {bytes, 2 * others / devices};  // scattered, then gathered
}

const Node* collective_over(const Graph& g, AxisSet axes) {
  for (const Node& n : g.nodes) {
    if (n.op->comm && n.op->comm->communicates() && !(n.attrs.axes() & axes).empty()) return &n;
    for (const auto& r : n.regions)
      if (const Node* found = collective_over(*r, axes)) return found;
  }
  return nullptr;
}

// ---- varying axes
AxisSet undeclared_axes(const Type& local, const Layout& spec, AxisSet taken) {
  return (local.varying & taken) - spec.sharding.split_axes() - spec.sharding.unreduced;
}

std::string undeclared_message(const std::string& subject, const Type& local, const Layout& spec, AxisSet undeclared,
                               const std::string& value) {
  const std::string axes = axes_text(*spec.mesh, undeclared.list());
  return subject + " is " + runtime::to_string(local) + ", which may differ between devices along " + axes +
         ", but its spec " + runtime::to_string(*spec.mesh, spec.sharding) + " does not name " + axes +
         ": sum it with `psum(" + value + ", " + axes + ")`, or name the axis in the spec";
}

std::vector<const Node*> joined_everywhere(const Graph& g, Var v, AxisSet axes) {
  const std::vector<const Node*> made = producers(g);
  std::vector<const Node*> joins;
  std::vector<char> seen(g.types.size(), 0);
  for (Vars open{v}; !open.empty();) {
    const Var x = open.back();
    open.pop_back();
    if ((g.type(x).varying & axes).empty() || std::exchange(seen[at(x)], 1)) continue;
    const Node* n = made[at(x)];
    if (!n || !n->regions.empty()) return {};
    const Collective* c = n->op->comm ? &*n->op->comm : nullptr;
    if (!c || (!c->communicates() && !c->split && !c->place)) {  // a cast moves nothing
      open.insert(open.end(), n->inputs.begin(), n->inputs.end());
      continue;
    }
    if (!c->join || c->split || c->combine || n->attrs.has("groups") || !n->attrs.axes().contains(axes)) return {};
    joins.push_back(n);
  }
  return joins;
}

bool gathered_by_hand(const Graph& g, Var v, AxisSet axes, std::int64_t devices) {
  const std::int64_t whole = runtime::numel(g.type(v).shape);
  const auto passed = [&](auto&& self, const Graph& in) -> bool {
    for (const Node& n : in.nodes) {
      const Collective* c = n.op->comm ? &*n.op->comm : nullptr;
      if (c && c->pairs && !(axes & n.attrs.axes()).empty() &&
          runtime::numel(in.type(n.inputs[0]).shape) * devices == whole)
        return true;
      for (const auto& r : n.regions)
        if (self(self, *r)) return true;
    }
    return false;
  };
  return passed(passed, g);
}

Attrs to_varying(AxisSet axes, runtime::MeshRef mesh) {
  Ints ids;
  for (runtime::AxisId a : axes.list()) ids.push_back(a);
  return {{"axes", std::move(ids)}, {"to", std::string("varying")}, {"mesh", Layout{std::move(mesh), {}}}};
}

}  // namespace shard::ir
