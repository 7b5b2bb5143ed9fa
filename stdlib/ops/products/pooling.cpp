// Pools: the largest or the mean of each window of x [batch..., spatial..., C]. Rows are the largest, the sum, and the
// two that derivatives of the largest are made of: what another array has where x is the largest, and the other way
// round.
#include <cmath>
#include <limits>

#include "runtime/kernels/kernels.h"
#include "stdlib/ops/hlo.h"
#include "stdlib/ops/moving/halo.h"
#include "stdlib/ops/ops.h"
#include "stdlib/ops/products/windows.h"

namespace shard::stdlib {
namespace {

// The attributes of a row again, of windows that a local form has changed.
Attrs attrs_of(const Spatial& s) { return {{"window", s.window}, {"stride", s.stride}, {"padding", s.padding}}; }

double least_of(DType dtype) {
  if (runtime::is_float(dtype)) return -std::numeric_limits<double>::infinity();
  return runtime::is_signed(dtype) ? -std::ldexp(1.0, static_cast<int>(runtime::size_of(dtype)) * 8 - 1) : 0;
}

// ---- StableHLO

std::string window_attributes(const hlo::Use& u) {
  const Spatial p(u.attrs, u.in[0].shape.size());
  Ints window(p.lead, 1), stride(p.lead, 1);
  Pairs padding(p.lead, {0, 0});
  window.insert(window.end(), p.window.begin(), p.window.end());
  stride.insert(stride.end(), p.stride.begin(), p.stride.end());
  padding.insert(padding.end(), p.padding.begin(), p.padding.end());
  window.push_back(1), stride.push_back(1), padding.emplace_back(0, 0);
  return "window_dimensions = " + hlo::list_text(window) + ", window_strides = " + hlo::list_text(stride) + ", " +
         padding_text(padding);
}

// Of two scalars, whether the first one is the largest: one before the other, or a nan.
hlo::Value before(const hlo::Value& x, const hlo::Value& y) {
  const hlo::Value more = hlo::compare(x, y, "GE");
  return runtime::is_float(x.dtype) ? hlo::either(more, hlo::compare(x, x, "NE")) : more;
}

hlo::Values reduce_hlo(const hlo::Use& u, bool sum) {
  const DType dtype = u.in[0].dtype, wide = sum && runtime::is_narrow(dtype) ? DType::F32 : dtype;
  const hlo::Value x = hlo::convert(u.in[0], wide),
                   first = sum ? u.to.constant(wide, {}, 0) : hlo::limit_of(u.to, wide, false);
  const std::string region = u.to.combining(sum ? "add" : "maximum", wide);
  return {hlo::convert(
      u.to.op("stablehlo.reduce_window", {x, first}, wide, u.out[0].shape, window_attributes(u), region), dtype)};
}

hlo::Values pick_hlo(const hlo::Use& u) {
  const DType dtype = u.in[0].dtype;
  const hlo::Value none = hlo::limit_of(u.to, dtype, false), zero = u.to.constant(u.in[1].dtype, {}, 0),
                   scalar{&u.to, {}, dtype, {}}, beside{&u.to, {}, u.in[1].dtype, {}};
  const hlo::Values in = u.to.begin(hlo::Values{scalar, beside, scalar, beside});
  const hlo::Value first = before(in[0], in[2]);
  const std::string region = u.to.end(hlo::Values{hlo::select(first, in[0], in[2]), hlo::select(first, in[1], in[3])});
  const hlo::Value most{&u.to, {}, dtype, u.out[0].shape}, made{&u.to, {}, u.in[1].dtype, u.out[0].shape};
  return {u.to.ops("stablehlo.reduce_window", hlo::Values{u.in[0], u.in[1], none, zero}, hlo::Values{most, made},
                   window_attributes(u), region)[1]};
}

hlo::Values put_hlo(const hlo::Use& u) {
  const hlo::Value scalar{&u.to, {}, u.in[0].dtype, {}};
  const hlo::Values in = u.to.begin(hlo::Values{scalar, scalar});
  const hlo::Value first = before(in[0], in[1]);
  const std::string chosen = u.to.end({&first, 1}), added = u.to.combining("add", u.in[1].dtype);
  return {u.to.op("stablehlo.select_and_scatter", {u.in[0], u.in[1], u.to.constant(u.in[1].dtype, {}, 0)},
                  u.in[1].dtype, u.out[0].shape, window_attributes(u), chosen + ", " + added)};
}

// ---- local forms
// Each device fetches what its own windows reach over.

Vars pool_locally(Builder& b, const ir::LocalCall& c, std::span<const Var> in) {
  Spatial p(c.attrs, c.call.in[0].shape.size());
  const Shape to = p.places(c.call.in[0].shape);
  const bool linear = std::holds_alternative<Transposes>(c.call.op.derivative);
  Vars now(in.begin(), in.end());
  for (std::size_t i = 0; i < p.count; ++i) {
    const auto split = split_dim(c, 0, p.lead + i);
    if (!split) continue;
    const std::int64_t each = split->block_of(to[p.lead + i]);
    for (std::size_t k = 0; k < now.size(); ++k)
      now[k] = reached(b, now[k], *split, p, i, each, k == 0 && !linear ? least_of(c.call.in[0].dtype) : 0);
    p.padding[i] = {0, 0};
  }
  return b.emit(c.call.op, now, attrs_of(p));
}

// What a device's windows put beyond its own block goes to its neighbours, where all lie alike beside their blocks.
Vars put_locally(Builder& b, const ir::LocalCall& c, std::span<const Var> in) {
  const Shape &from = c.call.in[0].shape, &places = c.call.in[1].shape;
  Spatial p(c.attrs, from.size());
  Var x = in[0], ct = in[1];
  std::vector<SplitDim> whole;
  std::vector<std::pair<SplitDim, std::int64_t>> edges;
  for (std::size_t i = 0; i < p.count; ++i) {
    const auto split = split_dim(c, 0, p.lead + i);
    if (!split) continue;
    SplitDim of = *split;
    of.size = places[p.lead + i];
    const std::int64_t each = of.block_of(of.size), block = split->block_of(split->size), before = p.padding[i].first;
    if (block == each * p.stride[i] && before < (each - 1) * p.stride[i] + p.window[i]) {
      x = reached(b, x, *split, p, i, each, least_of(c.call.in[0].dtype));
      ct = ended(b, ct, of, FactorReduce::Sum);  // windows behind the end are none
      edges.emplace_back(*split, before);
      p.padding[i] = {0, 0};
    } else {
      x = gathered(b, x, *split), ct = gathered(b, ct, of);
      whole.push_back(*split);
    }
  }
  Var made = b.emit(c.call.op, {x, ct}, attrs_of(p)).at(0);
  for (const auto& [of, before] : edges) made = edges_added(b, made, of, before);
  for (const SplitDim& of : whole) made = kept(b, made, of);
  return {made};
}

// ---- rows

FactorRule pool_factors(const OpCall& call) {
  RuleBuilder r;
  const Shape& x = call.in[0].shape;
  const Spatial p(call.attrs, x.size());
  const auto dims = r.dims(x);
  for (std::size_t i = 0; i < p.count; ++i)
    r.rule.factors[static_cast<std::size_t>(dims[p.lead + i][0])].kind = FactorKind::Halo;
  return r.made(std::vector<ir::ValueFactors>(call.in.size(), dims), {dims});
}

using WindowKernel = void (*)(const View& x, const View& y, const View& out, const runtime::Windows& w);

ir::KernelFn window_kernel(WindowKernel run) {
  return [run](const KernelCall& c) -> BoundKernel {
    View x = c.in[0], y = c.in.back(), out = c.out[0];
    const Spatial p(c.attrs, x.shape.size());
    runtime::Windows w{p.window, p.stride, {}};
    for (const auto& [before, behind] : p.padding) w.before.push_back(before);
    if (runtime::numel(out.shape) == 0) return [](void* const*, void* const*) {};
    const std::size_t last = c.in.size() - 1;
    return [=](void* const* i, void* const* o) mutable { run(at(x, i[0]), at(y, i[last]), at(out, o[0]), w); };
  };
}

template <runtime::Reduce how>
void reduced(const View& x, const View&, const View& out, const runtime::Windows& w) {
  runtime::window_reduce(how, x, out, w);
}

OpDef pool_row(std::string_view signature, std::string_view doc, WindowKernel kernel) {
  OpDef row = internal_row(signature, doc, pool_factors);
  row.kernel = window_kernel(kernel);
  row.any_order = true;
  row.shape = [](const OpCall& call) -> std::vector<Shape> {
    return {Spatial(call.attrs, call.in[0].shape.size()).places(call.in[0].shape)};
  };
  row.explicit_refuses = [](const OpCall& call, const FactorRule&) {
    const Spatial p(call.attrs, call.in[0].shape.size());
    return size_change_refuses("a window", call.in[0], p.places(call.in[0].shape));
  };
  row.partition = pool_locally;
  return row;
}

Ints pool_window(const Builder& b, Var x, const Attrs& attrs) {
  Ints window = *ints_if(attrs, "window");
  std::size_t rank = b.type(x).shape.size();
  if (window.size() == 1 && rank > 3) window.resize(rank - 2, window[0]);
  for (auto n : window)
    if (n < 1) fail("value", "a window is positive");
  return window;
}

Var pooled(Builder& b, const char* row, Var x, const WindowPlan& plan) {
  const LaidBetween laid = between(b, x, plan);
  const Var made = b.call(row, {laid.x}, {{"window", plan.window}, {"stride", plan.stride}, {"padding", plan.widths}});
  return laid.back ? b.emit1(*b.core().shard, {made}, {{"layout", *laid.back}}) : made;
}

Vars max_pool(Builder& b, std::span<const Var> in, const Attrs& attrs) {
  return {pooled(b, "window_max", in[0], plan_of(b, in[0], pool_window(b, in[0], attrs), attrs))};
}

Vars avg_pool(Builder& b, std::span<const Var> in, const Attrs& attrs) {
  const Ints window = pool_window(b, in[0], attrs);
  const Var x = ir::convert(b, in[0], runtime::to_inexact(b.type(in[0]).dtype));
  return {Expr{b, pooled(b, "window_sum", x, plan_of(b, x, window, attrs))} /
          static_cast<double>(runtime::numel(window))};
}

// The cotangent of x: that of each window for all of its elements, laid over each other.
Var window_sum_transpose(Builder& b, const NodeView& n, Var ct, const Type& want) {
  const Spatial p(n.call.attrs, want.shape.size());
  const Shape places = b.type(ct).shape;
  Shape apart = places, all = places;
  Overlay how{{}, p.stride, Ints(p.count, 1), {}};
  for (std::size_t i = 0; i < p.count; ++i) {
    how.size.push_back(want.shape[p.lead + i]);
    how.before.push_back(p.padding[i].first);
    apart.insert(apart.end() - 1, 1);
    all.insert(all.end() - 1, p.window[i]);
  }
  return windows_sum(b, ir::broadcast_to(b, expand(b, ct, apart), all), how);
}

}  // namespace

void register_pooling(OpTable& t) {
  const auto through = [](Builder& b, const char* row, const NodeView& n, Var v) {
    return v.valid() ? b.call(row, {n.in[0], v}, n.call.attrs) : Var{};
  };
  const auto picked = [through](Builder& b, const NodeView& n, Var v) { return through(b, "window_pick", n, v); };
  const auto put = [through](Builder& b, const NodeView& n, Var v) { return through(b, "window_put", n, v); };
  using Given = std::span<const Var>;

  OpDef most = pool_row("window_max(x, window: ints, stride: ints, padding: pairs)", "The largest of each window.",
                        reduced<runtime::Reduce::Max>);
  most.derivative = ir::Custom{[=](Builder& b, const NodeView& n, Given dt) -> Vars { return {picked(b, n, dt[0])}; },
                               [=](Builder& b, const NodeView& n, Given ct) -> Vars { return {put(b, n, ct[0])}; }};
  most.hlo = [](const hlo::Use& u) { return reduce_hlo(u, false); };
  constexpr const char* samples =
      "[2, 6, 4] window=[3] stride=[1] padding=[(0, 0)]; [8, 4] window=[3] stride=[2] padding=[(0, 1)]; "
      "[2, 6, 8, 2] window=[2, 3] stride=[2, 1] padding=[(0, 0), (1, 1)]; i32[8, 2] -4..5 window=[2] stride=[2] "
      "padding=[(0, 0)]";
  most.samples = samples;
  t.add(std::move(most));

  OpDef sum = pool_row("window_sum(x, window: ints, stride: ints, padding: pairs)", "The sum of each window.",
                       reduced<runtime::Reduce::Sum>);
  sum.derivative = linear(window_sum_transpose);
  sum.of_complex = ir::OnParts{};
  sum.hlo = [](const hlo::Use& u) { return reduce_hlo(u, true); };
  sum.samples = samples;
  t.add(std::move(sum));

  // Where x is the largest hangs on x piecewise: its own derivative is zero. Of floats, as derivatives are: elsewhere
  // an engine could not tell the least number from none.
  const auto floats = [](const OpCall& call, const Shape& made) -> std::vector<Shape> {
    if (!runtime::is_float(call.in[0].dtype))
      fail("dtype", std::string(call.op.name) + " is for floats, got " + runtime::to_string(call.in[0]));
    return {made};
  };
  OpDef pick = pool_row("window_pick(x, u, window: ints, stride: ints, padding: pairs)",
                        "What u has where x is the largest of each window, the first of equals.", runtime::window_pick);
  pick.shape = [=](const OpCall& call) {
    return floats(call, Spatial(call.attrs, call.in[0].shape.size()).places(call.in[0].shape));
  };
  pick.derivative = ir::Custom{[=](Builder& b, const NodeView& n, Given dt) -> Vars { return {picked(b, n, dt[1])}; },
                               [=](Builder& b, const NodeView& n, Given ct) -> Vars {
                                 return {{}, put(b, n, ct[0])};
                               }};
  pick.hlo = pick_hlo;
  pick.samples =
      "[2, 6, 4] [2, 6, 4] window=[3] stride=[1] padding=[(0, 0)]; [8, 4] [8, 4] window=[3] stride=[2] "
      "padding=[(0, 1)]; [2, 6, 8, 2] [2, 6, 8, 2] window=[2, 3] stride=[2, 1] padding=[(0, 0), (1, 1)]";
  t.add(std::move(pick));

  OpDef back =
      pool_row("window_put(x, ct, window: ints, stride: ints, padding: pairs)",
               "Zeros, and what ct has for each window where x is the largest of it, added up.", runtime::window_put);
  back.shape = [=](const OpCall& call) { return floats(call, call.in[0].shape); };
  back.partition = put_locally;
  back.derivative = ir::Custom{[=](Builder& b, const NodeView& n, Given dt) -> Vars { return {put(b, n, dt[1])}; },
                               [=](Builder& b, const NodeView& n, Given ct) -> Vars {
                                 return {{}, picked(b, n, ct[0])};
                               }};
  back.hlo = put_hlo;
  back.samples =
      "[2, 6, 4] [2, 4, 4] window=[3] stride=[1] padding=[(0, 0)]; [8, 4] [4, 4] window=[3] stride=[2] "
      "padding=[(0, 1)]; [2, 6, 8, 2] [2, 3, 8, 2] window=[2, 3] stride=[2, 1] padding=[(0, 0), (1, 1)]; "
      "[16, 2] [8, 2] window=[3] stride=[2] padding=[(1, 0)]";
  t.add(std::move(back));

  add_composite(t, "max_pool(x, window: ints, stride: ints = 1, padding: str = \"SAME\", pads: pairs? = none)",
                "The largest of each window.",
                "[2, 4, 6, 2] stride=[2] padding='VALID' window=[2, 2]; "
                "[2, 4, 2] stride=[1] padding='SAME' window=[3]",
                max_pool);
  add_composite(t, "avg_pool(x, window: ints, stride: ints = 1, padding: str = \"SAME\", pads: pairs? = none)",
                "The mean of each window; padding counts as zeros.",
                "[2, 4, 6, 2] stride=[2] padding='VALID' window=[2, 2]; "
                "[2, 4, 2] stride=[1] padding='SAME' window=[3]",
                avg_pool);
}

}  // namespace shard::stdlib
