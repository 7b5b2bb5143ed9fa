// What a turn of a loop passes on as it took it, to another place: `(a, b)` becomes `(b, a + b)`, or a row of what is
// stacked. As a node, which the program of the turn does with the rest, it is no copy beside it.
#include <algorithm>

#include "interpreter/ir/builder.h"
#include "interpreter/ir/region_edges.h"
#include "interpreter/transform/passes.h"
#include "interpreter/transform/regions.h"
#include "runtime/kernels/element_program.h"

namespace shard::transform {
namespace {

using ir::Graph;
using ir::Node;
using ir::Var;

// The results of the loop's body, by index, that are parameters of other places.
std::vector<std::size_t> passed_on(const Node& n, std::size_t body) {
  const Graph& g = *n.regions[body];
  std::vector<std::size_t> out;
  for (const ir::RegionEdge& e : ir::region_edges(n).edges)
    for (const ir::RegionPort& r : e.results) {
      const Var v = g.results[r.index];
      const auto at = std::find(g.params.begin(), g.params.end(), v);
      const bool own = e.carried() && at != g.params.end() &&
                       static_cast<std::size_t>(at - g.params.begin()) == e.params.back().index;
      const bool held =
          runtime::size_of(g.type(v).dtype) == 4 && runtime::numel(g.type(v).shape) <= runtime::kFewElements;
      if (r.region == body && at != g.params.end() && !own && held) out.push_back(r.index);
    }
  return out;
}

Graph as_nodes(const ir::OpTable& table, const Graph& g, const std::vector<std::size_t>& results) {
  ir::Builder b = builder_like(table, g);
  ir::GraphCopy now(b, g);
  now.params();
  for (const Node& n : g.nodes) {
    const ir::SpanScope scope(b, n.span);
    now.node(n);
  }
  ir::Vars made = now(g.results);
  for (const std::size_t i : results) {
    const ir::Type& t = b.type(made[i]);
    made[i] = b.emit1(*table.core().convert, {made[i]}, {{"dtype", t.dtype}, {"weak", t.weak}});
  }
  return b.finish(made);
}

}  // namespace

std::optional<Graph> with_passed_on(const ir::OpTable& table, const Graph& graph) {
  std::optional<Graph> out = with_regions(graph, [&](const Graph& region) { return with_passed_on(table, region); });
  for (std::size_t i = 0; i < graph.nodes.size(); ++i) {
    const Node& n = out ? out->nodes[i] : graph.nodes[i];
    if (n.regions.empty() || !ir::region_edges(n).repeats) continue;
    const std::size_t body = n.regions.size() - 1;  // a condition is before it
    const std::vector<std::size_t> results = passed_on(n, body);
    if (results.empty()) continue;
    ir::GraphRef made = ir::share(as_nodes(table, *n.regions[body], results));
    if (!out) out = graph;
    out->nodes[i].regions[body] = std::move(made);
  }
  return out;
}

}  // namespace shard::transform
