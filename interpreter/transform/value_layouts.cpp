#include "interpreter/transform/value_layouts.h"

#include <algorithm>

namespace shard::transform {

ValueLayouts::ValueLayouts(ir::Graph graph, const runtime::MeshRef& mesh, std::span<const runtime::Sharding> arguments)
    : graph_(std::move(graph)), layouts_(propagate(graph_, mesh, arguments)) {
  list(graph_, layouts_);
}

void ValueLayouts::list(const ir::Graph& graph, const Layouts& layouts) {
  for (std::size_t n = 0; n < graph.nodes.size(); ++n) {
    const ir::Node& node = graph.nodes[n];
    if (node.span.known()) nodes_.push_back({&graph, &node, &layouts});
    for (std::size_t r = 0; r < node.regions.size(); ++r) list(*node.regions[r], layouts.regions[n][r]);
  }
}

std::optional<runtime::Sharding> ValueLayouts::of(const ir::Graph& recorded, const ir::Node& node,
                                                  ir::Var value) const {
  const auto alike = [&](const Placed& p) {
    if (p.node->op != node.op || !(p.node->span == node.span) || p.node->inputs.size() != node.inputs.size() ||
        p.node->outputs.size() != node.outputs.size())
      return false;
    const auto same = [&](ir::Var a, ir::Var b) {
      return recorded.type(a).shape == p.graph->type(b).shape && recorded.type(a).dtype == p.graph->type(b).dtype;
    };
    return std::equal(node.inputs.begin(), node.inputs.end(), p.node->inputs.begin(), same) &&
           std::equal(node.outputs.begin(), node.outputs.end(), p.node->outputs.begin(), same);
  };
  const auto found = std::find_if(nodes_.begin(), nodes_.end(), alike);
  if (found == nodes_.end()) return std::nullopt;
  const auto in = [&](const ir::Vars& values, const ir::Vars& there) -> std::optional<runtime::Sharding> {
    const auto at = std::find(values.begin(), values.end(), value);
    if (at == values.end()) return std::nullopt;
    return found->layouts->of[static_cast<std::size_t>(there[static_cast<std::size_t>(at - values.begin())].id)];
  };
  auto out = in(node.outputs, found->node->outputs);
  return out ? out : in(node.inputs, found->node->inputs);
}

}  // namespace shard::transform
