#include "interpreter/transform/flow.h"

#include <algorithm>

#include "interpreter/ir/region_edges.h"
#include "interpreter/transform/uneven.h"

namespace shard::transform {
namespace {

using ir::Graph;
using ir::Node;
using ir::Structure;
using ir::Var;

Axes without(const Axes& axes, AxisSet gone) {
  Axes out;
  for (AxisId a : axes)
    if (!gone.has(a)) out.push_back(a);
  return out;
}

// Of two meshes that differ in the kinds of axes the one of more automatic code: what it meets is laid out with it.
const runtime::Mesh* freer(const runtime::Mesh* a, const runtime::Mesh* b) {
  if (!a || !b) return a ? a : b;
  const auto automatic = [](const runtime::Mesh& m) { return m.of_kind(runtime::AxisKind::Auto).list().size(); };
  return automatic(*b) > automatic(*a) ? b : a;
}

// The mesh that a `shard` gives its result, and that of its operand.
std::pair<const runtime::Mesh*, const runtime::Mesh*> crossed(const Node& n) {
  const runtime::Mesh* to = n.attrs.layout("layout").mesh.get();
  return {to, n.attrs.has(ir::kFrom) ? n.attrs.layout(ir::kFrom).mesh.get() : to};
}

bool has_layout(const Node& n) { return is(n, Structure::Shard) && n.attrs.has("layout"); }

std::vector<const runtime::Mesh*> meshes_of(const Graph& g, const runtime::Mesh* around, const runtime::Mesh* program);

// What a loop or branch gives belongs where its body made it.
void of_regions(const Node& n, const runtime::Mesh* around, const runtime::Mesh* program,
                std::vector<const runtime::Mesh*>& of) {
  std::vector<std::vector<const runtime::Mesh*>> inside;
  for (const auto& r : n.regions) inside.push_back(meshes_of(*r, around, program));
  for (const ir::RegionEdge& e : ir::region_edges(n).edges) {
    if (!e.output || of[at(n.outputs[*e.output])]) continue;
    for (const ir::RegionPort& p : e.results) {
      const runtime::Mesh*& mesh = of[at(n.outputs[*e.output])];
      mesh = freer(mesh, inside[p.region][at(n.regions[p.region]->results[p.index])]);
    }
  }
}

// By value the mesh of the code that it belongs to: what its type says, or the `shard` that made it; else that of what
// it is made of; what is made of nothing belongs to who uses it first, and what nobody says to the code around
// (`around`; null for a program's own graph: `program`).
std::vector<const runtime::Mesh*> meshes_of(const Graph& g, const runtime::Mesh* around, const runtime::Mesh* program) {
  std::vector<const runtime::Mesh*> of;
  of.reserve(g.types.size());
  for (const ir::Type& t : g.types) of.push_back(t.mesh.get());
  for (Var p : g.params)
    if (!of[at(p)]) of[at(p)] = around;
  for (const Node& n : g.nodes) {
    const runtime::Mesh* mesh = nullptr;
    for (Var v : n.inputs) mesh = freer(mesh, of[at(v)]);
    if (has_layout(n)) mesh = crossed(n).first;
    if (!n.regions.empty() && !is(n, Structure::Manual)) of_regions(n, mesh, program, of);
    for (Var v : n.outputs)
      if (!of[at(v)]) of[at(v)] = mesh;
  }
  for (auto n = g.nodes.rbegin(); n != g.nodes.rend(); ++n) {
    const runtime::Mesh* mesh = nullptr;
    for (Var v : n->outputs) mesh = freer(mesh, of[at(v)]);
    for (Var v : n->inputs) mesh = freer(mesh, of[at(v)]);
    if (has_layout(*n)) mesh = crossed(*n).second;
    for (Var v : n->inputs)
      if (!of[at(v)]) of[at(v)] = mesh;
  }
  for (auto& mesh : of)
    if (!mesh) mesh = around ? around : program;
  return of;
}

class FlowBuilder {
 public:
  FlowBuilder(const runtime::MeshRef& mesh, DataFlow& flow, bool uneven) : mesh_(mesh), flow_(flow), uneven_(uneven) {}

