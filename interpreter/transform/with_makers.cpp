// Rows say what they would rather be beside what made their operand; nothing is known of them here.
#include <algorithm>

#include "interpreter/ir/builder.h"
#include "interpreter/transform/passes.h"
#include "interpreter/transform/regions.h"

namespace shard::transform {

using ir::Graph;
using ir::Node;
using ir::Var;

namespace {

bool asks(const Graph& g) {
  return std::any_of(g.nodes.begin(), g.nodes.end(), [](const Node& n) {
    return n.op->with_maker || std::any_of(n.regions.begin(), n.regions.end(), [](const auto& r) { return asks(*r); });
  });
}

}  // namespace

std::optional<Graph> with_makers(const ir::OpTable& table, const Graph& graph) {
  if (!asks(graph)) return std::nullopt;
  const std::vector<const Node*> producer = ir::producers(graph);
  std::vector<int> uses = ir::count_uses(graph);
  for (Var v : graph.results) ++uses[at(v)];
  ir::Builder b = builder_like(table, graph);
  ir::GraphCopy now(b, graph);
  now.params();
  bool any = false;
  for (const Node& n : graph.nodes) {
    std::vector<ir::GraphRef> regions = n.regions;
    for (ir::GraphRef& r : regions)
      if (auto inside = with_makers(table, *r)) r = share(std::move(*inside)), any = true;
    const Node* maker = n.op->with_maker && uses[at(n.inputs[0])] == 1 ? producer[at(n.inputs[0])] : nullptr;
    const ir::SpanScope scope(b, n.span);
    const std::vector<ir::Type> in = maker ? types_of(graph, n.inputs) : std::vector<ir::Type>();
    const auto made =
        maker ? n.op->with_maker(b, {*n.op, in, n.attrs, n.regions, &graph, n.inputs}, *maker, now(maker->inputs))
              : std::nullopt;
    any |= made.has_value();
    if (made)
      now[n.outputs[0]] = *made;
    else
      now.node(n, n.attrs, std::move(regions));
  }
  return any ? std::optional(without_dead_code(table, now.finish())) : std::nullopt;
}

}  // namespace shard::transform
