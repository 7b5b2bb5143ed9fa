#include "interpreter/ir/graph.h"

#include "interpreter/ir/op.h"

namespace shard::ir {
namespace {

bool equal_nodes(const Node& a, const Node& b) {
  if (a.op != b.op || a.inputs != b.inputs || a.outputs != b.outputs || a.regions.size() != b.regions.size() ||
      !(a.attrs == b.attrs))
    return false;
  for (std::size_t i = 0; i < a.regions.size(); ++i)
    if (a.regions[i] != b.regions[i] && !equal(*a.regions[i], *b.regions[i])) return false;
  return true;
}

}  // namespace

std::size_t hash(const Graph& g) {
  std::size_t h = mix(g.nodes.size(), g.params.size());
  for (Var p : g.params) h = mix(h, runtime::hash(g.type(p)));
  for (const Node& n : g.nodes) {
    h = mix(h, std::hash<const void*>{}(n.op));
    h = mix(h, hash(n.attrs));
    for (Var v : n.inputs) h = mix(h, static_cast<std::size_t>(v.id));
    for (const auto& r : n.regions) h = mix(h, hash(*r));
  }
  for (Var r : g.results) h = mix(h, static_cast<std::size_t>(r.id));
  return h;
}

bool equal(const Graph& a, const Graph& b) {
  if (a.local != b.local || a.params != b.params || a.results != b.results || a.nodes.size() != b.nodes.size() ||
      a.types.size() != b.types.size())
    return false;
  for (std::size_t i = 0; i < a.nodes.size(); ++i)
    if (!equal_nodes(a.nodes[i], b.nodes[i])) return false;
  for (std::size_t i = 0; i < a.types.size(); ++i)
    if (!(a.types[i] == b.types[i])) return false;
  return true;
}

}  // namespace shard::ir
