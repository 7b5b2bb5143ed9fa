#include <algorithm>

#include "interpreter/ir/builder.h"
#include "interpreter/ir/region_edges.h"
#include "interpreter/transform/factor_layout.h"
#include "interpreter/transform/passes.h"
#include "interpreter/transform/regions.h"

namespace shard::transform {
namespace {

using ir::Graph;
using ir::GraphRef;
using ir::Node;
using ir::Var;
using ir::Vars;

// A region without some of its results and parameters.
GraphRef without(const ir::OpTable& table, const Graph& g, const Marks& keep_param, const Marks& keep_result) {
  Graph less = g;
  less.results.clear();
  for (std::size_t i = 0; i < g.results.size(); ++i)
    if (keep_result[i]) less.results.push_back(g.results[i]);
  less = without_dead_code(table, std::move(less));
  Vars params;
  for (std::size_t i = 0; i < less.params.size(); ++i)
    if (keep_param[i]) params.push_back(less.params[i]);
  less.params = std::move(params);
  return share(std::move(less));
}

// ---- trimming

// Nodes are walked from the last to the first, so that what a loop no longer takes is not used any more when its makers
// are seen.
class Trimmer {
 public:
  Trimmer(const ir::OpTable& table, const Graph& g) : table_(table), g_(g), used_(g.types.size(), 0) {
    for (Var r : g.results) used_[at(r)] = 1;
  }

  Graph run() {
    std::vector<Node> nodes;
    for (std::size_t i = g_.nodes.size(); i-- > 0;) {
      Node n = g_.nodes[i];
      bool wanted = has_effects(n);
      for (Var v : n.outputs) wanted |= used_[at(v)] != 0;
      if (!wanted) continue;
      for (auto& r : n.regions) r = share(trim_loops(table_, *r));
      if (ir::RegionEdges wiring = ir::region_edges(n); wiring.repeats || wiring.chooser) trim(n, wiring);
      for (Var v : n.inputs) used_[at(v)] = 1;
      nodes.push_back(std::move(n));
    }
    ir::Builder b = builder_like(table_, g_);
    ir::GraphCopy copy(b, g_);
    copy.params();
    for (auto n = nodes.rbegin(); n != nodes.rend(); ++n) copy.node(*n);
    return copy.finish();
  }

 private:
  // Which parameters of a region its kept results and effects depend on.
  Marks needed(const Graph& body, const Marks& keep) const {
    Marks need(body.types.size(), 0);
    for (std::size_t i = 0; i < body.results.size(); ++i)
      if (keep[i]) need[at(body.results[i])] = 1;
    for (std::size_t i = body.nodes.size(); i-- > 0;) {
      const Node& n = body.nodes[i];
      bool wanted = has_effects(n);
      for (Var v : n.outputs) wanted |= need[at(v)] != 0;
      if (wanted)
        for (Var v : n.inputs) need[at(v)] = 1;
    }
    return need;
  }

  // An edge is kept where its output is used, or where a region needs what it brings; a kept carry needs what it is
  // made of in turn.
  void trim(Node& n, ir::RegionEdges& wiring) {
    auto& edges = wiring.edges;
    Marks keep(edges.size(), 0);
    std::vector<Marks> keep_result(n.regions.size());
    for (std::size_t e = 0; e < edges.size(); ++e) keep[e] = edges[e].output && used_[at(n.outputs[*edges[e].output])];
    for (bool more = true; more;) {
      more = false;
      for (std::size_t r = 0; r < n.regions.size(); ++r) keep_result[r].assign(n.regions[r]->results.size(), 0);
      if (wiring.verdict) keep_result[wiring.verdict->region][wiring.verdict->index] = 1;
      for (std::size_t e = 0; e < edges.size(); ++e)
        for (auto [r, i] : edges[e].results) keep_result[r][i] = keep[e];
      std::vector<Marks> need;
      for (std::size_t r = 0; r < n.regions.size(); ++r) need.push_back(needed(*n.regions[r], keep_result[r]));
      for (std::size_t e = 0; e < edges.size(); ++e) {
        if (keep[e]) continue;
        for (auto [r, i] : edges[e].params) keep[e] |= need[r][at(n.regions[r]->params[i])];
        more |= keep[e] && edges[e].carried();
      }
    }
    rebuild(n, wiring, keep, keep_result);
  }

