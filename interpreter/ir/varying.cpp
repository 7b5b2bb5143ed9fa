#include "interpreter/ir/varying.h"

#include <utility>

#include "interpreter/ir/explicit_law.h"
#include "interpreter/ir/op.h"

namespace shard::ir {

using runtime::AxisSet;

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
  std::vector<const Node*> made(g.types.size(), nullptr);
  for (const Node& n : g.nodes)
    for (Var out : n.outputs) made[static_cast<std::size_t>(out.id)] = &n;
  std::vector<const Node*> joins;
  std::vector<char> seen(g.types.size(), 0);
  for (Vars open{v}; !open.empty();) {
    const Var at = open.back();
    open.pop_back();
    if ((g.type(at).varying & axes).empty() || std::exchange(seen[static_cast<std::size_t>(at.id)], 1)) continue;
    const Node* n = made[static_cast<std::size_t>(at.id)];
    if (!n || !n->regions.empty()) return {};
    const Collective* c = n->op->comm ? &*n->op->comm : nullptr;
    if (!c || (!c->communicates() && !c->split && !c->place)) {  // a cast moves nothing
      open.insert(open.end(), n->inputs.begin(), n->inputs.end());
      continue;
    }
    AxisSet over;
    for (std::int64_t a : n->attrs.ints("axes")) over.add(static_cast<runtime::AxisId>(a));
    if (!c->join || c->split || c->combine || n->attrs.has("groups") || !(axes - over).empty()) return {};
    joins.push_back(n);
  }
  return joins;
}

bool gathered_by_hand(const Graph& g, Var v, AxisSet axes, std::int64_t devices) {
  const std::int64_t whole = runtime::numel(g.type(v).shape);
  const auto passed = [&](auto&& self, const Graph& in) -> bool {
    for (const Node& n : in.nodes) {
      const Collective* c = n.op->comm ? &*n.op->comm : nullptr;
      if (c && c->pairs)
        for (std::int64_t a : n.attrs.ints("axes"))
          if (axes.has(static_cast<runtime::AxisId>(a)) &&
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
