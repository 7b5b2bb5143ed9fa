#include "interpreter/ir/host_copy.h"

#include <algorithm>
#include <string>

#include "interpreter/ir/region_edges.h"

namespace shard::ir {

HostCopy host_copy(const Node& n) {
  if (!n.attrs.has("memory")) return HostCopy::None;
  return n.attrs.text("memory") == "host" ? HostCopy::Out : HostCopy::Back;
}

bool lies_on_host(const Node& n, Var v) {
  if (n.regions.empty()) return host_copy(n) == HostCopy::Out;
  for (const RegionEdge& e : region_edges(n).edges) {
    if (!e.output || !e.rows || n.outputs[*e.output] != v) continue;
    const Graph& body = *n.regions[e.results[0].region];
    const Var row = body.results[e.results[0].index];
    for (const Node& m : body.nodes)
      if (std::find(m.outputs.begin(), m.outputs.end(), row) != m.outputs.end()) return lies_on_host(m, row);
  }
  return false;
}

}  // namespace shard::ir
