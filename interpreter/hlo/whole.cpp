// The form `auto`: the whole graph, values in the layouts that propagation found, per-device code as what devices do by
// hand along the axes that it took.
#include <algorithm>

#include "interpreter/hlo/emitter.h"
#include "interpreter/ir/region_edges.h"
#include "interpreter/transform/flow.h"

namespace shard::hlo {
namespace {

bool looks_at_place(const ir::Graph& g) {
  return std::any_of(g.nodes.begin(), g.nodes.end(), [](const ir::Node& n) {
    return (n.op->comm && (n.op->comm->place || !n.op->comm->communicates())) ||
           std::any_of(n.regions.begin(), n.regions.end(), [](const auto& r) { return looks_at_place(*r); });
  });
}

}  // namespace

// What the script lays out is said, whole or not, and what lies in pieces.
Value Emitter::constrained(const Value& x, const ir::Node& n, const runtime::Sharding& layout) {
  const bool asked = is(n, ir::Structure::Shard) && n.attrs.has("layout");
  if (!asked && layout.split_axes().empty()) return x;
  return to_.op("sdy.sharding_constraint", {x}, x.dtype, x.shape,
                "sharding = #sdy.sharding" + sharding_text(*program_.mesh, layout, x.shape.size()));
}

// Positions along these axes, each split over its own, and those that are known already: the id of a partition means
// nothing where axes are left to the engine, and what devices do by hand sees no values around it.
std::vector<std::pair<runtime::AxisId, Laid>> Emitter::places_along(runtime::AxisSet axes) {
  const runtime::Mesh& mesh = *program_.mesh;
  std::vector<std::pair<runtime::AxisId, Laid>> out;
  for (const auto& [a, value] : places_) out.push_back({a, {value, sharding_text(mesh, AxesOfDims{})}});
  for (runtime::AxisId a : axes.list())
    out.push_back({a, {iota(to_, DType::I32, {mesh.size_of(a)}, 0), sharding_text(mesh, AxesOfDims{{a}})}});
  return out;
}

Values Emitter::per_device(const Inside& at) {
  const ir::Node& n = at.node;
  const ir::Graph& body = *n.regions[0];
  const runtime::Mesh& mesh = *program_.mesh;
  const runtime::AxisSet taken = n.attrs.axes();
  const bool open = !taken.contains(mesh.all());
  std::vector<runtime::AxisSet> differ;
  std::vector<Laid> in, out;
  Values blocks;
  for (std::size_t i = 0; i < at.in.size(); ++i) {
    const runtime::Sharding spec = transform::spec_of(n.attrs, ir::operand_spec(i), at.in[i].shape.size());
    if (!spec.unreduced.empty())
      throw runtime::RuntimeError("engine",
                                  "the form `auto` has no per-device code that takes the terms of a sum: "
                                  "export the form `manual` or `replica`");
    const ir::Type& block = body.type(body.params[i]);
    in.push_back({at.in[i], sharding_text(mesh, spec, at.in[i].shape.size(), open)});
    blocks.push_back({&to_, {}, block.dtype, block.shape});
    differ.push_back(spec.split_axes() | block.varying);
  }
  const auto along = looks_at_place(body) ? places_along(taken) : std::vector<std::pair<runtime::AxisId, Laid>>{};
  for (const auto& [axis, place] : along) {
    in.push_back(place);
    blocks.push_back({&to_, {}, DType::I32, place.value.shape.empty() ? Shape{} : Shape{1}});
  }
  const Values params = to_.begin(blocks);
  const std::map<runtime::AxisId, Value> outer = std::move(places_);
  places_.clear();
  for (std::size_t k = 0; k < along.size(); ++k) places_[along[k].first] = reshape(params[at.in.size() + k], {});
  const transform::Distinct distinct = transform::distinct_axes(body, differ, &mesh);
  Values results = graph(body, std::span(params).subspan(0, at.in.size()), {&distinct, &(*at.layouts)[0]});
  places_ = outer;
  for (std::size_t i = 0; i < results.size(); ++i) {
    if (i < n.outputs.size()) {
      const runtime::Sharding spec = transform::spec_of(n.attrs, ir::result_spec(i), results[i].shape.size());
      results[i] = added(results[i], spec);
      out.push_back({results[i], sharding_text(mesh, spec, results[i].shape.size(), open)});
      out.back().value.shape = at.out[i].shape;
    } else {  // what must hold: an element of each
      results[i] = reshape(results[i], {1});
      out.push_back({results[i], sharding_text(mesh, AxesOfDims{taken.list()})});
      out.back().value.shape = {mesh.size_of(taken)};
    }
  }
  const std::string region = to_.end(results, "sdy.return");
  Values made = by_hand(to_, mesh, taken, in, out, region);
  for (std::size_t i = n.outputs.size(); i < made.size(); ++i)
    made[i] = reduced(made[i], runtime::Reduce::And, ir::Ints{0});
  return made;
}

}  // namespace shard::hlo
