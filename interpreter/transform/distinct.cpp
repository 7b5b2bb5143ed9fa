// The analysis of distinct axes: unions along data flow, the few rules of collectives, fixed points of loops.
#include "interpreter/transform/distinct.h"
#include "interpreter/transform/nodes.h"

#include <algorithm>
#include <stdexcept>

#include "interpreter/ir/op.h"

namespace shard::transform {

using ir::Comm;
using ir::Node;
using ir::Structure;
using runtime::AxisId;
using runtime::AxisSet;
using runtime::Mesh;

namespace {

AxisSet set_of(const std::vector<AxisId>& axes) {
  AxisSet s;
  for (AxisId a : axes) s.add(a);
  return s;
}

// A permutation that hands the same value to everyone gives that value.
bool reaches_all(const Node& n, const Mesh& mesh) {
  std::int64_t devices = 1;
  for (AxisId a : axes_of(n, mesh)) devices *= mesh.size_of(a);
  std::vector<bool> got(static_cast<std::size_t>(devices), false);
  for (auto [from, to] : n.attrs.pairs("pairs"))
    if (to >= 0 && to < devices) got[static_cast<std::size_t>(to)] = true;
  for (bool g : got)
    if (!g) return false;
  return true;
}

AxisSet after(const Node& n, AxisSet in, const Mesh& mesh) {
  AxisSet axes = set_of(axes_of(n, mesh, true));
  bool groups = n.attrs.has("groups");
  switch (n.op->comm) {
    case Comm::Sum:
    case Comm::Max:
    case Comm::Min:
    case Comm::Gather:
      if (groups) return (in & axes).empty() ? in : in | axes;
      return in - axes;
    case Comm::ScatterSum:
    case Comm::AllToAll:
    case Comm::Index:
    case Comm::Slice: return in | axes;
    case Comm::Permute: return (in & axes).empty() && reaches_all(n, mesh) ? in : in | axes;
    case Comm::Cast:
    case Comm::None: return in;
  }
  return in;
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
      if (const Structure* s = ir::structure_of(*n.op); s && !n.regions.empty())
        region(n, *s, d, d.inside[i]);
      else
        for (ir::Var v : n.outputs) d.of[at(v)] = n.op->comm != Comm::None && mesh_ ? after(n, all, *mesh_) : all;
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
  static AxisSet result(const Node& n, const Distinct::Inside& inside, std::size_t region, std::size_t i) {
    return inside.regions[region].of[at(n.regions[region]->results[i])];
  }
  // Parameters first .. first + count of a region take what the inputs from `from` have.
  static void give(const Node& n, const Distinct& outer, Distinct::Inside& inside, std::size_t region,
                   std::size_t first, std::size_t from, std::size_t count) {
    for (std::size_t i = 0; i < count; ++i)
      grow(inside.regions[region].of[at(n.regions[region]->params[first + i])], outer.of[at(n.inputs[from + i])]);
  }

  void region(const Node& n, Structure kind, Distinct& d, Distinct::Inside& inside) {
    if (kind == Structure::Scan) return scan(n, d, inside);
    if (kind == Structure::While) return while_loop(n, d, inside);
    if (kind == Structure::Branch) return branch(n, d, inside);
    give(n, d, inside, 0, 0, 0, n.inputs.size());
    visit(*n.regions[0], inside.regions[0]);
    for (std::size_t i = 0; i < n.outputs.size(); ++i) d.of[at(n.outputs[i])] = result(n, inside, 0, i);
  }

  void branch(const Node& n, Distinct& d, Distinct::Inside& inside) {
    inside.blocks = d.of[at(n.inputs[0])];
    for (std::size_t r = 0; r < n.regions.size(); ++r) {
      give(n, d, inside, r, 0, 1, n.inputs.size() - 1);
      visit(*n.regions[r], inside.regions[r]);
    }
    for (std::size_t i = 0; i < n.outputs.size(); ++i) {
      AxisSet all = inside.blocks;
      for (std::size_t r = 0; r < n.regions.size(); ++r) all |= result(n, inside, r, i);
      d.of[at(n.outputs[i])] = all;
    }
  }

  void scan(const Node& n, Distinct& d, Distinct::Inside& inside) {
    const std::size_t first = count(n, "consts"), carry = count(n, "carry");
    Distinct& body = inside.regions[0];
    give(n, d, inside, 0, 0, 0, n.inputs.size());
    for (bool more = true; more;) {
      more = false;
      visit(*n.regions[0], body);
      for (std::size_t i = 0; i < carry; ++i)
        more |= grow(body.of[at(n.regions[0]->params[first + i])], result(n, inside, 0, i));
    }
    for (std::size_t i = 0; i < n.outputs.size(); ++i)
      d.of[at(n.outputs[i])] = i < carry ? body.of[at(n.regions[0]->params[first + i])] : result(n, inside, 0, i);
  }

  void while_loop(const Node& n, Distinct& d, Distinct::Inside& inside) {
    const std::size_t asks = count(n, "cond_consts"), takes = count(n, "body_consts"), carry = n.outputs.size();
    const auto& ask = n.regions[0];
    const auto& body = n.regions[1];
    give(n, d, inside, 0, 0, 0, asks);
    give(n, d, inside, 0, asks, asks + takes, carry);
    give(n, d, inside, 1, 0, asks, takes);
    give(n, d, inside, 1, takes, asks + takes, carry);
    for (bool more = true; more;) {
      more = false;
      visit(*ask, inside.regions[0]);
      inside.blocks |= result(n, inside, 0, 0);
      visit(*body, inside.regions[1]);
      for (std::size_t i = 0; i < carry; ++i) {
        const AxisSet by = result(n, inside, 1, i) | inside.blocks;
        more |= grow(inside.regions[0].of[at(ask->params[asks + i])], by);
        more |= grow(inside.regions[1].of[at(body->params[takes + i])], by);
      }
    }
    for (std::size_t i = 0; i < carry; ++i) d.of[at(n.outputs[i])] = inside.regions[1].of[at(body->params[takes + i])];
  }

  const Mesh* mesh_;
};

}  // namespace

std::vector<AxisId> axes_of(const Node& node, const Mesh& mesh, bool real) {
  std::vector<AxisId> out;
  if (const ir::AttrValue* v = node.attrs.find("axes"))
    if (auto* ids = std::get_if<ir::Ints>(v))
      for (std::int64_t a : *ids)
        if (!real || mesh.size_of(static_cast<AxisId>(a)) > 1) out.push_back(static_cast<AxisId>(a));
  return out;
}

Distinct distinct_axes(const ir::Graph& g, std::span<const AxisSet> params, const Mesh* mesh) {
  Distinct d = Analysis::blank(g);
  for (std::size_t i = 0; i < g.params.size(); ++i)
    for (AxisId a : params[i].list())
      if (mesh && mesh->size_of(a) > 1) d.of[at(g.params[i])].add(a);
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
    const Structure* kind = ir::structure_of(*n.op);
    if (!kind || (*kind != Structure::Scan && *kind != Structure::While)) continue;
    const std::size_t first = *kind == Structure::Scan ? count(n, "consts") : count(n, "body_consts");
    const std::size_t carry = *kind == Structure::Scan ? count(n, "carry") : n.outputs.size();
    const ir::Graph& body = *n.regions.back();
    const Distinct& in = inside.regions.back();
    for (std::size_t c = 0; c < carry; ++c)
      if (!in.of[at(body.params[first + c])].contains(in.of[at(body.results[c])]))
        refuse(n, "a turn gives back more than it takes");
  }
}

const Node* collective_over(const ir::Graph& g, AxisSet axes, const Mesh& mesh) {
  for (const Node& n : g.nodes) {
    Comm c = n.op->comm;
    if (c != Comm::None && c != Comm::Cast && c != Comm::Index && c != Comm::Slice &&
        !(set_of(axes_of(n, mesh, true)) & axes).empty())
      return &n;
    for (const auto& r : n.regions)
      if (const Node* found = collective_over(*r, axes, mesh)) return found;
  }
  return nullptr;
}

}  // namespace shard::transform
