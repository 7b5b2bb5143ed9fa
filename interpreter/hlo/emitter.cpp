#include "interpreter/hlo/emitter.h"

#include <algorithm>
#include <stdexcept>

#include "grammar/diagnostic.h"

namespace shard::hlo {

using ir::Node;

void refuse(const std::string& what, std::string_view why) {
  throw runtime::RuntimeError("engine", "engine xla has no `" + what + "`: " + std::string(why));
}

std::string Emitter::location(grammar::Span span) const {
  if (!span.known() || !how_.sources || !how_.sources->has(span.source)) return " loc(unknown)";
  const grammar::Source& source = how_.sources->at(span.source);
  const grammar::Position at = source.position(span.begin);
  return " loc(" + quoted(source.name()) + ":" + std::to_string(at.line) + ":" + std::to_string(at.column) + ")";
}

// What an operation does to operands that are not of the result's shape.
Values Emitter::row(const Node& n, std::span<const Value> in, std::span<const runtime::Type> out) {
  if (const auto* fn = std::get_if<ir::HloFn>(&n.op->hlo)) return (*fn)({to_, n.attrs, in, out});
  if (const auto* name = std::get_if<std::string_view>(&n.op->hlo))
    return {to_.op(*name, in, out[0].dtype, out[0].shape)};
  const auto* code = std::get_if<runtime::Code>(&n.op->kernel);
  if (!code) throw std::logic_error("row `" + std::string(n.op->name) + "` has no StableHLO");
  Values spread;
  for (const Value& v : in) spread.push_back(broadcast(v, out[0].shape));
  return {of_code(*code, spread, out[0].dtype)};
}

Values Emitter::node(const Inside& at) {
  return ir::structure_of(*at.node.op) ? structure(at) : row(at.node, at.in, at.out);
}

Values Emitter::graph(const ir::Graph& g, std::span<const Value> params, Scope known) {
  std::vector<Value> values(g.types.size());
  const auto value = [&](ir::Var v) -> Value& { return values[at(v)]; };
  for (std::size_t i = 0; i < g.params.size(); ++i) value(g.params[i]) = params[i];
  Values told;
  const std::string outside = to_.location();
  for (std::size_t i = 0; i < g.nodes.size(); ++i) {
    const Node& n = g.nodes[i];
    Values in, made;
    const std::vector<runtime::Type> out = types_of(g, n.outputs);
    to_.set_location(location(n.span));
    for (ir::Var v : n.inputs) in.push_back(value(v));
    try {
      const bool regions = known.distinct && i < known.distinct->inside.size();
      made = node({n, in, out, regions ? &known.distinct->inside[i] : nullptr,
                   known.layouts ? &known.layouts->regions[i] : nullptr});
      for (std::size_t k = 0; known.layouts && k < n.outputs.size(); ++k)
        if (!made[k].cut) made[k] = constrained(made[k], n, known.layouts->of[at(n.outputs[k])]);
    } catch (const runtime::RuntimeError& e) { throw grammar::Error(e.code, n.span, e.what()); }
    for (std::size_t k = 0; k < n.outputs.size(); ++k) value(n.outputs[k]) = made[k];
    told.insert(told.end(), made.begin() + static_cast<std::ptrdiff_t>(n.outputs.size()), made.end());
  }
  to_.set_location(outside);
  Values results;
  for (ir::Var v : g.results) results.push_back(value(v));
  results.insert(results.end(), told.begin(), told.end());
  return results;
}

// ---- layouts in the words of Shardy
namespace {

std::string shardings(std::string_view name, std::span<const Laid> values) {
  std::vector<std::string> texts;
  for (const Laid& v : values) texts.push_back(v.sharding);
  return std::string(name) + " = #sdy.sharding_per_value<[" + list(texts) + "]>, ";
}

}  // namespace

std::string list(std::span<const std::string> items) {
  std::string out;
  for (const std::string& item : items) out += (&item == items.data() ? "" : ", ") + item;
  return out;
}

std::string sharding_text(const runtime::Mesh& mesh, const AxesOfDims& dims, bool open) {
  std::vector<std::string> texts;
  for (const auto& axes : dims) {
    std::vector<std::string> names;
    for (runtime::AxisId a : axes) names.push_back(quoted(mesh.axes[a].name));
    if (open) names.emplace_back("?");
    texts.push_back("{" + list(names) + "}");
  }
  return "<@mesh, [" + list(texts) + "]>";
}

std::string sharding_text(const runtime::Mesh& mesh, const runtime::Sharding& layout, std::size_t rank, bool open) {
  AxesOfDims dims(rank);
  for (std::size_t d = 0; d < layout.dims.size(); ++d) dims[d] = layout.dims[d].axes;
  return sharding_text(mesh, dims, open);
}

std::string mesh_text(const runtime::Mesh& mesh) {
  std::vector<std::string> axes;
  for (const runtime::MeshAxis& a : mesh.axes) axes.push_back(quoted(a.name) + "=" + std::to_string(a.size));
  return "sdy.mesh @mesh = <[" + list(axes) + "]>";
}

Values by_hand(Writer& to, const runtime::Mesh& mesh, runtime::AxisSet axes, std::span<const Laid> in,
               std::span<const Laid> out, std::string_view region) {
  Values given, like;
  for (const Laid& v : in) given.push_back(v.value);
  for (const Laid& v : out) like.push_back(v.value);
  std::vector<std::string> names;
  for (runtime::AxisId a : axes.list()) names.push_back(quoted(mesh.axes[a].name));
  const std::string attributes = shardings("in_shardings", in) + shardings("out_shardings", out) +
                                 "manual_axes = #sdy<manual_axes{" + list(names) + "}>";
  return to.ops("sdy.manual_computation", given, like, attributes, region);
}

}  // namespace shard::hlo
