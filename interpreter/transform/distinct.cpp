// The analysis of distinct axes: unions along data flow, the few rules of collectives, fixed points of loops.
#include "interpreter/transform/distinct.h"

#include <algorithm>
#include <stdexcept>

#include "interpreter/ir/region_edges.h"

namespace shard::transform {

using ir::Node;
using runtime::AxisId;
using runtime::AxisSet;
using runtime::Mesh;

namespace {

AxisSet after(const Node& n, AxisSet in, const Mesh& mesh) {
  return ir::differing(*n.op->comm, n.attrs, in, AxisSet::of(axes_of(n, mesh, true)), mesh.size_of(axes_of(n, mesh)));
}

bool grow(AxisSet& s, AxisSet by) {
  if (s.contains(by)) return false;
  s |= by;
  return true;
}

// Sets only grow, those of regions too, which are kept between visits: a loop inside a loop takes up where it was, so a
// body is visited once for each visit of what is around it, and once more for each time that its own carry grows.
class Analysis {
 public:
  explicit Analysis(const Mesh* mesh) : mesh_(mesh) {}

  static Distinct blank(const ir::Graph& g) {
    Distinct d;
    d.of.resize(g.types.size());
    for (std::size_t i = 0; i < g.nodes.size(); ++i) {
      if (g.nodes[i].regions.empty()) continue;
      d.inside.resize(g.nodes.size());
      for (const auto& r : g.nodes[i].regions) d.inside[i].regions.push_back(blank(*r));
    }
    return d;
  }

  void visit(const ir::Graph& g, Distinct& d) {
    for (std::size_t i = 0; i < g.nodes.size(); ++i) {
      const Node& n = g.nodes[i];
      AxisSet all;
      for (ir::Var v : n.inputs) all |= d.of[at(v)];
      if (!n.regions.empty())
        regions(n, d, d.inside[i]);
      else
        for (ir::Var v : n.outputs) d.of[at(v)] = n.op->comm && mesh_ ? after(n, all, *mesh_) : all;
    }
  }

  // Inside regions that run block by block nothing differs along their axes. No collective is over these axes there
  // (the lowering refuses that), so taking them away afterwards gives what an analysis without them would.
  static void freeze(Distinct& d, AxisSet frozen) {
    for (AxisSet& s : d.of) s = s - frozen;
    for (Distinct::Inside& inside : d.inside) {
      inside.blocks = inside.blocks - frozen;
      for (Distinct& r : inside.regions) freeze(r, frozen | inside.blocks);
    }
  }

 private:
  // What flows along an edge differs along the same axes in all its places; what a loop or branch decides differs, with
  // what decides it, in all its results.
  void regions(const Node& n, Distinct& d, Distinct::Inside& inside) {
    const ir::RegionEdges wiring = ir::region_edges(n);
    const auto param = [&](const ir::RegionPort& p) -> AxisSet& {
      return inside.regions[p.region].of[at(n.regions[p.region]->params[p.index])];
    };
    const auto result = [&](const ir::RegionPort& p) {
      return inside.regions[p.region].of[at(n.regions[p.region]->results[p.index])];
    };
    const auto given = [&](const ir::RegionEdge& e) {
      AxisSet all = inside.blocks;
      for (const ir::RegionPort& p : e.results) all |= result(p);
      return all;
    };
    if (wiring.chooser) inside.blocks = d.of[at(n.inputs[*wiring.chooser])];
    for (const ir::RegionEdge& e : wiring.edges)
      for (const ir::RegionPort& p : e.params) grow(param(p), d.of[at(n.inputs[*e.operand])]);
    for (bool more = true; more;) {
      more = false;
      for (std::size_t r = 0; r < n.regions.size(); ++r) visit(*n.regions[r], inside.regions[r]);
      if (wiring.verdict) inside.blocks |= result(*wiring.verdict);
      for (const ir::RegionEdge& e : wiring.edges)
        if (e.carried())
          for (const ir::RegionPort& p : e.params) more |= grow(param(p), given(e));
    }
    for (const ir::RegionEdge& e : wiring.edges)
      if (e.output) d.of[at(n.outputs[*e.output])] = e.carried() ? param(e.params.back()) : given(e);
  }

  const Mesh* mesh_;
};

}  // namespace

std::vector<AxisId> axes_of(const Node& node, const Mesh& mesh, bool real) {
  std::vector<AxisId> out;
  if (auto* ids = node.attrs.get<ir::Ints>("axes"))
    for (std::int64_t a : *ids)
      if (!real || mesh.size_of(static_cast<AxisId>(a)) > 1) out.push_back(static_cast<AxisId>(a));
  return out;
}

Distinct distinct_axes(const ir::Graph& g, std::span<const AxisSet> params, const Mesh* mesh) {
  Distinct d = Analysis::blank(g);
  for (std::size_t i = 0; i < g.params.size(); ++i)
    if (mesh) d.of[at(g.params[i])] |= mesh->real(params[i]);
  Analysis(mesh).visit(g, d);
  Analysis::freeze(d, {});
  return d;
}

void verify(const Distinct& distinct, const ir::Graph& g, const Mesh* mesh) {
  auto refuse = [](const Node& n, const char* law) {
    throw std::logic_error("distinct axes of `" + std::string(n.op->name) + "`: " + law);
  };
  if (distinct.of.size() != g.types.size()) throw std::logic_error("distinct axes of another graph");
  for (std::size_t i = 0; i < g.nodes.size(); ++i) {
    const Node& n = g.nodes[i];
    if (n.regions.empty()) continue;
    const Distinct::Inside& inside = distinct.inside.at(i);
    if (inside.regions.size() != n.regions.size()) refuse(n, "a region has none");
    for (std::size_t r = 0; r < n.regions.size(); ++r) {
      verify(inside.regions[r], *n.regions[r], mesh);
      for (AxisSet s : inside.regions[r].of)
        if (!(s & inside.blocks).empty()) refuse(n, "what runs block by block differs between the blocks");
    }
    for (const ir::RegionEdge& e : ir::region_edges(n).edges)
      for (const ir::RegionPort& to : e.params)
        for (const ir::RegionPort& from : e.results) {
          const AxisSet takes = inside.regions[to.region].of[at(n.regions[to.region]->params[to.index])];
          if (!takes.contains(inside.regions[from.region].of[at(n.regions[from.region]->results[from.index])]))
            refuse(n, "a turn gives back more than it takes");
        }
  }
}

}  // namespace shard::transform