  std::unique_ptr<Scope> scope(const Graph& g, AxisSet blocked, const runtime::Mesh* around) {
    auto s = std::make_unique<Scope>();
    s->mesh = meshes_of(g, around, mesh_.get());
    s->graph = &g;
    s->blocked = blocked;
    s->of.reserve(g.types.size());
    for (const ir::Type& t : g.types) s->of.push_back(typed(t, blocked, true));
    s->regions.resize(g.nodes.size());
    return s;
  }

  void fill(Scope& s) {
    const std::vector<int> uses = ir::count_uses(*s.graph);
    for (std::size_t i = 0; i < s.graph->nodes.size(); ++i) node(s, i, uses);
  }

 private:
  static FlowValue value(Scope& s, Var v, const ir::ValueFactors& dims, bool result) {
    return FlowValue{&s, v, &dims, {}, result, false, false, bytes_of(s.graph->type(v))};
  }
  static ir::Factor passing(std::int64_t size) { return {"", size, ir::FactorKind::Pass, ir::FactorReduce::Sum}; }

  // One value in several places. `front`: the place has one more dimension in front, which the others do not have.
  struct Occurrence {
    Scope* scope;
    Var var;
    bool front = false;
    std::vector<Axes> outside = {};
  };
  void edge(std::vector<Occurrence> places) {
    const Occurrence* shape_of = &places[0];
    for (const Occurrence& p : places)
      if (!p.front && p.outside.empty()) shape_of = &p;  // local sizes where there is an inside
    const runtime::Shape& whole = shape_of->scope->graph->type(shape_of->var).shape;
    ir::FactorRule rule;
    for (std::size_t d = shape_of->front ? 1 : 0; d < whole.size(); ++d) rule.factors.push_back(passing(whole[d]));
    for (const Occurrence& p : places) {
      ir::ValueFactors& dims = rule.operands.emplace_back(p.front ? 1 : 0);
      for (std::size_t d = 0; d < rule.factors.size(); ++d) dims.push_back({static_cast<int>(d)});
      if (dims.size() != p.scope->graph->type(p.var).shape.size()) return;  // a defect elsewhere: nothing flows
    }
    FlowItem item{std::make_shared<const ir::FactorRule>(std::move(rule)), {}, true, false, 1};
    for (std::size_t i = 0; i < places.size(); ++i) {
      item.values.push_back(value(*places[i].scope, places[i].var, item.rule->operands[i], false));
      item.values.back().outside = std::move(places[i].outside);
    }
    flow_.items.push_back(std::move(item));
  }

  Scope& region(Scope& s, std::size_t node, std::size_t r, AxisSet blocked) {
    const Node& n = s.graph->nodes[node];
    const runtime::Mesh* around = nullptr;
    for (Var v : n.inputs) around = freer(around, s.mesh[at(v)]);
    for (Var v : n.outputs) around = freer(around, s.mesh[at(v)]);
    s.regions[node].push_back(scope(*n.regions[r], blocked, around));
    return *s.regions[node].back();
  }

  void node(Scope& s, std::size_t index, const std::vector<int>& uses) {
    const Node& n = s.graph->nodes[index];
    const Structure* kind = ir::structure_of(*n.op);
    if (!kind || *kind == Structure::Collective) return rule(s, n, uses);
    switch (*kind) {
      case Structure::Constant:
      case Structure::Effect:
      case Structure::Collective: return;
      case Structure::Shard: {
        if (!n.attrs.has("layout")) return follow(s, n);
        Sharding pinned = asked(n.attrs, s.graph->type(n.outputs[0]).shape.size());
        for (auto& d : pinned.dims) d.axes = without(d.axes, s.blocked);
        pinned.unreduced = pinned.unreduced - s.blocked;
        if (!uneven_ || s.graph->type(n.outputs[0]).dtype == runtime::DType::Key)
          pinned = evened(*mesh_, s.graph->type(n.outputs[0]).shape, std::move(pinned));
        s.of[at(n.outputs[0])] = pinned;
        return edge({{&s, n.inputs[0]}, {&s, n.outputs[0]}});
      }
      case Structure::Manual: return manual(s, index);
      default: return regions(s, index);
    }
  }

