#include "interpreter/transform/uneven.h"

#include <limits>

#include "interpreter/ir/core_ops.h"
#include "interpreter/ir/linear.h"
#include "interpreter/transform/factor_layout.h"
#include "interpreter/transform/passes.h"

namespace shard::transform {
namespace {

using ir::FactorReduce;
using ir::Var;
using runtime::DType;
using runtime::Shape;

// What changes nothing in such a reduction.
Var identity_of(ir::Builder& b, FactorReduce how, runtime::Kind kind) {
  const auto [dtype, weak] = kind;
  if (how == FactorReduce::Sum || how == FactorReduce::Or) return ir::constant(b, 0, dtype, weak);
  if (how == FactorReduce::Prod || how == FactorReduce::And) return ir::constant(b, 1, dtype, weak);
  const bool largest = how == FactorReduce::Min;
  if (dtype == DType::Bool) return ir::constant(b, largest ? 1 : 0, dtype, weak);
  if (runtime::is_float(dtype)) {
    const double end = dtype == DType::F8E4M3 ? runtime::float_form(dtype)->largest  // it has no infinity
                                              : std::numeric_limits<double>::infinity();
    return ir::constant(b, largest ? end : -end, dtype, weak);
  }
  if (!runtime::is_signed(dtype))  // all bits are set
    return ir::convert(b, ir::constant_int(b, largest ? -1 : 0, DType::I64), dtype, weak);
  const std::int64_t lowest = std::numeric_limits<std::int64_t>::min() >> (64 - runtime::bits_of(dtype));
  return ir::constant_int(b, largest ? -(lowest + 1) : lowest, dtype, weak);
}

// Where the elements of a blocked dimension are real: truth values, the other dimensions of size 1.
Var real_part(ir::Builder& b, const Shape& local, const BlockedDim& of) {
  const std::int64_t block = local[of.dim];
  Shape line(local.size(), 1);
  line[of.dim] = block;
  const auto axis = static_cast<std::int64_t>(of.dim) - static_cast<std::int64_t>(local.size());
  const ir::Ints axes(of.axes.begin(), of.axes.end());
  Var here = b.emit1(*b.core().iota, {}, {{"shape", line}, {"axis", axis}, {"dtype", DType::I32}});
  Var device =
      b.emit1(*b.core().axis_index, {}, {{"axes", axes}, {"mesh", ir::Layout{b.graph().mesh, {}}}, {"written", false}});
  // Counted from the device's first element, so that a whole dimension need not fit into i32.
  const std::int64_t last = (of.size - 1) / block;
  Var own = b.emit1(*b.core().lt, {device, ir::constant_int(b, last)}, {});
  Var at_end = b.emit1(*b.core().eq, {device, ir::constant_int(b, last)}, {});
  Var count = ir::select(b, own, ir::constant_int(b, block),
                         ir::select(b, at_end, ir::constant_int(b, of.size - last * block), ir::constant_int(b, 0)));
  return b.emit1(*b.core().lt, {here, ir::broadcast_to(b, count, line)}, {});
}

// Zeros behind the end of what is linear in a smaller operand, along a dimension that comes from there, by zeros behind
// the end of that operand.
std::optional<Var> filled_before(ir::Builder& b, Var x, const BlockedDim& of) {
  constexpr std::size_t kNear = 256;  // nodes that are looked at: whoever asks has hardly made more meanwhile
  const auto& nodes = b.graph().nodes;
  for (std::size_t k = nodes.size(); k-- > 0 && k + kNear >= nodes.size();) {
    const ir::Node& n = nodes[k];
    if (n.outputs.size() != 1 || n.outputs[0] != x) continue;
    const std::vector<ir::Type> in = types_of(b.graph(), n.inputs);
    const auto linear = ir::linear({*n.op, in, n.attrs, n.regions, &b.graph(), n.inputs});
    const RuleRef rule = linear && !linear->jointly ? local_rule(*n.op, in, n.attrs, n.rule) : RuleRef();
    if (!rule || rule->results[0][of.dim].size() != 1) return std::nullopt;
    const int f = rule->results[0][of.dim][0];
    for (std::size_t i = 0; i < in.size() && rule->factor(f).kind == ir::FactorKind::Pass; ++i) {
      const auto d = ir::dimension_with(rule->operands[i], f);
      if (!d || rule->operands[i][*d].size() != 1 || !linear->in[i] ||
          runtime::numel(in[i].shape) >= runtime::numel(b.type(x).shape))
        continue;
      const ir::Node made = n;  // the graph grows
      ir::Vars inputs = made.inputs;
      inputs[i] = filled(b, inputs[i], {*d, of.axes, of.size}, FactorReduce::Sum);
      return b.append(*made.op, std::move(inputs), made.attrs, made.regions, {b.type(x)}, made.rule).at(0);
    }
    return std::nullopt;
  }
  return std::nullopt;
}

std::int64_t padded(std::int64_t size, std::int64_t parts) { return (size + parts - 1) / parts * parts; }

}  // namespace

bool splits_unevenly(const ir::Type& type, std::size_t d, std::int64_t n) {
  return type.dtype != DType::Key && type.shape[d] >= n;
}

Sharding evened(const Mesh& mesh, const Shape& shape, Sharding layout) {
  for (std::size_t d = 0; d < shape.size(); ++d) {
    Axes& axes = layout.dims[d].axes;
    while (shape[d] % mesh.size_of(axes) != 0) axes.pop_back();
  }
  return layout;
}

Var filled(ir::Builder& b, Var x, const BlockedDim& of, FactorReduce how) {
  const ir::Type type = b.type(x);
  std::int64_t held = type.shape[of.dim];
  for (AxisId a : of.axes) held *= b.graph().mesh->size_of(a);
  if (held == of.size) return x;
  if (how == FactorReduce::Sum)
    if (const auto made = filled_before(b, x, of)) return *made;
  Var real = ir::broadcast_to(b, real_part(b, type.shape, of), type.shape);
  return ir::select(b, real, x, ir::broadcast_to(b, identity_of(b, how, type.kind()), type.shape));
}

Var fitted(ir::Builder& b, Var x, const Shape& shape) {
  const Shape now = b.type(x).shape;
  ir::Pairs widths(now.size(), {0, 0});
  ir::Ints limit;
  bool more = false, less = false;
  for (std::size_t d = 0; d < now.size(); ++d) {
    if (shape[d] > now[d]) widths[d].second = shape[d] - now[d], more = true;
    limit.push_back(shape[d] < now[d] ? shape[d] : ir::kWhole);
    less |= shape[d] < now[d];
  }
  if (less)
    x = b.emit1(*b.core().slice, {x},
                {{"start", ir::Ints(now.size(), 0)}, {"limit", limit}, {"step", ir::Ints(now.size(), 1)}});
  if (!more) return x;
  return b.emit1(*b.core().pad, {x, ir::constant(b, 0, b.type(x).dtype, b.type(x).weak)}, {{"widths", widths}});
}

// The moves are those of a value whose sizes are rounded up: extended before where a dimension becomes split, cut off
// behind where it becomes whole. Where its blocks are of one kind before and of another behind, it is whole between.
Var reshard_blocks(ir::Builder& b, Var x, const ir::Type& global, const Mesh& mesh, const Sharding& from,
                   const Sharding& to) {
  if (runtime::divides(mesh, global.shape, from) && runtime::divides(mesh, global.shape, to))
    return reshard(b, x, global, mesh, from, to);
  ir::Type rounded = global;
  Shape given = b.type(x).shape, wanted = runtime::block_shape(mesh, global.shape, to);
  Sharding between = from;
  bool twice = false;
  for (std::size_t d = 0; d < global.shape.size(); ++d) {
    const std::int64_t before = runtime::parts(mesh, from.dims[d]), after = runtime::parts(mesh, to.dims[d]);
    std::int64_t& size = rounded.shape[d];
    if (before == 1) given[d] = padded(size, after);
    if (from.dims[d].axes != to.dims[d].axes && before > 1 && after > 1 &&
        padded(size, before) != padded(size, after)) {
      between.dims[d].axes.clear();
      twice = true;
    }
    size = padded(size, before > 1 ? before : after);
  }
  if (twice) return reshard_blocks(b, reshard_blocks(b, x, global, mesh, from, between), global, mesh, between, to);
  return fitted(b, reshard(b, fitted(b, x, given), rounded, mesh, from, to), wanted);
}

}  // namespace shard::transform
