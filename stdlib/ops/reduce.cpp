// The reductions that a graph holds: over `axes` (counted from the end), which vanish. Internal: users call sum, mean,
// ... of statistics.cpp, which settle axes and element types. A split reduced dimension leaves an unreduced sum,
// product, maximum, ...
#include <array>
#include <cstdint>
#include <memory>

#include "interpreter/hlo/writer.h"
#include "runtime/kernels/reduction.h"
#include "stdlib/ops/hlo.h"
#include "stdlib/ops/moving/halo.h"
#include "stdlib/ops/moving/moving_steps.h"
#include "stdlib/ops/ops.h"

namespace shard::stdlib {
namespace {

using runtime::Reduce;

ir::FactorFn reduce_factors(FactorReduce how) {
  return [how](const OpCall& call) {
    RuleBuilder r;
    const Shape& shape = call.in[0].shape;
    auto dims = r.dims(shape);
    std::vector<bool> gone(shape.size(), false);
    for (int a : from_front(call.attrs.ints("axes"), call.in[0].rank())) {
      gone.at(static_cast<std::size_t>(a)) = true;
      auto& f = r.rule.factors[static_cast<std::size_t>(dims[static_cast<std::size_t>(a)][0])];
      f.kind = FactorKind::Reduced;
      f.reduce = how;
    }
    ir::ValueFactors kept;
    for (std::size_t d = 0; d < dims.size(); ++d)
      if (!gone[d]) kept.push_back(dims[d]);
    return r.made({dims}, {kept});
  };
}

ir::KernelFn reduce_kernel(Reduce op) {
  return [op](const KernelCall& c) -> BoundKernel {
    const auto axes = from_front(c.attrs.ints("axes"), c.in[0].rank());
    const auto prepared = std::make_shared<const runtime::Reduction>(op, c.in[0], axes, c.out[0]);
    return [prepared](void* const* i, void* const* o) { prepared->run(i[0], o[0]); };
  };
}

// The largest or smallest shares its derivative equally among ties (JAX).
Vars extreme_jvp(Builder& b, const NodeView& n, Var tangent) {
  const Ints& axes = n.call.attrs.ints("axes");
  Expr x{b, n.in[0]}, y{b, expand(b, n.out[0], ones_at(x.type().shape, axes))};
  Expr chosen = cast_to(eq(x, y), x.type().dtype, x.type().weak);
  Expr count{b, ir::reduce_sum(b, chosen, axes)}, sum{b, ir::reduce_sum(b, Expr{b, tangent} * chosen, axes)};
  return {sum / count};
}

// Halves of a split dimension lie elsewhere: the axes whole.
Var whole_along(Builder& b, Var x, const Ints& axes) {
  if (!laid_out(b.type(x))) return x;
  Layout whole{b.type(x).mesh, b.type(x).sharding};
  for (int a : from_front(axes, b.type(x).rank())) whole.sharding.dims[static_cast<std::size_t>(a)].axes.clear();
  return b.emit1(*b.core().shard, {x}, {{"layout", whole}});
}

// Of complex numbers: products of halves until one is left.
Vars complex_product(Builder& b, std::span<const Var> in, const Attrs& attrs) {
  const Ints& axes = attrs.ints("axes");
  const Shape left = erase_axes(b.type(in[0]).shape, axes);
  Expr x{b, whole_along(b, in[0], axes)};
  for (const auto axis : axes) {
    const auto d = static_cast<std::size_t>(from_front(axis, x.type().rank()));
    if (x.type().shape[d] == 0) return {ir::broadcast_to(b, x.number(1), left)};
    while (x.type().shape[d] > 1) {
      const std::int64_t size = x.type().shape[d], half = size / 2;
      const Expr y = part_of(b, x, axis, 0, half) * part_of(b, x, axis, half, 2 * half);
      x = size % 2 == 0 ? y : Expr{b, join_parts(b, {y, part_of(b, x, axis, size - 1, size)}, axis)};
    }
  }
  return {expand(b, x, left)};
}

// Products of halves, value and tangent together, until one is left: exact at zeros and for derivatives of any order
// (JAX does the same).
Vars product_jvp(Builder& b, const NodeView& n, Var tangent) {
  const Ints& axes = n.call.attrs.ints("axes");
  Var x = whole_along(b, n.in[0], axes), dx = whole_along(b, tangent, axes);
  for (auto axis : axes) {
    auto d = static_cast<std::size_t>(from_front(axis, b.type(x).rank()));
    if (b.type(x).shape[d] == 0) return {ir::zeros(b, b.type(n.out[0]))};
    const auto part = [&](Var v, std::int64_t from, std::int64_t to) { return part_of(b, v, axis, from, to); };
    while (b.type(x).shape[d] > 1) {
      std::int64_t size = b.type(x).shape[d], half = size / 2;
      Expr x1 = part(x, 0, half), x2 = part(x, half, 2 * half), d1 = part(dx, 0, half), d2 = part(dx, half, 2 * half);
      Expr y = x1 * x2, dy = d1 * x2 + x1 * d2;
      const bool odd = size % 2 != 0;
      x = odd ? join_parts(b, {y, part(x, size - 1, size)}, axis) : y.var();
      dx = odd ? join_parts(b, {dy, part(dx, size - 1, size)}, axis) : dy.var();
    }
  }
  return {expand(b, dx, b.type(n.out[0]).shape)};
}

ir::Samples reduce_samples(bool truth, double low) {
  if (truth)
    return "bool[4, 6] 0..2 axes=[-1]; bool[4, 6] 0..2 axes=[-2]; bool[2, 4, 6] 0..2 axes=[-3, -1]; "
           "bool[2, 4] 0..2 axes=[-2, -1]; bool[4] 0..2 axes=[]";
  return {
      "[4, 6] axes=[-1]; [4, 6] axes=[-2]; [2, 4, 6] axes=[-3, -1]; [2, 4] axes=[-2, -1]; [4] axes=[]; "
      "i32[4, 6] -4..5 axes=[-2]",
      ir::Range{low, 2}};
}

// Sums and products of narrow floats are rounded once, at the end.
ir::HloFn reduce_hlo(Reduce op) {
  return [op](const hlo::Use& u) -> hlo::Values {
    Ints dims;
    for (int d : from_front(u.attrs.ints("axes"), u.in[0].rank())) dims.push_back(d);
    const hlo::Value& x = u.in[0];
    const bool adds = op == Reduce::Sum || op == Reduce::Prod;
    const bool narrow = adds && runtime::is_narrow(x.dtype);
    return {hlo::convert(hlo::reduced(narrow ? hlo::convert(x, DType::F32) : x, op, dims), x.dtype)};
  };
}

// Over a few arrays that are stacked: these arrays, joined one after the other. So is the order of reduce() for fewer
// than eight, however they lie, but that narrow floats are summed in f32.
ir::WithMakerFn of_stacked(std::string_view join) {
  return [join](Builder& b, const OpCall& call, const ir::Node& maker, const Vars& in) -> std::optional<Var> {
    constexpr std::size_t kFew = 7;
    const Ints& axes = call.attrs.ints("axes");
    const auto size = [&](Var x) {
      return b.type(x).shape[static_cast<std::size_t>(from_front(axes[0], b.type(x).rank()))];
    };
    if (maker.op != b.core().concat || in.size() > kFew || axes.size() != 1 || axes[0] != maker.attrs.integer("axis") ||
        runtime::is_narrow(call.in[0].dtype) || !call.in[0].sharding.used_axes().empty() ||
        std::any_of(in.begin(), in.end(), [&](Var x) { return size(x) != 1; }))
      return {};
    const Shape shape = erase_axes(call.in[0].shape, axes);
    // As it was before it was stacked: what made it and what joins it are one program then.
    const auto taken = [&](Var x) {
      const ir::Node* made = b.maker(x);
      return made && made->op == b.core().reshape && b.type(made->inputs[0]).shape == shape ? made->inputs[0]
                                                                                            : ir::reshape(b, x, shape);
    };
    std::optional<Var> all;
    for (Var x : in) {
      const Var part = taken(x);
      all = all ? b.call(join, {*all, part}) : part;
    }
    return all;
  };
}

OpDef reduce_row(std::string_view signature, std::string_view doc, Reduce op, FactorReduce how,
                 ir::Derivative derivative) {
  bool truth = op == Reduce::And || op == Reduce::Or;
  OpDef row = internal_row(signature, doc, reduce_factors(how));
  row.derivative = std::move(derivative);
  row.kernel = reduce_kernel(op);
  row.reduces = op;
  row.hlo = reduce_hlo(op);
  constexpr std::array<std::string_view, 4> kJoins{"add", "mul", "maximum", "minimum"};
  if (!truth) row.with_maker = of_stacked(kJoins.at(static_cast<std::size_t>(op)));
  row.samples = reduce_samples(truth, op == Reduce::Prod ? 0.5 : -2);
  return row;
}

// Split along the axis: every device that has the extreme gives the position of its first one, the others a position
// behind all; the smallest, still unreduced, is the answer.
Vars arg_locally(Builder& b, const ir::LocalCall& c, std::span<const Var> in, bool largest) {
  auto a = static_cast<std::size_t>(from_front(c.call.attrs.integer("axis"), c.call.in[0].rank()));
  const auto s = split_dim(c, 0, a);
  if (!s) return b.emit(c.call.op, in, c.attrs);
  const auto& axes = s->axes;
  const Var x = ended(b, in[0], *s, largest ? FactorReduce::Max : FactorReduce::Min);
  Expr local{b, b.emit(c.call.op, std::array{x}, c.attrs).at(0)};
  std::int64_t size = b.type(x).shape[a];
  Expr mine{b, b.call(largest ? "reduce_max" : "reduce_min", {x}, {{"axes", Ints{c.call.attrs.integer("axis")}}})};
  bool truth = mine.type().dtype == DType::Bool;  // collectives compare numbers
  if (truth) mine = cast_to(mine, DType::I32);
  Expr best{b, b.call(largest ? "pmax" : "pmin", {mine}, over_devices(b, axes))};
  Expr has = call("logical_or", {eq(mine, best), call("isnan", {mine})});
  Expr first{b, ir::mul(b, device_position(b, axes), scalar_i32(b, size))};
  Expr behind{b, scalar_i32(b, INT32_MAX)};
  return {select(has, local + first, behind)};
}

OpDef arg_row(std::string_view signature, std::string_view doc, bool largest) {
  OpDef row = internal_row(signature, doc);
  row.factors = [](const OpCall& call) {
    RuleBuilder r;
    auto dims = r.dims(call.in[0].shape);
    auto a = static_cast<std::size_t>(from_front(call.attrs.integer("axis"), call.in[0].rank()));
    auto& along = r.rule.factors[static_cast<std::size_t>(dims.at(a)[0])];
    along.kind = FactorKind::Masked;
    along.reduce = FactorReduce::Min;
    auto kept = dims;
    kept.erase(kept.begin() + static_cast<std::ptrdiff_t>(a));
    return r.made({dims}, {kept});
  };
  row.dtype.result = always(DType::I32);
  row.derivative = ir::Zero{};
  row.hlo = [largest](const hlo::Use& u) { return extreme_position_hlo(u, largest); };
  row.kernel = [largest](const KernelCall& c) -> BoundKernel {
    View in = c.in[0], out = c.out[0];
    int axis = from_front(c.attrs.integer("axis"), in.rank());
    return [=](void* const* i, void* const* o) mutable {
      runtime::arg_reduce(largest, at(in, i[0]), axis, at(out, o[0]));
    };
  };
  row.partition = [largest](Builder& b, const ir::LocalCall& c, std::span<const Var> in) {
    return arg_locally(b, c, in, largest);
  };
  row.samples = "[4, 6] axis=-1; [2, 4, 6] axis=-2; i32[8, 4] 0..3 axis=-2";
  return row;
}

}  // namespace

void register_reduce(OpTable& t) {
  OpDef sum =
      reduce_row("reduce_sum(x, axes: ints, out: spec? = none)", "Sums over the axes, which vanish.", Reduce::Sum,
                 FactorReduce::Sum, linear([](Builder& b, const NodeView& n, Var ct, const Type& want) {
                   return spread(b, ct, n.call.attrs.ints("axes"), want.shape);
                 }));
  sum.of_complex = ir::OnParts{};
  t.add(std::move(sum));
  OpDef product = reduce_row("reduce_prod(x, axes: ints)", "Products over the axes, which vanish.", Reduce::Prod,
                             FactorReduce::Prod, pushed(product_jvp));
  product.of_complex = complex_product;
  t.add(std::move(product));
  t.add(reduce_row("reduce_max(x, axes: ints, out: spec? = none)", "The largest over the axes, which vanish.",
                   Reduce::Max, FactorReduce::Max, pushed(extreme_jvp)));
  t.add(reduce_row("reduce_min(x, axes: ints, out: spec? = none)", "The smallest over the axes, which vanish.",
                   Reduce::Min, FactorReduce::Min, pushed(extreme_jvp)));
  t.add(reduce_row("reduce_and(x, axes: ints)", "Whether all are true over the axes, which vanish.", Reduce::And,
                   FactorReduce::And, ir::Zero{}));
  t.add(reduce_row("reduce_or(x, axes: ints)", "Whether one is true over the axes, which vanish.", Reduce::Or,
                   FactorReduce::Or, ir::Zero{}));
  t.add(arg_row("arg_max(x, axis: int)", "The position of the largest along the axis, the first of equals.", true));
  t.add(arg_row("arg_min(x, axis: int)", "The position of the smallest along the axis, the first of equals.", false));
}

}  // namespace shard::stdlib
