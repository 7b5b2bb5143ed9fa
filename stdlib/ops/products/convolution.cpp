// Convolutions, channels last: x [batch..., spatial..., C], any number of spatial dimensions. A convolution is a
// `contract` of all windows of x (windows.h) with the weights; in groups, one for each; of a channel each, a sum.
#include <algorithm>

#include "stdlib/ops/ops.h"
#include "stdlib/ops/products/windows.h"

namespace shard::stdlib {
namespace {

constexpr std::string_view kFreeLetters = "abcdefghijklmnopqrstuvw";  // x, y and z stand for channels in groups

// Zeros between the elements of each spatial dimension.
Var spread_out(Builder& b, Var x, const Ints& by) {
  if (std::all_of(by.begin(), by.end(), [](auto n) { return n == 1; })) return x;
  Ints interior;
  for (auto n : by) interior.push_back(n - 1);
  interior.push_back(0);
  return b.call("pad_with", {x, Expr{b, x}.number(0)},
                {{"widths", Pairs(interior.size(), {0, 0})}, {"interior", interior}});
}

// x and w of one element type, of shapes that fit.
std::pair<Var, Var> convolved(Builder& b, std::span<const Var> in, const Attrs& attrs, std::int64_t groups,
                              std::string_view op) {
  const Kind kind = promoted(b, in);
  Var x = promote_to(b, in[0], kind), w = promote_to(b, in[1], kind);
  const Type xt = b.type(x), wt = b.type(w);
  const std::size_t rank = xt.shape.size();
  const std::string both = runtime::to_string(xt) + " and " + runtime::to_string(wt);
  if (rank < 3 || wt.shape.size() != rank)
    fail("shape", std::string(op) + " takes x [N, spatial..., C] and w [window..., C, O], got " + both);
  const std::int64_t channels = xt.shape.back(), taken = wt.shape[rank - 2], given = wt.shape.back();
  if (groups < 1 || channels % groups || given % groups)
    fail("shape",
         std::string(op) + " in " + std::to_string(groups) + " groups: they must divide the channels of " + both);
  if (channels != taken * groups)
    fail("shape", std::string(op) + ": the channels differ: x " + runtime::to_string(xt) + " has " +
                      std::to_string(channels) + " (its last dimension), w " + runtime::to_string(wt) + " takes " +
                      std::to_string(taken) + " (its last but one)" +
                      (groups == 1 ? "" : " in each of " + std::to_string(groups) + " groups"));
  if (!attrs.has("out") &&
      ((laid_out(wt) && !wt.sharding.split_axes().empty()) || (laid_out(xt) && is_split(xt, xt.rank() - 1))))
    fail("layout", std::string(op) + " of " + both +
                       ": split weights or channels leave the result's layout open: say it with `out: P(...)`");
  return {x, w};
}

Ints window_of(const Builder& b, Var w) {
  const Shape& shape = b.type(w).shape;
  return {shape.begin(), shape.end() - 2};
}

Var placed_as(Builder& b, Var x, const Attrs& attrs) {
  return attrs.has("out") ? b.emit1(*b.core().shard, {x}, {{"layout", attrs.layout("out")}}) : x;
}

// The windows of every channel times its own weights, summed: no product of matrices is in it.
Var depthwise(Builder& b, Var patches, Var w, std::size_t count, const Attrs& attrs) {
  const Shape ps = b.type(patches).shape, ws = b.type(w).shape;
  const std::int64_t channels = ps.back(), each_gives = ws.back() / channels;
  Shape wide = ps, weights(ws.begin(), ws.end() - 2);
  wide.push_back(1);
  weights.push_back(channels), weights.push_back(each_gives);
  Ints axes;
  for (std::size_t i = 0; i < count; ++i) axes.push_back(-2 - static_cast<std::int64_t>(count - i));
  Var made = ir::reduce_sum(b, ir::mul(b, expand(b, patches, wide), expand(b, w, weights)), axes);
  Shape merged_shape = b.type(made).shape;
  merged_shape.pop_back();
  merged_shape.back() = ws.back();
  return placed_as(b, expand(b, made, merged_shape), attrs);
}

Var in_groups(Builder& b, Var patches, Var w, std::size_t count, std::int64_t groups, const Attrs& attrs) {
  Shape ps = b.type(patches).shape, ws = b.type(w).shape;
  const std::int64_t given = ws.back();
  ps.back() /= groups, ps.insert(ps.end() - 1, groups);
  ws.back() /= groups, ws.insert(ws.end() - 1, groups);
  const std::string n = "a", places(kFreeLetters.substr(1, count)), inside(kFreeLetters.substr(1 + count, count));
  const std::string spec = n + places + inside + "xy," + inside + "yxz->" + n + places + "xz";
  Var made = b.call("contract", {expand(b, patches, ps), expand(b, w, ws)}, {{"spec", spec}});
  Shape merged_shape = b.type(made).shape;
  merged_shape.pop_back();
  merged_shape.back() = given;
  return placed_as(b, expand(b, made, merged_shape), attrs);
}

Var conv_by(Builder& b, Var x, Var w, const WindowPlan& plan, std::int64_t groups, const Attrs& attrs) {
  const std::size_t count = plan.window.size();
  Var patches = windowed(b, x, plan, 0);
  if (groups > 1 && b.type(w).shape[count] == 1) return depthwise(b, patches, w, count, attrs);
  if (groups > 1) return in_groups(b, patches, w, count, groups, attrs);
  const std::string n(kFreeLetters.substr(0, 1)), places(kFreeLetters.substr(1, count)),
      inside(kFreeLetters.substr(1 + count, count)), c(kFreeLetters.substr(1 + 2 * count, 1)),
      o(kFreeLetters.substr(2 + 2 * count, 1));
  const std::string spec = n + places + inside + c + "," + inside + c + o + "->" + n + places + o;
  return b.call("contract", {patches, w}, with_out({{"spec", spec}}, attrs));
}

Vars conv(Builder& b, std::span<const Var> in, const Attrs& attrs) {
  const std::int64_t groups = integer_or(attrs, "groups", 1);
  auto [x, w] = convolved(b, in, attrs, groups, "conv");
  const Ints window = window_of(b, w);
  const WindowPlan plan = plan_of(b, x, window, attrs);  // SAME counts the elements that are given
  x = spread_out(b, x, per_dimension(attrs, "input_dilation", window.size(), 1));
  return {conv_by(b, x, w, plan, groups, attrs)};
}

// As jax.lax.conv_transpose: what a convolution with this stride would give x for, up to its kernel's order.
Vars conv_transpose(Builder& b, std::span<const Var> in, const Attrs& attrs) {
  auto [x, w] = convolved(b, in, attrs, 1, "conv_transpose");
  const Ints window = window_of(b, w), stride = per_dimension(attrs, "stride", window.size(), 1);
  Attrs once = attrs;
  once.set("stride", Ints{1});
  WindowPlan plan = plan_of(b, x, window, once);
  const bool same = text_or(attrs, "padding", "SAME") == "SAME";
  for (std::size_t i = 0; i < window.size() && !attrs.has("pads"); ++i) {
    const std::int64_t k = plan.reach(i), s = stride[i],
                       all = k + s - 2 + (same ? 0 : std::max<std::int64_t>(k - s, 0));
    const std::int64_t before = !same || s > k - 1 ? k - 1 : (all + 1) / 2;
    plan.widths[i] = {before, all - before};
  }
  x = spread_out(b, x, stride);
  return {conv_by(b, x, w, plan, 1, attrs)};
}

}  // namespace

void register_convolution(OpTable& t) {
  t.add(composite_row(
      "conv",
      "conv(x, w, stride: ints = 1, padding: str = \"SAME\", pads: pairs? = none, dilation: ints = 1, input_dilation: "
      "ints = 1, groups: int = 1, out: spec? = none)",
      "The convolution of x [N, spatial..., C] with w [window..., C / groups, O]; `pads` before and after each spatial "
      "dimension instead of `padding`, `dilation` between a window's elements, `input_dilation` between those of x.",
      conv,
      "[2, 6, 4, 2] [3, 2, 2, 4] stride=[1] padding='SAME'; "
      "[2, 6, 6, 2] [2, 2, 2, 2] stride=[2] padding='VALID'; "
      "[2, 8, 2] [3, 2, 4] stride=[2] padding='SAME'; "
      "[2, 6, 4] [3, 2, 4] stride=[1] padding='SAME' groups=2; "
      "[2, 6, 4, 2] [3, 2, 1, 4] stride=[1] padding='VALID' groups=2; "
      "[2, 8, 2] [3, 2, 2] dilation=[2] input_dilation=[2] pads=[(1, 2)]; "
      "[2, 4, 2, 4, 2] [2, 1, 2, 2, 2] dilation=[2, 1, 1]"));
  t.add(composite_row(
      "conv_transpose",
      "conv_transpose(x, w, stride: ints = 1, padding: str = \"SAME\", pads: pairs? = none, dilation: ints = 1, out: "
      "spec? = none)",
      "The convolution of x, whose elements stand `stride` apart, with w [window..., C, O]: `stride` times as large.",
      conv_transpose,
      "[2, 4, 2] [3, 2, 4] stride=[2] padding='SAME'; "
      "[2, 3, 4, 2] [2, 3, 2, 2] stride=[2] padding='VALID'"));
}

}  // namespace shard::stdlib
