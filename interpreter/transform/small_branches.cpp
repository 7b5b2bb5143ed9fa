// In loops a branch that computes a few numbers either way as both of them and a choice, and a loop of few turns that
// computes a few numbers as these turns: what a turn does is then one program, and takes less time than to go one way,
// or round.
#include <algorithm>

#include "interpreter/ir/builder.h"
#include "interpreter/ir/region_edges.h"
#include "interpreter/transform/passes.h"
#include "interpreter/transform/regions.h"

namespace shard::transform {
namespace {

using ir::Graph;
using ir::Node;
using ir::Var;
using ir::Vars;

constexpr std::int64_t kMostNumbers = 64;  // of each value
constexpr std::size_t kMostOfWay = 12;     // nodes

bool cheap_way(const Graph& g) {
  const auto small = [&](Var v) { return runtime::numel(g.type(v).shape) <= kMostNumbers; };
  return g.nodes.size() <= kMostOfWay && std::all_of(g.nodes.begin(), g.nodes.end(), [&](const Node& n) {
           const bool plain = std::holds_alternative<runtime::Code>(n.op->kernel) ||
                              std::holds_alternative<ir::ViewOf>(n.op->kernel) || is(n, ir::Structure::Constant);
           return plain && n.regions.empty() && !has_effects(n) && !n.attrs.has("barrier") &&
                  std::all_of(n.outputs.begin(), n.outputs.end(), small);
         });
}

bool both_ways(const Graph& g, const Node& n) {
  return is(n, ir::Structure::Branch) && g.type(n.inputs[0]).shape.empty() && !n.attrs.has("barrier") &&
         std::all_of(n.outputs.begin(), n.outputs.end(),
                     [&](Var v) { return runtime::numel(g.type(v).shape) <= kMostNumbers; }) &&
         cheap_way(*n.regions[0]) && cheap_way(*n.regions[1]);
}

// A scan of nothing but what goes round.
bool few_turns(const Node& n) {
  constexpr std::size_t kMostInAll = 64;  // nodes
  if (!is(n, ir::Structure::Scan) || n.attrs.has("barrier") || !cheap_way(*n.regions[0])) return false;
  const ir::RegionEdges edges = ir::region_edges(n);
  return edges.carried() == n.outputs.size() &&
         std::none_of(edges.edges.begin(), edges.edges.end(), [](const ir::RegionEdge& e) { return e.rows; }) &&
         static_cast<std::uint64_t>(edges.turns) * n.regions[0]->nodes.size() <= kMostInAll &&
         static_cast<std::size_t>(edges.turns) <= kMostInAll;
}

bool plain(const Graph& g, const Node& n) { return both_ways(g, n) || few_turns(n); }

Vars chosen(ir::Builder& b, const Graph& g, const Node& n, const Vars& in) {
  const Vars operands(in.begin() + 1, in.end());
  const Vars yes = b.inline_graph(*n.regions[0], operands), no = b.inline_graph(*n.regions[1], operands);
  Vars made;
  for (std::size_t i = 0; i < n.outputs.size(); ++i) {
    const ir::Type& type = g.type(n.outputs[i]);
    const Var condition = ir::broadcast_to(b, in[0], type.shape);
    made.push_back(b.append(*b.core().select, {condition, yes[i], no[i]}, {}, {}, {type}).at(0));
  }
  return made;
}

Vars turn_by_turn(ir::Builder& b, const Node& n, const Vars& in) {
  const ir::RegionEdges edges = ir::region_edges(n);
  const auto carry = in.begin() + static_cast<std::ptrdiff_t>(edges.constants(0).count);
  Vars now(carry, in.end());
  for (std::int64_t t = 0; t < edges.turns; ++t) {
    Vars operands(in.begin(), carry);
    operands.insert(operands.end(), now.begin(), now.end());
    now = b.inline_graph(*n.regions[0], operands);
  }
  return now;
}

Graph made_plain(const ir::OpTable& table, const Graph& g) {
  return with_nodes_made(
      table, g, [&](const Node& n) { return plain(g, n); },
      [&](ir::Builder& b, const Node& n, const Vars& in) {
        return few_turns(n) ? turn_by_turn(b, n, in) : chosen(b, g, n, in);
      });
}

}  // namespace

std::optional<Graph> without_small_branches(const ir::OpTable& table, const Graph& graph) {
  return with_regions(graph, [&](const Graph& region) {
    auto inside = without_small_branches(table, region);
    const Graph& now = inside ? *inside : region;
    const auto some = [&](const Node& n) { return plain(now, n); };
    if (std::any_of(now.nodes.begin(), now.nodes.end(), some)) inside = made_plain(table, now);
    return inside;
  });
}

}  // namespace shard::transform