  // Values flow unchanged into regions, round loops and out again.
  void regions(Scope& s, std::size_t index) {
    const Node& n = s.graph->nodes[index];
    const ir::RegionEdges wiring = ir::region_edges(n);
    std::vector<Scope*> inside;
    for (std::size_t r = 0; r < n.regions.size(); ++r) inside.push_back(&region(s, index, r, s.blocked));
    const auto flow = [&](const ir::RegionEdge& e) {
      std::vector<Occurrence> places;
      if (e.operand) places.push_back({&s, n.inputs[*e.operand], e.rows});
      for (auto [r, i] : e.params) places.push_back({inside[r], inside[r]->graph->params[i]});
      for (auto [r, i] : e.results) places.push_back({inside[r], inside[r]->graph->results[i]});
      if (e.output) places.push_back({&s, n.outputs[*e.output], e.rows});
      edge(std::move(places));
    };
    for (const ir::RegionEdge& e : wiring.edges)
      if (e.operand) flow(e);
    for (Scope* body : inside) fill(*body);
    for (const ir::RegionEdge& e : wiring.edges)
      if (!e.operand) flow(e);
  }

  // x goes on as it is; `like` lends it the layout of its dimensions, which are the last ones of x: for good where it
  // is settled, of a value that was laid out.
  void follow(Scope& s, const Node& n) {
    edge({{&s, n.inputs[0]}, {&s, n.outputs[0]}});
    const Sharding settled = s.of[at(n.inputs[1])];
    Sharding& out = s.of[at(n.outputs[0])];
    if (s.graph->type(n.inputs[1]).mesh)
      for (std::size_t d = 0; d < std::min(settled.dims.size(), out.dims.size()); ++d)
        if (const auto& dim = settled.dims[settled.dims.size() - 1 - d]; !dim.open)
          out.dims[out.dims.size() - 1 - d] = dim;
    const runtime::Shape &x = s.graph->type(n.inputs[0]).shape, &like = s.graph->type(n.inputs[1]).shape;
    ir::FactorRule rule;
    ir::ValueFactors theirs, mine;
    std::size_t front = x.size() - std::min(like.size(), x.size());
    for (std::size_t d = 0; d < x.size(); ++d) {
      ir::DimFactors& dim = mine.emplace_back();
      if (d >= front && like[d - front] == x[d]) {
        dim.push_back(static_cast<int>(rule.factors.size()));
        rule.factors.push_back(passing(x[d]));
      }
      if (d >= front) theirs.push_back(dim);
    }
    rule.operands = {std::move(theirs), std::move(mine)};
    FlowItem item{std::make_shared<const ir::FactorRule>(std::move(rule)), {}, true, false, 1};
    item.values.push_back(value(s, n.inputs[1], item.rule->operands[0], false));
    item.values.back().still = true;
    item.values.push_back(value(s, n.outputs[0], item.rule->operands[1], false));
    flow_.items.push_back(std::move(item));
  }

  void manual(Scope& s, std::size_t index) {
    const Node& n = s.graph->nodes[index];
    AxisSet taken = n.attrs.axes();
    Scope& body = region(s, index, 0, s.blocked | taken);
    bool all = body.blocked.contains(mesh_->all());
    auto outside = [](const Sharding& spec) {
      std::vector<Axes> out;
      for (const auto& d : spec.dims) out.push_back(d.axes);
      return out;
    };
    if (!all)
      for (std::size_t i = 0; i < n.inputs.size(); ++i)
        edge({{&s, n.inputs[i], false,
               outside(spec_of(n.attrs, ir::operand_spec(i), s.graph->type(n.inputs[i]).shape.size()))},
              {&body, body.graph->params[i]}});
    fill(body);
    for (std::size_t i = 0; i < n.outputs.size(); ++i) {
      Sharding spec = spec_of(n.attrs, ir::result_spec(i), s.graph->type(n.outputs[i]).shape.size());
      Sharding& of = s.of[at(n.outputs[i])];
      for (std::size_t d = 0; d < of.dims.size(); ++d) {
        if (!spec.dims[d].axes.empty()) of.dims[d].axes = spec.dims[d].axes;
        of.dims[d].open = !all;
      }
      if (!all) edge({{&s, n.outputs[i], false, outside(spec)}, {&body, body.graph->results[i]}});
    }
  }

