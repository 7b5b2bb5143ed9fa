// Convolutions and pools, channels last: x [batch..., spatial..., C]. One internal row, `windows`, shows every window of x beside its
// position; a convolution is a `contract` of that with the weights, a pool a reduction over the windows. Any number of spatial dimensions.
#include <algorithm>
#include <cmath>
#include <limits>

#include "runtime/kernels/kernels.h"
#include "stdlib/ops/elementwise.h"
#include "stdlib/ops/ops.h"

namespace shard::stdlib {
namespace {

constexpr std::string_view kLetters = "abcdefghijklmnopqrstuvwxyz";

// windows(x [lead..., n..., C]; window, stride) -> [lead..., positions..., window..., C]
struct Spatial {
  std::size_t lead, count;
  Spatial(const Attrs& attrs, std::size_t rank) : lead(0), count(attrs.ints("window").size()) {
    if (rank < count + 1)
      fail("shape", "a window of " + std::to_string(count) + " dimensions needs an array of rank " + std::to_string(count + 1) + " or more, with channels last");
    lead = rank - count - 1;
  }
};

std::vector<Shape> windows_shape(const OpCall& call) {
  const Shape& x = call.in[0].shape;
  const Ints &window = call.attrs.ints("window"), &stride = call.attrs.ints("stride");
  Spatial s(call.attrs, x.size());
  Shape made(x.begin(), x.begin() + static_cast<std::ptrdiff_t>(s.lead));
  for (std::size_t i = 0; i < s.count; ++i) {
    if (window[i] < 1 || stride[i] < 1) fail("shape", "windows and strides are positive");
    std::int64_t n = x[s.lead + i] - window[i];
    made.push_back(n < 0 ? 0 : n / stride[i] + 1);
  }
  made.insert(made.end(), window.begin(), window.end());
  made.push_back(x.back());
  return {made};
}

// The cotangent of x: windows laid over each other and added, one spatial dimension after the other.
Var windows_transpose(Builder& b, const NodeView& n, int, std::span<const Var> ct, const Type& want) {
  const Ints &window = n.call.attrs.ints("window"), &stride = n.call.attrs.ints("stride");
  Spatial s(n.call.attrs, want.shape.size());
  Var g = ct[0];
  for (std::size_t i = 0; i < s.count; ++i) {
    Shape shape = b.type(g).shape;                    // [lead..., positions or sizes..., windows i..., C]
    std::size_t at_window = s.lead + s.count, at_place = s.lead + i, rank = shape.size();
    std::int64_t places = shape[at_place], size = want.shape[at_place];
    std::optional<Expr> sum;
    for (std::int64_t k = 0; k < window[i]; ++k) {
      Ints start(rank, 0), limit(rank, ir::kWhole), step(rank, 1), interior(rank - 1, 0);
      start[at_window] = k;
      limit[at_window] = k + 1;
      Shape dropped = shape;
      dropped.erase(dropped.begin() + static_cast<std::ptrdiff_t>(at_window));
      Var part = expand(b, b.call("slice", {g}, {{"start", start}, {"limit", limit}, {"step", step}}), dropped);
      Pairs widths(rank - 1, {0, 0});
      std::int64_t reach = places == 0 ? 0 : (places - 1) * stride[i] + 1;
      widths[at_place] = places == 0 ? std::pair{std::int64_t{0}, size} : std::pair{k, size - k - reach};
      interior[at_place] = stride[i] - 1;
      Expr p{b, part};
      Expr placed{b, b.call("pad_with", {p, p.number(0)}, {{"widths", widths}, {"interior", interior}})};
      sum = sum ? *sum + placed : placed;
    }
    g = *sum;
  }
  return g;
}

void register_windows(OpTable& t) {
  OpDef row{.name = "windows", .signature = "windows(x, window: ints, stride: ints)", .doc = "Every window of the spatial dimensions, beside its position."};
  row.factors = [](const OpCall& call) {
    RuleBuilder r;
    const Shape& x = call.in[0].shape;
    Spatial s(call.attrs, x.size());
    auto dims = r.dims(x);
    ir::ValueFactors out(dims.begin(), dims.end() - 1);
    for (std::size_t i = 0; i < s.count; ++i) {
      r.rule.factors[static_cast<std::size_t>(dims[s.lead + i][0])].kind = FactorKind::Halo;
      out.push_back({r.factor(call.attrs.ints("window")[i], FactorKind::Whole)});
    }
    out.push_back(dims.back());
    r.rule.operands = {dims};
    r.rule.results = {out};
    return r.rule;
  };
  row.shape = windows_shape;
  row.dtype.operands = Operands::AsIs;
  row.derivative = Transposes{{}, false, windows_transpose};
  row.kernel = [](const KernelCall& c) -> BoundKernel {
    View x = c.in[0], out = c.out[0], from{x.dtype, out.shape, {}, nullptr};
    const Ints& stride = c.attrs.ints("stride");
    Spatial s(c.attrs, x.shape.size());
    for (std::size_t d = 0; d < s.lead; ++d) from.strides.push_back(x.strides[d]);
    for (std::size_t i = 0; i < s.count; ++i) from.strides.push_back(x.strides[s.lead + i] * stride[i]);
    for (std::size_t i = 0; i < s.count; ++i) from.strides.push_back(x.strides[s.lead + i]);
    from.strides.push_back(x.strides.back());
    if (runtime::numel(out.shape) == 0) return [](void* const*, void* const*) {};
    return [=](void* const* i, void* const* o) { runtime::copy(at(from, i[0]), at(out, o[0])); };
  };
  row.flops = 0;
  row.explicit_refuses = [](const OpCall& call, const FactorRule&) {
    Shape to = windows_shape(call)[0];
    Spatial s(call.attrs, call.in[0].shape.size());
    to.erase(to.begin() + static_cast<std::ptrdiff_t>(s.lead + s.count), to.end() - 1);
    return size_change_refuses("a window", call.in[0], to);
  };
  row.internal = true;
  row.samples = {{{f32({2, 6, 4})}, {{"window", Ints{3}}, {"stride", Ints{1}}}}, {{f32({2, 6, 8, 2})}, {{"window", Ints{2, 3}}, {"stride", Ints{2, 1}}}}};
  t.add(std::move(row));
}

// One number for each spatial dimension.
Ints each(const Attrs& attrs, std::string_view name, std::size_t count, std::int64_t otherwise) {
  Ints made = ints_if(attrs, name).value_or(Ints{otherwise});
  if (made.size() == 1) made.resize(count, made[0]);
  if (made.size() != count) fail("shape", std::string(name) + " has " + std::to_string(made.size()) + " numbers for " + std::to_string(count) + " spatial dimensions");
  for (auto n : made)
    if (n < 1) fail("value", std::string(name) + " must be positive");
  return made;
}

Var windowed(Builder& b, Var x, const Ints& window, const Attrs& attrs, double filler) {
  const Shape shape = b.type(x).shape;
  std::size_t count = window.size();
  if (shape.size() < count + 1)
    fail("shape", "windows of " + std::to_string(count) + " dimensions do not fit " + runtime::to_string(b.type(x)) + "; channels are the last dimension");
  Ints stride = each(attrs, "stride", count, 1);
  std::string padding = text_or(attrs, "padding", "SAME");
  if (padding != "SAME" && padding != "VALID") fail("value", "padding is \"SAME\" or \"VALID\", got \"" + padding + "\"");
  Pairs widths(count + 1, {0, 0});
  bool any = false;
  for (std::size_t i = 0; i < count && padding == "SAME"; ++i) {
    std::int64_t n = shape[shape.size() - 1 - count + i], places = (n + stride[i] - 1) / stride[i];
    std::int64_t total = std::max<std::int64_t>((places - 1) * stride[i] + window[i] - n, 0);
    widths[i] = {total / 2, total - total / 2};
    any |= total > 0;
  }
  // On explicit axes a spatial dimension that is split keeps its layout where the result's size allows it (JAX looks at nothing else): what
  // lies between, padded and cut into windows, is laid out whole there.
  const Type given = b.type(x);
  ir::Layout whole{given.mesh, given.sharding}, wanted = whole;
  bool between = false;
  for (std::size_t i = 0; i < count && laid_out(given); ++i) {
    const std::size_t d = shape.size() - 1 - count + i;
    const std::int64_t parts = runtime::parts(*given.mesh, given.sharding.dims[d]);
    const std::int64_t padded = shape[d] + widths[i].first + widths[i].second, places = (padded - window[i]) / stride[i] + 1;
    if (parts == 1 || padded < window[i] || places % parts) continue;
    between = true;
    whole.sharding.dims[d].axes.clear();
  }
  Expr v{b, x};
  if (between) x = b.emit1(*b.core().shard, {x}, {{"layout", whole}});
  if (any) x = b.call("pad_with", {x, v.number(filler)}, {{"widths", widths}});
  x = b.call("windows", {x}, {{"window", window}, {"stride", stride}});
  if (!between) return x;
  auto& dims = wanted.sharding.dims;               // the windows' own dimensions stand before the channels
  dims.insert(dims.end() - 1, count, runtime::DimSharding{});
  return b.emit1(*b.core().shard, {x}, {{"layout", wanted}});
}

Vars conv(Builder& b, std::span<const Var> in, const Attrs& attrs) {
  Kind kind = promoted(b, in);
  Var x = promote_to(b, in[0], kind), w = promote_to(b, in[1], kind);
  const Type xt = b.type(x), wt = b.type(w);
  std::size_t rank = xt.shape.size();
  if (rank >= 3 && wt.shape.size() == rank && xt.shape.back() != wt.shape[rank - 2])
    fail("shape", "conv: the channels differ: x " + runtime::to_string(xt) + " has " + std::to_string(xt.shape.back()) +
                      " (its last dimension), w " + runtime::to_string(wt) + " takes " + std::to_string(wt.shape[rank - 2]) +
                      " (its last but one)");
  if (rank < 3 || wt.shape.size() != rank || xt.shape.back() != wt.shape[rank - 2])
    fail("shape", "conv takes x [N, spatial..., C] and w [window..., C, O], got " + runtime::to_string(xt) + " and " + runtime::to_string(wt));
  if (!attrs.has("out") && ((laid_out(wt) && !wt.sharding.split_axes().empty()) || (laid_out(xt) && is_split(xt, xt.rank() - 1))))
    fail("layout", "conv of " + runtime::to_string(xt) + " and " + runtime::to_string(wt) + ": split weights or channels leave the result's layout open: say it with `out: P(...)`");
  std::size_t count = rank - 2;
  Ints window(wt.shape.begin(), wt.shape.begin() + static_cast<std::ptrdiff_t>(count));
  Var patches = windowed(b, x, window, attrs, 0);
  std::string n(kLetters.substr(0, 1)), places(kLetters.substr(1, count)), inside(kLetters.substr(1 + count, count)), c(kLetters.substr(1 + 2 * count, 1)), o(kLetters.substr(2 + 2 * count, 1));
  std::string spec = n + places + inside + c + "," + inside + c + o + "->" + n + places + o;
  return {b.call("contract", {patches, w}, with_out({{"spec", spec}}, attrs))};
}

Ints pool_window(const Builder& b, Var x, const Attrs& attrs) {
  Ints window = *ints_if(attrs, "window");
  std::size_t rank = b.type(x).shape.size();
  if (window.size() == 1 && rank > 3) window.resize(rank - 2, window[0]);
  for (auto n : window)
    if (n < 1) fail("value", "a window is positive");
  return window;
}

// The first of equals takes the whole derivative, as XLA's select_and_scatter gives it.
Vars max_pool(Builder& b, std::span<const Var> in, const Attrs& attrs) {
  Ints window = pool_window(b, in[0], attrs);
  DType dtype = b.type(in[0]).dtype;
  double lowest = runtime::is_float(dtype) ? -std::numeric_limits<double>::infinity()
                  : runtime::is_signed(dtype) ? -std::ldexp(1.0, static_cast<int>(runtime::size_of(dtype)) * 8 - 1) : 0;
  Var all = windowed(b, in[0], window, attrs, lowest);
  Shape shape = b.type(all).shape;
  std::size_t count = window.size(), at_window = shape.size() - 1 - count;
  std::int64_t size = 1;
  for (auto n : window) size *= n;
  Shape flat(shape.begin(), shape.begin() + static_cast<std::ptrdiff_t>(at_window));
  flat.push_back(size);
  flat.push_back(shape.back());
  Expr x{b, expand(b, all, flat)};
  Var best = b.call("arg_max", {x}, {{"axis", std::int64_t{-2}}});
  Shape beside = flat, line(flat.size(), 1);
  beside[at_window] = 1;
  line[at_window] = size;
  Expr i{b, b.call("iota", {}, {{"shape", line}, {"axis", std::int64_t{-2}}, {"dtype", DType::I32}})};
  return {ir::reduce_sum(b, select(eq(i, Expr{b, expand(b, best, beside)}), x, 0.0), {-2})};
}

Vars avg_pool(Builder& b, std::span<const Var> in, const Attrs& attrs) {
  Ints window = pool_window(b, in[0], attrs);
  const Type& t = b.type(in[0]);
  Var all = windowed(b, ir::convert(b, in[0], runtime::to_inexact(t.dtype)), window, attrs, 0);
  Ints axes;
  double size = 1;
  for (std::size_t i = 0; i < window.size(); ++i) {
    axes.push_back(-2 - static_cast<std::int64_t>(i));
    size *= static_cast<double>(window[i]);
  }
  std::sort(axes.begin(), axes.end());
  return {Expr{b, ir::reduce_sum(b, all, axes)} / size};
}

}  // namespace

void register_convolution(OpTable& t) {
  register_windows(t);
  auto say = [](std::int64_t stride, std::string padding) { return Attrs{{"stride", Ints{stride}}, {"padding", std::move(padding)}}; };
  auto pool = [&](Ints window, std::int64_t stride, std::string padding) {
    Attrs attrs = say(stride, std::move(padding));
    attrs.set("window", std::move(window));
    return attrs;
  };
  t.add(composite_row("conv", "conv(x, w, stride: ints = 1, padding: str = \"SAME\", out: spec? = none)",
                      "The convolution of x [N, spatial..., C] with w [window..., C, O].", conv,
                      {{{f32({2, 6, 4, 2}), f32({3, 2, 2, 4})}, say(1, "SAME")}, {{f32({2, 6, 6, 2}), f32({2, 2, 2, 2})}, say(2, "VALID")}, {{f32({2, 8, 2}), f32({3, 2, 4})}, say(2, "SAME")}}));
  t.add(composite_row("max_pool", "max_pool(x, window: ints, stride: ints = 1, padding: str = \"SAME\")", "The largest of each window.", max_pool,
                      {{{f32({2, 4, 6, 2})}, pool({2, 2}, 2, "VALID")}, {{f32({2, 4, 2})}, pool({3}, 1, "SAME")}}));
  t.add(composite_row("avg_pool", "avg_pool(x, window: ints, stride: ints = 1, padding: str = \"SAME\")", "The mean of each window; padding counts as zeros.", avg_pool,
                      {{{f32({2, 4, 6, 2})}, pool({2, 2}, 2, "VALID")}, {{f32({2, 4, 2})}, pool({3}, 1, "SAME")}}));
}

}  // namespace shard::stdlib
