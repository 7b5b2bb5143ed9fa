// Partitioning of operations with structure: constraints, effects, loops, branches, calls, per-device code. A region is
// partitioned once, with fixed layouts of what it carries; what does not change in a loop is brought into its layout
// outside.
#include <algorithm>
#include <deque>

#include "interpreter/ir/region_edges.h"
#include "interpreter/transform/flow.h"
#include "interpreter/transform/partitioner.h"
#include "interpreter/transform/uneven.h"

namespace shard::transform {

using ir::Graph;
using ir::Node;
using ir::Structure;
using ir::Type;
using ir::Var;
using ir::Vars;

namespace {

// Parameters were made in the order consts, the others, further consts: these go behind the consts.
void move_extra(Graph& g, std::size_t consts, std::size_t extra) {
  std::rotate(g.params.begin() + static_cast<std::ptrdiff_t>(consts),
              g.params.end() - static_cast<std::ptrdiff_t>(extra), g.params.end());
}

AxisSet all_varying(const ir::Builder& b, const Vars& vars) {
  AxisSet out;
  for (Var v : vars) out |= b.type(v).varying;
  return out;
}

}  // namespace

void Partitioner::structure(const Node& n, std::size_t index) {
  switch (*ir::structure_of(*n.op)) {
    case Structure::Constant: return whole_operation(n);
    case Structure::Shard: return constrain(n);
    case Structure::Call: return call(n, index);
    case Structure::Manual: return per_device(n, index);
    case Structure::Effect: return effect(n);
    case Structure::Collective: return operation(n);
    default: return regions(n, index);
  }
}

// An unreduced sum that nobody else uses goes straight into the layout that is asked for.
void Partitioner::constrain(const Node& n) {
  Var x = n.inputs[0];
  if (!n.attrs.has("layout")) {  // laid out as another value, which was settled by propagation
    values_[at(n.outputs[0])] = values_[at(x)];
    if (uses_[at(x)] == 1) return;
    finish(x);
    values_[at(n.outputs[0])] = values_[at(x)];
    return;
  }
  if (uses_[at(x)] > 1) finish(x);
  const Sharding& to = wanted(n.outputs[0]);
  set(n.outputs[0], need(x, to), to, n.span);
}

// Effects see whole values, and the layouts that these had (attribute `layouts`); those that ask for layouts only
// (`layout_only`) move nothing.
void Partitioner::effect(const Node& n) {
  ir::Attrs attrs = n.attrs;
  bool layouts_only = attrs.says("layout_only");
  std::vector<std::string> layouts;
  Vars inputs;
  for (Var v : n.inputs) {
    finish(v);
    Sharding now = values_[at(v)].layout;
    layouts.push_back(runtime::to_string(*context_.mesh, now));
    inputs.push_back(need(v, layouts_only ? now : Sharding::replicated(now.dims.size())));
  }
  attrs.set("layouts", std::move(layouts));
  std::vector<Sharding> out;
  for (Var v : n.outputs) out.push_back(Sharding::replicated(g_.type(v).shape.size()));
  Vars outputs = b_.append(*n.op, inputs, std::move(attrs), n.regions, result_types(n, inputs, out));
  for (std::size_t r = 0; r < outputs.size(); ++r) set(n.outputs[r], outputs[r], out[r], n.span);
}

// The layout of what flows along an edge, as the regions see it.
Sharding Partitioner::layout_inside(const ir::RegionEdge& e, const Node& n, std::size_t index) const {
  const auto of = [&](const ir::RegionPort& p, const Vars& vars) {
    return wanted_.regions[index][p.region].of[at(vars[p.index])];
  };
  if (!e.params.empty()) return of(e.params.back(), n.regions[e.params.back().region]->params);
  if (!e.rows) return wanted(n.outputs[*e.output]);
  return of(e.results[0], n.regions[e.results[0].region]->results);
}

Bodies Partitioner::run_bodies(const Node& n, std::size_t index, const ir::RegionEdges& wiring,
                               std::span<const Sharding> layouts) {
  Bodies out;
  for (std::size_t r = 0; r < n.regions.size(); ++r) {
    out.builders.emplace_back(context_.table).set_local(context_.mesh);
    out.parts.emplace_back(context_, out.builders[r], *n.regions[r], wanted_.regions[index][r], blocked_,
                           wiring.repeats ? this : nullptr);
  }
  for (std::size_t e = 0; e < wiring.edges.size(); ++e) {
    const ir::RegionEdge& edge = wiring.edges[e];
    const bool stays = edge.operand && edge.results.empty();  // nothing else comes round
    const int argument = stays ? values_[at(n.inputs[*edge.operand])].argument : -1;
    for (auto [r, i] : edge.params) {
      const Var p = n.regions[r]->params[i];
      out.parts[r].set(p, out.parts[r].add_param(n.regions[r]->type(p), layouts[e]), layouts[e], {}, argument);
      if (edge.constant()) out.parts[r].set_steady(p, static_cast<int>(*edge.operand));
    }
  }
  for (Partitioner& p : out.parts) p.run();
  return out;
}

// Loops and branches. Regions are partitioned for themselves, with one layout for each edge. What a loop needs of a
// constant in another layout is brought into it outside, as one more constant. All devices run a region's collectives:
// in automatic code conditions are the same everywhere.
void Partitioner::regions(const Node& n, std::size_t index) {
  ir::RegionEdges wiring = ir::region_edges(n);
  std::vector<Sharding> layouts, outside(n.outputs.size());  // by edge, as regions see it; by output
  for (const ir::RegionEdge& e : wiring.edges) layouts.push_back(layout_inside(e, n, index));
  Bodies bodies = run_waiting(n, index, wiring, layouts);
  std::deque<Partitioner>& inner = bodies.parts;
  Vars inputs(n.inputs.size()), wholes(n.outputs.size());  // by output: what its sum is added to
  if (wiring.chooser) {
    finish(n.inputs[*wiring.chooser]);
    inputs[*wiring.chooser] = need(n.inputs[*wiring.chooser], Sharding::replicated(0));
  }
  for (std::size_t i = 0; i < wiring.edges.size(); ++i) {
    const ir::RegionEdge& e = wiring.edges[i];
    if (e.output) outside[*e.output] = e.rows ? with_whole_front(layouts[i]) : layouts[i];
    if (!e.operand) continue;
    if (e.carried() && !(layouts[i].unreduced - layout_inside(e, n, index).unreduced).empty()) {
      const Parts start = start_of(n, *e.operand, layouts[i]);
      inputs[*e.operand] = start.terms;
      wholes[*e.output] = start.whole;
      continue;
    }
    finish(n.inputs[*e.operand]);
    inputs[*e.operand] = need(n.inputs[*e.operand], e.rows ? with_whole_front(layouts[i]) : layouts[i]);
  }

  std::vector<Vars> results;
  for (const auto& region : n.regions) results.emplace_back(region->results.size());
  AxisSet varying = all_varying(b_, inputs);
  for (std::size_t e = 0; e < wiring.edges.size(); ++e)
    for (auto [r, i] : wiring.edges[e].results) {
      results[r][i] = inner[r].need(n.regions[r]->results[i], layouts[e]);
      varying |= bodies.builders[r].type(results[r][i]).varying;
    }
  if (wiring.verdict) {
    auto [r, i] = *wiring.verdict;
    results[r][i] = inner[r].need(n.regions[r]->results[i], Sharding::replicated(0));
  }
  std::vector<ir::GraphRef> local(n.regions.size());
  for (std::size_t r = n.regions.size(); r-- > 0;) {
    const auto [first, consts] = wiring.constants(r);
    Vars extra;
    for (const ExtraConst& x : inner[r].extra())
      extra.push_back(need(n.inputs[static_cast<std::size_t>(x.outer)], x.layout, &x.asking));
    Graph g = bodies.builders[r].finish(std::move(results[r]));
    if (!extra.empty()) {
      move_extra(g, consts, extra.size());
      inputs.insert(inputs.begin() + static_cast<std::ptrdiff_t>(first + consts), extra.begin(), extra.end());
      wiring.add_constants(r, extra.size());
    }
    local[r] = share(std::move(g));
  }
  ir::Attrs attrs = n.attrs;
  ir::set_edges(*n.op, attrs, wiring);
  std::vector<Type> types;
  for (std::size_t i = 0; i < n.outputs.size(); ++i)
    types.push_back(local_type(g_.type(n.outputs[i]), outside[i], varying));
  Vars outputs = b_.append(*n.op, std::move(inputs), std::move(attrs), std::move(local), std::move(types));
  for (std::size_t i = 0; i < outputs.size(); ++i) {
    set(n.outputs[i], outputs[i], outside[i], n.span);
    values_[at(n.outputs[i])].whole = wholes[i];
  }
  for (const ir::RegionEdge& e : wiring.edges)
    if (e.output && !unfinished(n.outputs[*e.output]).empty()) {  // its sum is caused by what left it inside
      const auto [r, i] = e.results.at(0);
      const PlacedValue& inside = inner[r].values_[at(n.regions[r]->results[i])];
      values_[at(n.outputs[*e.output])].span = inside.span;
      values_[at(n.outputs[*e.output])].terms = inside.terms;
    }
}

// A call's body becomes part of the graph around.
void Partitioner::call(const Node& n, std::size_t index) {
  const Graph& body = *n.regions[0];
  const Layouts& inside = wanted_.regions[index][0];
  Partitioner inner(context_, b_, body, inside, blocked_, nullptr);
  for (std::size_t i = 0; i < n.inputs.size(); ++i) {
    finish(n.inputs[i]);
    const Sharding& layout = inside.of[at(body.params[i])];
    inner.set(body.params[i], need(n.inputs[i], layout), layout, n.span);
  }
  inner.run();
  for (std::size_t i = 0; i < n.outputs.size(); ++i) {
    const Sharding& layout = inside.of[at(body.results[i])];
    set(n.outputs[i], inner.need(body.results[i], layout), layout, n.span);
  }
}

// Per-device code too: its values are blocks already, as the specs say; the axes that it has not taken are partitioned
// as outside.
void Partitioner::per_device(const Node& n, std::size_t index) {
  const Graph& body = *n.regions[0];
  const Layouts& inside = wanted_.regions[index][0];
  Partitioner inner(context_, b_, body, inside, blocked_ | n.attrs.axes(), nullptr);
  auto joined = [](Sharding spec, const Sharding& more) {  // the spec's axes are the major ones
    for (std::size_t d = 0; d < spec.dims.size() && d < more.dims.size(); ++d)
      spec.dims[d].axes.insert(spec.dims[d].axes.end(), more.dims[d].axes.begin(), more.dims[d].axes.end());
    spec.unreduced |= more.unreduced;
    return spec;
  };
  for (std::size_t i = 0; i < n.inputs.size(); ++i) {
    finish(n.inputs[i]);
    const Sharding layout = evened(*context_.mesh, body.type(body.params[i]).shape, inside.of[at(body.params[i])]);
    Sharding whole = joined(spec_of(n.attrs, ir::operand_spec(i), g_.type(n.inputs[i]).shape.size()), layout);
    inner.set(body.params[i], need(n.inputs[i], whole), layout, n.span);
  }
  inner.run();
  for (std::size_t i = 0; i < n.outputs.size(); ++i) {
    const Sharding layout = evened(*context_.mesh, body.type(body.results[i]).shape, inside.of[at(body.results[i])]);
    Var local = inner.need(body.results[i], layout);
    set(n.outputs[i], local, joined(spec_of(n.attrs, ir::result_spec(i), g_.type(n.outputs[i]).shape.size()), layout),
        n.span);
  }
}

}  // namespace shard::transform
