// Nodes that make values smaller, moved up.
#include <algorithm>
#include <numeric>
#include <set>

#include "grammar/stable_sort.h"
#include "interpreter/transform/factor_layout.h"
#include "interpreter/transform/passes.h"
#include "interpreter/transform/regions.h"

namespace shard::transform {
namespace {

using ir::Graph;
using ir::Node;
using ir::Var;

class Order {
 public:
  explicit Order(const Graph& g)
      : g_(g),
        uses_(ir::count_uses(g)),
        made_at_(g.types.size(), kOutside),
        param_(g.types.size(), 0),
        soon_(g.nodes.size(), 0) {
    for (Var p : g.params) param_[at(p)] = 1;
    std::vector<char> for_one_that_shrinks(g.types.size(), 0);
    for (std::size_t i = g.nodes.size(); i-- > 0;) {
      const Node& n = g.nodes[i];
      const std::int64_t more = growth(n);
      const bool awaited = n.outputs.size() == 1 && for_one_that_shrinks[at(n.outputs[0])];
      soon_[i] = more < 0 || (more == 0 && awaited);
      for (Var v : n.inputs)
        if (soon_[i] && uses_[at(v)] == 1) for_one_that_shrinks[at(v)] = 1;
    }
  }

  std::optional<Graph> run() {
    bool any = false;
    for (std::size_t i = 0; i < g_.nodes.size(); ++i) {
      const Node& n = g_.nodes[i];
      const auto last = static_cast<std::ptrdiff_t>(i) - 1;  // a node that is there already stays
      const std::ptrdiff_t soonest = soon_[i] ? has_all_behind(n) : last;
      any |= soonest != last;
      place_.push_back(soonest != last ? soonest : last + 1);
      for (Var v : n.outputs) made_at_[at(v)] = place_.back();
    }
    Graph out = g_;
    if (any) {
      std::vector<std::size_t> order(g_.nodes.size());
      std::iota(order.begin(), order.end(), 0);
      stable_sort(order, [&](std::size_t a, std::size_t b) { return place_[a] < place_[b]; });
      for (std::size_t i = 0; i < order.size(); ++i) out.nodes[i] = g_.nodes[order[i]];
    }
    for (Node& n : out.nodes)
      for (auto& r : n.regions)
        if (auto inside = with_early_shrinks(*r)) r = share(std::move(*inside)), any = true;
    return any ? std::optional(std::move(out)) : std::nullopt;
  }

 private:
  static constexpr std::ptrdiff_t kOutside = -1;  // parameters, whose memory is not the program's

  // How much more is held behind the node than before it. What nobody else uses dies with it.
  std::int64_t growth(const Node& n) const {
    std::int64_t more = 0;
    for (Var v : n.outputs) more += bytes_of(g_.type(v));
    if (has_effects(n) || !n.regions.empty()) return std::max<std::int64_t>(more, 1);
    for (Var v : std::set<Var>(n.inputs.begin(), n.inputs.end()))
      if (std::count(n.inputs.begin(), n.inputs.end(), v) == uses_[at(v)] && !param_[at(v)])
        more -= bytes_of(g_.type(v));
    return more;
  }
  std::ptrdiff_t has_all_behind(const Node& n) const {
    std::ptrdiff_t place = kOutside;
    for (Var v : n.inputs) place = std::max(place, made_at_[at(v)]);
    return place;
  }

  const Graph& g_;
  std::vector<int> uses_;                // by value: how often it is used
  std::vector<std::ptrdiff_t> made_at_;  // ...: behind which node it can be had
  std::vector<char> param_, soon_;       // by value; by node: it shrinks, or only one that shrinks waits for it
  std::vector<std::ptrdiff_t> place_;    // by node: the number of the one behind which it stands, or its own
};

}  // namespace

std::optional<Graph> with_early_shrinks(const Graph& graph) { return Order(graph).run(); }

}  // namespace shard::transform
