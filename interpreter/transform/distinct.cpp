// The analysis of distinct axes: unions along data flow, the few rules of collectives, fixed points of loops.
#include "interpreter/transform/distinct.h"

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

std::vector<AxisSet> results_of(const ir::Graph& g, std::span<const AxisSet> params, const Mesh* mesh, AxisSet frozen) {
  std::vector<AxisSet> all = distinct_axes(g, params, mesh, frozen), out;
  for (ir::Var r : g.results) out.push_back(all[static_cast<std::size_t>(r.id)]);
  return out;
}

bool grow(AxisSet& s, AxisSet by) {
  if (s.contains(by)) return false;
  s |= by;
  return true;
}

}  // namespace

std::vector<AxisId> axes_of(const Node& node, const Mesh& mesh, bool real) {
  std::vector<AxisId> out;
  if (const ir::AttrValue* v = node.attrs.find("axes"))
    if (auto* ids = std::get_if<ir::Ints>(v))
      for (std::int64_t a : *ids)
        if (!real || mesh.size_of(static_cast<AxisId>(a)) > 1) out.push_back(static_cast<AxisId>(a));
  return out;
}

LoopAxes loop_axes(const Node& n, std::span<const AxisSet> in, const Mesh* mesh, AxisSet frozen) {
  LoopAxes out;
  bool scan = *ir::structure_of(*n.op) == Structure::Scan;
  auto count = [&](const char* name) { return static_cast<std::size_t>(n.attrs.integer(name)); };
  std::size_t first = scan ? count("consts") : count("cond_consts") + count("body_consts");
  std::size_t carried = scan ? count("carry") : in.size() - first;
  out.carry.assign(in.begin() + static_cast<std::ptrdiff_t>(first),
                   in.begin() + static_cast<std::ptrdiff_t>(first + carried));
  for (bool more = true; more;) {
    more = false;
    std::vector<AxisSet> body;
    if (scan) {
      body.assign(in.begin(), in.begin() + static_cast<std::ptrdiff_t>(first));
      body.insert(body.end(), out.carry.begin(), out.carry.end());
      body.insert(body.end(), in.begin() + static_cast<std::ptrdiff_t>(first + carried), in.end());
    } else {
      std::vector<AxisSet> cond(in.begin(), in.begin() + static_cast<std::ptrdiff_t>(count("cond_consts")));
      cond.insert(cond.end(), out.carry.begin(), out.carry.end());
      out.condition |= results_of(*n.regions[0], cond, mesh, frozen)[0];
      body.assign(in.begin() + static_cast<std::ptrdiff_t>(count("cond_consts")),
                  in.begin() + static_cast<std::ptrdiff_t>(first));
      body.insert(body.end(), out.carry.begin(), out.carry.end());
    }
    std::vector<AxisSet> results = results_of(*n.regions.back(), body, mesh, frozen);
    for (std::size_t i = 0; i < carried; ++i) more |= grow(out.carry[i], results[i] | out.condition);
    out.stacked.assign(results.begin() + static_cast<std::ptrdiff_t>(carried), results.end());
  }
  return out;
}

std::vector<AxisSet> distinct_axes(const ir::Graph& g, std::span<const AxisSet> params, const Mesh* mesh,
                                   AxisSet frozen) {
  std::vector<AxisSet> of(g.types.size());
  for (std::size_t i = 0; i < g.params.size(); ++i) of[static_cast<std::size_t>(g.params[i].id)] = params[i] - frozen;
  for (const Node& n : g.nodes) {
    std::vector<AxisSet> in;
    AxisSet all;
    for (ir::Var v : n.inputs) {
      in.push_back(of[static_cast<std::size_t>(v.id)]);
      all |= in.back();
    }
    std::vector<AxisSet> out(n.outputs.size(), all);
    const Structure* s = ir::structure_of(*n.op);
    if (n.op->comm != Comm::None && mesh) {
      std::fill(out.begin(), out.end(), after(n, all, *mesh));
    } else if (s && *s == Structure::Call) {
      out = results_of(*n.regions[0], in, mesh, frozen);
    } else if (s && *s == Structure::Branch) {
      std::span<const AxisSet> given(in.begin() + 1, in.end());
      std::fill(out.begin(), out.end(), in[0]);
      for (const auto& region : n.regions) {
        std::vector<AxisSet> results = results_of(*region, given, mesh, frozen);
        for (std::size_t i = 0; i < out.size(); ++i) out[i] |= results[i];
      }
    } else if (s && (*s == Structure::Scan || *s == Structure::While)) {
      LoopAxes loop = loop_axes(n, in, mesh, frozen);
      out = loop.carry;
      out.insert(out.end(), loop.stacked.begin(), loop.stacked.end());
    }
    for (std::size_t i = 0; i < out.size(); ++i) of[static_cast<std::size_t>(n.outputs[i].id)] = out[i] - frozen;
  }
  return of;
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
