// Prices: the cheaper of two ways into another layout, and of one operation's splits. What is moved, and what devices
// compute more than once. Splits are priced only where layouts disagree on a factor that is summed: the others are
// settled without (`choose`).
#include <algorithm>
#include <array>

#include "interpreter/ir/linear.h"
#include "interpreter/transform/partitioner.h"

namespace shard::transform {

using ir::FactorKind;
using ir::Node;
using ir::Var;

namespace {

// Operations that take as long as a byte between devices, at least: accelerators' links do some 150 (f32) to 2,500.
constexpr double kOperationsPerByte = 128;

}  // namespace

// Whether n computes nothing and its result has the elements of its one operand several times: a bias over the rows,
// the windows of an image; or of one number anything.
bool Partitioner::repeats(const Node& n) const {
  if (n.inputs.size() != 1 || n.outputs.size() != 1 || !n.regions.empty() || n.op->comm || n.op->flops > 0)
    return false;
  return g_.type(n.inputs[0]).shape.empty() || bytes_of(g_.type(n.outputs[0])) > bytes_of(g_.type(n.inputs[0]));
}

// Such a value in the layout that is wanted, made again where its operand has the shorter way: of one number nothing
// has to move.
std::optional<Partitioner::Anew> Partitioner::anew(Var v, const Sharding& want) const {
  const PlacedValue& x = values_[at(v)];
  if (!x.repeats || !want.unreduced.empty() || !x.layout.unreduced.empty()) return std::nullopt;
  const runtime::Mesh& mesh = *context_.mesh;
  const Var source = x.repeats->inputs[0];
  const PlacedValue& from = values_[at(source)];
  if (!from.layout.unreduced.empty()) return std::nullopt;
  Anew out{x.repeats, rule_of(g_, *x.repeats), {}, {}};
  out.axes = project(*out.rule, out.rule->results[0], want, mesh);
  if (!same_split(layout_of(*out.rule, out.rule->results[0], out.axes, mesh), want)) return std::nullopt;
  out.operand = layout_of(*out.rule, out.rule->operands[0], out.axes, mesh);
  for (std::size_t f = 0; f < out.axes.size(); ++f)
    if (!out.axes[f].empty() && out.rule->factors[f].kind != FactorKind::Pass) return std::nullopt;
  if (from.layout.dims.empty()) return out;
  if (bytes_moved(g_.type(source), mesh, from.layout, out.operand) >= bytes_moved(g_.type(v), mesh, x.layout, want))
    return std::nullopt;
  return out;
}

Var Partitioner::made_anew(Var v, const Sharding& want) {
  const auto way = anew(v, want);
  if (!way) return {};
  const Var source = need(way->node->inputs[0], way->operand);
  return emit_local(*way->node, *way->rule, way->axes, {source}, std::array{want})[0];
}

// What one device sends until v is in this layout.
std::int64_t Partitioner::bytes_to(Var v, const Sharding& want) const {
  const runtime::Mesh& mesh = *context_.mesh;
  if (const auto way = anew(v, want))
    return bytes_moved(g_.type(way->node->inputs[0]), mesh, values_[at(way->node->inputs[0])].layout, way->operand);
  return bytes_moved(g_.type(v), mesh, values_[at(v)].layout, want);
}

// How much of what v is summed over devices in the end, of its bytes: linear operations may make it smaller first.
double Partitioner::share_summed(Var v) const {
  constexpr int kFar = 16;
  const auto all = static_cast<double>(bytes_of(g_.type(v)));
  double least = all;
  for (int step = 0; step < kFar && uses_[at(v)] == 1; ++step) {
    const Node* user = user_[at(v)];
    if (!user) return loop_ ? 0 : least / all;  // it may wait until the loop ends
    const std::vector<ir::Type> in = types_of(g_, user->inputs);
    const auto linear = ir::linear({*user->op, in, user->attrs, user->regions, &g_, user->inputs});
    const auto place = std::find(user->inputs.begin(), user->inputs.end(), v) - user->inputs.begin();
    if (!linear || !linear->exact || !linear->in[static_cast<std::size_t>(place)] || user->outputs.size() != 1) break;
    v = user->outputs[0];
    least = std::min(least, static_cast<double>(bytes_of(g_.type(v))));
  }
  return all > 0 ? least / all : 1;
}

// In bytes: operands into their layouts, results out of theirs, and what each device computes.
double Partitioner::price(const Node& n, const ir::FactorRule& rule, const FactorAxes& axes) const {
  const runtime::Mesh& mesh = *context_.mesh;
  double sent = 0, operations = n.op->flops;
  for (std::size_t i = 0; i < n.inputs.size(); ++i) {
    Sharding to = layout_of(rule, rule.operands[i], axes, mesh);
    to.unreduced = values_[at(n.inputs[i])].layout.unreduced;
    sent += static_cast<double>(bytes_to(n.inputs[i], to));
  }
  for (std::size_t r = 0; r < n.outputs.size(); ++r) {
    const Var v = n.outputs[r];
    Sharding from = layout_of(rule, rule.results[r], axes, mesh);
    for (std::size_t f = 0; f < axes.size(); ++f)
      if (!ir::dimension_with(rule.results[r], static_cast<int>(f))) from.unreduced |= AxisSet::of(axes[f]);
    sent += static_cast<double>(bytes_moved(g_.type(v), mesh, from, wanted(v))) *
            (from.unreduced.empty() ? 1 : share_summed(v));
  }
  for (std::size_t f = 0; f < axes.size(); ++f)
    operations *= static_cast<double>(rule.factors[f].size) / static_cast<double>(mesh.size_of(axes[f]));
  return sent + operations / kOperationsPerByte;
}

// A summed factor that only some of the operands are split along.
bool Partitioner::disputed(const Node& n, const ir::FactorRule& rule, const FactorAxes& axes, std::size_t f) const {
  if (axes[f].empty() || rule.factors[f].kind != FactorKind::Reduced) return false;
  bool some = false, all = true;
  for (std::size_t i = 0; i < n.inputs.size(); ++i) {
    if (!ir::dimension_with(rule.operands[i], static_cast<int>(f))) continue;
    const Sharding& has = values_[at(n.inputs[i])].layout;
    const bool agrees = is_prefix(axes[f], project(rule, rule.operands[i], has, *context_.mesh)[f]);
    some |= agrees;
    all &= agrees;
  }
  return some && !all;
}

// `axes`, or without one of the factors that the operands do not agree on: these are gathered then, where that sends
// less than the sum would.
FactorAxes Partitioner::cheaper(const Node& n, const ir::FactorRule& rule, FactorAxes axes) const {
  for (std::size_t f = 0; f < axes.size(); ++f) {
    if (!disputed(n, rule, axes, f)) continue;
    FactorAxes less = axes;
    less[f].clear();
    if (price(n, rule, less) < price(n, rule, axes)) axes = std::move(less);
  }
  return axes;
}

}  // namespace shard::transform