  void rebuild(Node& n, ir::RegionEdges& wiring, const Marks& keep, const std::vector<Marks>& keep_result) {
    if (std::find(keep.begin(), keep.end(), 0) == keep.end()) return;
    std::vector<Marks> keep_param;
    for (const auto& r : n.regions) keep_param.emplace_back(r->params.size(), 0);
    Vars inputs, outputs;
    if (wiring.chooser) inputs.push_back(n.inputs[*wiring.chooser]);
    ir::RegionEdges kept = wiring;
    kept.edges.clear();
    for (std::size_t e = 0; e < keep.size(); ++e) {
      if (!keep[e]) continue;
      const ir::RegionEdge& edge = kept.edges.emplace_back(wiring.edges[e]);
      for (auto [r, i] : edge.params) keep_param[r][i] = 1;
      if (edge.operand) inputs.push_back(n.inputs[*edge.operand]);
      if (edge.output) outputs.push_back(n.outputs[*edge.output]);
    }
    for (std::size_t r = 0; r < n.regions.size(); ++r)
      n.regions[r] = without(table_, *n.regions[r], keep_param[r], keep_result[r]);
    n.inputs = std::move(inputs);
    n.outputs = std::move(outputs);
    ir::set_edges(*n.op, n.attrs, kept);
  }

  const ir::OpTable& table_;
  const Graph& g_;
  Marks used_;
};

// ---- hoisting

class Hoister {
 public:
  Hoister(const ir::OpTable& table, const Graph& g) : table_(table), g_(g), b_(builder_like(table, g)), now_(b_, g) {}

  Graph run() {
    now_.params();
    for (const Node& n : g_.nodes) {
      ir::SpanScope scope(b_, n.span);
      Vars inputs = now_(n.inputs);
      std::vector<GraphRef> regions;
      for (const auto& r : n.regions) regions.push_back(share(hoist_invariants(table_, *r)));
      ir::Attrs attrs = n.attrs;
      ir::RegionEdges wiring = ir::region_edges(n);
      if (wiring.repeats) {
        for (std::size_t r = regions.size(); r-- > 0;) move_out(wiring, r, regions[r], inputs);
        ir::set_edges(*n.op, attrs, wiring);
      }
      now_.node(n, std::move(inputs), std::move(attrs), std::move(regions));
    }
    return now_.finish();
  }

 private:
  // Nodes of a loop's region that take only its constants are appended here; their results become constants of it.
  void move_out(ir::RegionEdges& wiring, std::size_t index, GraphRef& region, Vars& inputs) {
    const Graph& body = *region;
    const auto [first, consts] = wiring.constants(index);
    ir::GraphCopy outside(b_, body);
    for (std::size_t i = 0; i < consts; ++i) outside[body.params[i]] = inputs[first + i];
    Marks moved(body.nodes.size(), 0);
    bool any = false;
    for (std::size_t i = 0; i < body.nodes.size(); ++i) {
      const Node& n = body.nodes[i];
      if (!movable(body, n, outside.now)) continue;
      moved[i] = 1;
      any = true;
      outside.node(n);
    }
    if (!any) return;
    Graph rest = body;
    rest.nodes.clear();
    Marks used(body.types.size(), 0);
    for (Var r : body.results) used[at(r)] = 1;
    for (std::size_t i = 0; i < body.nodes.size(); ++i) {
      if (moved[i]) continue;
      rest.nodes.push_back(body.nodes[i]);
      for (Var v : body.nodes[i].inputs) used[at(v)] = 1;
    }
    std::size_t more = 0;
    for (std::size_t i = 0; i < body.nodes.size(); ++i) {
      if (!moved[i]) continue;
      for (Var v : body.nodes[i].outputs) {
        if (!used[at(v)]) continue;
        rest.params.insert(rest.params.begin() + static_cast<std::ptrdiff_t>(consts + more), v);
        inputs.insert(inputs.begin() + static_cast<std::ptrdiff_t>(first + consts + more), outside[v]);
        ++more;
      }
    }
    wiring.add_constants(index, more);
    region = share(std::move(rest));
  }

  static bool movable(const Graph& body, const Node& n, const Vars& outside) {
    if (n.inputs.empty() || !n.regions.empty() || ir::is_effect(*n.op) || n.op->comm || n.attrs.has("barrier"))
      return false;
    std::int64_t in = 0, out = 0;
    for (Var v : n.inputs) {
      if (!outside[at(v)].valid()) return false;
      in += bytes_of(body.type(v));
    }
    for (Var v : n.outputs) out += bytes_of(body.type(v));
    return out <= in;
  }

  const ir::OpTable& table_;
  const Graph& g_;
  ir::Builder b_;
  ir::GraphCopy now_;
};

}  // namespace

Graph trim_loops(const ir::OpTable& table, Graph graph) {
  if (!has_regions(graph)) return graph;
  return Trimmer(table, graph).run();
}
Graph hoist_invariants(const ir::OpTable& table, Graph graph) {
  if (!has_regions(graph)) return graph;
  return Hoister(table, graph).run();
}

}  // namespace shard::transform