  using Has = std::vector<bool>;  // by factor
  static void note(const ir::ValueFactors& value, Has& has) {
    for (const auto& dim : value)
      for (int f : dim) has[static_cast<std::size_t>(f)] = true;
  }
  // A factor that the result has and these have not.
  static bool lacks(const ir::FactorRule& rule, const Has& has) {
    for (const auto& result : rule.results)
      for (const auto& dim : result)
        for (int f : dim)
          if (!has[static_cast<std::size_t>(f)] && rule.factor(f).size > 1) return true;
    return false;
  }

  void rule(Scope& s, const Node& n, const std::vector<int>& uses) {
    FlowItem item;
    item.rule = rule_of(*s.graph, n);
    if (!item.rule || item.rule->factors.empty()) return;
    // What changes some elements of a value is laid out as it, whatever it writes there: a cache, not the new rows.
    if (n.op->in_place && s.graph->type(n.inputs[0]).shape == s.graph->type(n.outputs[0]).shape)
      edge({{&s, n.inputs[0]}, {&s, n.outputs[0]}});
    const ir::FactorRule& rule = *item.rule;
    const bool pass = std::all_of(rule.factors.begin(), rule.factors.end(),
                                  [](const ir::Factor& f) { return f.kind == ir::FactorKind::Pass; });
    Has given(rule.factors.size(), false);
    for (std::size_t i = 0; i < n.inputs.size(); ++i) {
      note(rule.operands[i], given);
      FlowValue& v = item.values.emplace_back(value(s, n.inputs[i], rule.operands[i], false));
      Has own(rule.factors.size(), false);
      note(rule.operands[i], own);
      v.repeated = pass && lacks(rule, own);
    }
    item.repeats = !n.inputs.empty() && lacks(rule, given);
    bool single = true;
    for (std::size_t i = 0; i < n.outputs.size(); ++i) {
      single &= uses[at(n.outputs[i])] <= 1;
      item.values.push_back(value(s, n.outputs[i], rule.results[i], true));
    }
    item.level = pass && !item.repeats ? (single ? 1 : 2) : 3;
    flow_.items.push_back(std::move(item));
  }

  const runtime::MeshRef& mesh_;
  DataFlow& flow_;
  bool uneven_;
};

}  // namespace

Sharding spec_of(const ir::Attrs& attrs, std::string_view name, std::size_t rank) {
  Sharding out = Sharding::replicated(rank);
  if (!attrs.has(name)) return out;
  const Sharding& spec = attrs.layout(name).sharding;
  for (std::size_t d = 0; d < spec.dims.size() && d < rank; ++d) out.dims[d].axes = spec.dims[d].axes;
  out.unreduced = spec.unreduced;
  out.unreduced_kind = spec.unreduced_kind;
  return out;
}

Sharding asked(const ir::Attrs& attrs, std::size_t rank) {
  Sharding out = attrs.layout("layout").sharding;
  while (out.dims.size() < rank) out.dims.insert(out.dims.begin(), runtime::DimSharding{{}, true});
  out.reduced = {};
  return out;
}

Sharding typed(const ir::Type& type, AxisSet blocked, bool open) {
  Sharding out = Sharding::replicated(type.shape.size());
  for (std::size_t d = 0; d < out.dims.size(); ++d) {
    if (d < type.sharding.dims.size()) out.dims[d].axes = without(type.sharding.dims[d].axes, blocked);
    out.dims[d].open = open;
  }
  out.unreduced = type.sharding.unreduced - blocked;
  out.unreduced_kind = type.sharding.unreduced_kind;
  return out;
}

DataFlow build_flow(const Graph& graph, const runtime::MeshRef& mesh, std::span<const Sharding> params, bool uneven) {
  DataFlow flow;
  FlowBuilder builder(mesh, flow, uneven);
  flow.top = builder.scope(graph, {}, nullptr);
  for (std::size_t i = 0; i < graph.params.size() && i < params.size(); ++i)
    flow.top->of[at(graph.params[i])] = closed(params[i]);
  builder.fill(*flow.top);
  return flow;
}

}  // namespace shard::transform
