// Convolutions, channels last: x [batch..., spatial..., C], any number of spatial dimensions. A convolution is a
// `contract` of all windows of x (windows.h) with the weights; in groups, one for each; of a channel each, a sum.
#include <algorithm>
#include <numeric>

#include "stdlib/ops/hlo.h"
#include "stdlib/ops/ops.h"
#include "stdlib/ops/products/windows.h"

namespace shard::stdlib {

// ---- StableHLO
// Products with windows as StableHLO's convolution: what they are summed over decides. Over the windows it is a
// convolution, over the places that of its kernel's gradient, in which both change roles.

namespace {

std::string conv_numbers(std::string_view name, std::span<const std::int64_t> numbers) {
  return std::string(name) + " = " + hlo::list_text(numbers) + ", ";
}

std::string conv_dims(std::string_view first, std::size_t count) {
  std::string out = "[" + std::string(first);
  for (std::size_t i = 0; i < count; ++i) out += ", " + std::to_string(i);
  return out + "]";
}

// The dimensions of a value in another order, some of them joined to one.
class Joined {
 public:
  explicit Joined(hlo::Value value) : value_(std::move(value)) {}
  void add(std::span<const std::int64_t> dims, bool join = false) {
    for (auto d : dims) {
      perm_.push_back(d);
      const std::int64_t n = value_.shape[static_cast<std::size_t>(d)];
      if (!join) shape_.push_back(n);
      if (join) shape_.back() *= n;
    }
  }
  void one() { shape_.push_back(1); }  // that the next ones are joined to
  hlo::Value made() const { return hlo::reshape(hlo::transpose(value_, perm_), shape_); }

 private:
  hlo::Value value_;
  Ints perm_;
  Shape shape_;
};

// Which letters of windows and y stand for what.
struct Roles {
  std::string taps, places;                 // of windows: summed with y; kept
  std::string batch, groups, summed, kept;  // of the windows alone; of both and kept; of both; of y alone
};

std::optional<Roles> roles_of(const Lettered& windows, const Lettered& y, std::string_view out) {
  const hlo::Cut& cut = *windows.value.cut;
  const std::string places = windows.letters.substr(cut.lead, cut.count),
                    window = windows.letters.substr(cut.lead + cut.count, cut.count);
  const auto given = [&](char letter) { return out.find(letter) != std::string_view::npos; };
  const auto all = [&](const std::string& letters, bool summed) {
    return std::all_of(letters.begin(), letters.end(),
                       [&](char letter) { return y.has(letter) == summed && given(letter) != summed; });
  };
  Roles r;
  if (all(window, true) && all(places, false))
    r.taps = window, r.places = places;
  else if (all(places, true) && all(window, false))
    r.taps = places, r.places = window;
  else
    return std::nullopt;
  for (char letter : windows.letters) {
    if (places.find(letter) != std::string::npos || window.find(letter) != std::string::npos) continue;
    if (!y.has(letter) && !given(letter)) return std::nullopt;  // summed by itself: rare, and a product like any other
    (y.has(letter) ? given(letter) ? r.groups : r.summed : r.batch) += letter;
  }
  for (char letter : y.letters) {
    if (windows.has(letter)) continue;
    if (!given(letter)) return std::nullopt;
    r.kept += letter;
  }
  return r;
}

}  // namespace

std::string padding_text(const Pairs& padding) {
  std::string out = "padding = dense<[";
  for (const auto& [before, behind] : padding)
    out += (&before == &padding[0].first ? "[" : ", [") + std::to_string(before) + ", " + std::to_string(behind) + "]";
  return out + "]> : tensor<" + std::to_string(padding.size()) + "x2xi64>";
}

hlo::Value convolution(const hlo::Value& x, const hlo::Value& w, const Taps& taps, DType dtype) {
  const std::size_t count = taps.stride.size();
  const bool narrow = dtype == DType::F16 || dtype == DType::BF16;
  Shape shape{x.shape[0], w.shape[0]};
  const bool turned = !taps.apart.empty();
  const Ints apart = turned ? taps.apart : Ints(count, 1);
  for (std::size_t i = 0; i < count; ++i) {
    const std::int64_t n = (x.shape[2 + i] - 1) * apart[i] + 1 + taps.padding[i].first + taps.padding[i].second;
    shape.push_back((n - (w.shape[2 + i] - 1) * taps.dilation[i] - 1) / taps.stride[i] + 1);
  }
  std::string reversal;
  for (std::size_t i = 0; i < count; ++i) reversal += std::string(i ? ", " : "") + (turned ? "true" : "false");
  const std::string attributes =
      "batch_group_count = 1 : i64, dimension_numbers = #stablehlo.conv<" + conv_dims("b, f", count) + "x" +
      conv_dims("o, i", count) + "->" + conv_dims("b, f", count) +
      ">, feature_group_count = " + std::to_string(taps.groups) + " : i64, " + conv_numbers("lhs_dilation", apart) +
      padding_text(taps.padding) + ", " + conv_numbers("rhs_dilation", taps.dilation) +
      "window_reversal = array<i1: " + reversal + ">, " + conv_numbers("window_strides", taps.stride) + hlo::precise();
  const DType sums = narrow ? DType::F32 : dtype;
  return hlo::convert(x.to->op("stablehlo.convolution", {x, w}, sums, std::move(shape), attributes), dtype);
}

std::optional<hlo::Value> as_convolution(const Lettered& windows, const Lettered& y, std::string_view out,
                                         DType dtype) {
  const hlo::Cut& cut = *windows.value.cut;
  const auto roles = roles_of(windows, y, out);
  if (!roles || !runtime::is_float(dtype) || runtime::numel(windows.value.shape) == 0 ||
      runtime::numel(y.value.shape) == 0)
    return std::nullopt;
  const auto from = [&](const std::string& letters) {  // dimensions of what was cut
    Ints dims;
    for (char letter : letters) {
      const auto at = static_cast<std::size_t>(windows.place(letter));
      dims.push_back(static_cast<std::int64_t>(at < cut.lead ? at : at - cut.count));
    }
    return dims;
  };
  const auto of_y = [&](const std::string& letters) {
    Ints dims;
    for (char letter : letters) dims.push_back(y.place(letter));
    return dims;
  };
  Ints spatial(cut.count);
  std::iota(spatial.begin(), spatial.end(), static_cast<std::int64_t>(cut.lead));
  Joined x(cut.from), w(y.value);
  x.one(), x.add(from(roles->batch), true), x.one(), x.add(from(roles->groups + roles->summed), true), x.add(spatial);
  w.one(), w.add(of_y(roles->groups + roles->kept), true), w.one(), w.add(of_y(roles->summed), true);
  w.add(of_y(roles->taps));
  Taps taps{cut.stride, cut.dilation, cut.padding};
  if (roles->taps == windows.letters.substr(cut.lead, cut.count)) {  // over the places: as many as there are windows
    std::swap(taps.stride, taps.dilation);
    for (std::size_t i = 0; i < cut.count; ++i) {
      const std::int64_t reach = (windows.size(roles->places[i]) - 1) * taps.stride[i] +
                                 (windows.size(roles->taps[i]) - 1) * taps.dilation[i] + 1;
      taps.padding[i].second = reach - cut.from.shape[cut.lead + i] - taps.padding[i].first;
    }
  }
  for (char letter : roles->groups) taps.groups *= windows.size(letter);
  const hlo::Value made = convolution(x.made(), w.made(), taps, dtype);
  const std::string letters = roles->batch + roles->groups + roles->kept + roles->places;
  Shape shape;
  Ints perm;
  for (char letter : letters) shape.push_back(windows.has(letter) ? windows.size(letter) : y.size(letter));
  for (char letter : out) perm.push_back(static_cast<std::int64_t>(letters.find(letter)));
  return hlo::transpose(hlo::reshape(made, shape), perm);
}

// Each element of the result takes from the places whose windows reach it: x is the operand with the places, spread out
// by the stride, w the one with the windows, turned round.
std::optional<hlo::Value> as_transposed_convolution(const hlo::Product& windows, std::size_t lead, const Overlay& how,
                                                    const Shape& shape, DType dtype) {
  const std::size_t count = how.size.size();
  const std::string places = windows.letters.substr(lead, count), taps = windows.letters.substr(lead + count, count);
  const auto only = [&](const Lettered& side, const std::string& all, const std::string& none) {
    return std::all_of(all.begin(), all.end(), [&](char c) { return side.has(c); }) &&
           std::none_of(none.begin(), none.end(), [&](char c) { return side.has(c); });
  };
  const bool swap = !only(windows.x, places, taps);
  const Lettered &x = swap ? windows.y : windows.x, &w = swap ? windows.x : windows.y;
  if (!only(x, places, taps) || !only(w, taps, places) || !runtime::is_float(dtype) ||
      runtime::numel(x.value.shape) == 0 || runtime::numel(w.value.shape) == 0 || runtime::numel(shape) == 0)
    return std::nullopt;
  std::string batch, groups, summed, kept;
  for (char c : x.letters) {
    if (places.find(c) != std::string::npos) continue;
    const bool given = windows.letters.find(c) != std::string::npos;
    (w.has(c) ? given ? groups : summed : batch) += c;
  }
  for (char c : w.letters)
    if (taps.find(c) == std::string::npos && !x.has(c)) kept += c;
  const auto of = [](const Lettered& side, const std::string& letters) {
    Ints dims;
    for (char c : letters) dims.push_back(side.place(c));
    return dims;
  };
  Joined from(x.value), by(w.value);
  from.one(), from.add(of(x, batch), true), from.one(), from.add(of(x, groups + summed), true);
  from.add(of(x, places));
  by.one(), by.add(of(w, groups + kept), true), by.one(), by.add(of(w, summed), true), by.add(of(w, taps));
  Taps plan{Ints(count, 1), how.dilation, {}, 1, how.stride};
  for (std::size_t i = 0; i < count; ++i) {
    const std::int64_t reach = (w.size(taps[i]) - 1) * how.dilation[i], low = reach - how.before[i],
                       spread = (x.size(places[i]) - 1) * how.stride[i] + 1;
    plan.padding.emplace_back(low, how.size[i] - spread - low + reach);
  }
  for (char c : groups) plan.groups *= x.size(c);
  const hlo::Value made = convolution(from.made(), by.made(), plan, dtype);
  const std::string letters = batch + groups + kept + places,
                    out = windows.letters.substr(0, lead) + places + windows.letters.substr(lead + 2 * count);
  Shape apart;
  Ints perm;
  for (char c : letters) {
    const std::size_t i = places.find(c);
    apart.push_back(i != std::string::npos ? how.size[i] : x.has(c) ? x.size(c) : w.size(c));
  }
  for (char c : out) perm.push_back(static_cast<std::int64_t>(letters.find(c)));
  return hlo::reshape(hlo::transpose(hlo::reshape(made, apart), perm), shape);
}

// The shorter line turned round and moved along the longer one; lines beside each other are groups of their own.
hlo::Values convolve_hlo(const hlo::Use& u) {
  const bool swap = u.in[0].shape.back() < u.in[1].shape.back();
  const hlo::Value &x = u.in[swap ? 1 : 0], &y = u.in[swap ? 0 : 1];
  const std::int64_t n = x.shape.back(), size = y.shape.back(),
                     lines = runtime::numel(x.shape) / std::max<std::int64_t>(n, 1);
  if (runtime::numel(u.out[0].shape) == 0 || size == 0) return {u.to.constant(x.dtype, u.out[0].shape, 0)};
  const hlo::Value turned = hlo::reverse(hlo::reshape(y, {lines, 1, size}), Ints{2});
  const Taps taps{{1}, {1}, {{size - 1, size - 1}}, lines};
  return {hlo::reshape(convolution(hlo::reshape(x, {1, lines, n}), turned, taps, x.dtype), u.out[0].shape)};
}

// Where places and windows stay as they are, what is behind them has the new shape before they are cut too. Of a
// product the last dimensions may be joined, as those of groups are.
hlo::Value reshaped_hlo(const hlo::Value& x, const Shape& shape) {
  if (x.product && !shape.empty() && shape.size() <= x.shape.size() &&
      std::equal(shape.begin(), shape.end() - 1, x.shape.begin())) {
    hlo::Value out = hlo::reshape(x, shape);
    out.product = x.product;
    return out;
  }
  const hlo::Cut* cut = x.cut.get();
  const auto front = static_cast<std::ptrdiff_t>(cut ? cut->lead + 2 * cut->count : 0);
  if (!cut || shape.size() < static_cast<std::size_t>(front) ||
      !std::equal(shape.begin(), shape.begin() + front, x.shape.begin()))
    return hlo::reshape(x, shape);
  Shape given(cut->from.shape.begin(), cut->from.shape.begin() + static_cast<std::ptrdiff_t>(cut->lead + cut->count));
  given.insert(given.end(), shape.begin() + front, shape.end());
  hlo::Cut other = *cut;
  other.from = hlo::reshape(cut->from, given);
  hlo::Value out = x;
  out.shape = shape;
  out.cut = std::make_shared<const hlo::Cut>(std::move(other));
  return out;
}

// ---- rows

namespace {

constexpr std::string_view kFreeLetters = "abcdefghijklmnopqrstuvw";  // x, y and z stand for channels in groups

// Zeros between the elements of each spatial dimension.
Var spread_out(Builder& b, Var x, const Ints& by) {
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

// Of a contraction's dimensions.
struct Letters {
  std::string n, places, inside, c, o;
  explicit Letters(std::size_t count)
      : n(kFreeLetters.substr(0, 1)),
        places(kFreeLetters.substr(1, count)),
        inside(kFreeLetters.substr(1 + count, count)),
        c(kFreeLetters.substr(1 + 2 * count, 1)),
        o(kFreeLetters.substr(2 + 2 * count, 1)) {}
};

Var conv_by(Builder& b, Var x, Var w, const WindowPlan& plan, std::int64_t groups, const Attrs& attrs) {
  const std::size_t count = plan.window.size();
  Var patches = windowed(b, x, plan);
  if (groups > 1 && b.type(w).shape[count] == 1) return depthwise(b, patches, w, count, attrs);
  if (groups > 1) return in_groups(b, patches, w, count, groups, attrs);
  const Letters l(count);
  const std::string spec = l.n + l.places + l.inside + l.c + "," + l.inside + l.c + l.o + "->" + l.n + l.places + l.o;
  return b.call("contract", {patches, w}, with_out({{"spec", spec}}, attrs));
}

// Of x whose elements stand apart: what each of them makes of all of w, laid over each other and added. No zero between
// them is multiplied. Not of halves, whose sums would be rounded in between; and on explicit axes places may be split
// in a way that a sum of windows refuses.
Var conv_of_spread(Builder& b, Var x, Var w, const WindowPlan& plan, const Ints& apart, std::int64_t groups,
                   const Attrs& attrs) {
  const auto ones = [](const Ints& by) { return std::all_of(by.begin(), by.end(), [](auto n) { return n == 1; }); };
  if (ones(apart)) return conv_by(b, x, w, plan, groups, attrs);
  const Type t = b.type(x);
  if (!ones(plan.stride) || groups > 1 || laid_out(t) || laid_out(b.type(w)) ||
      (runtime::is_float(t.dtype) && runtime::size_of(t.dtype) < 4))
    return conv_by(b, spread_out(b, x, apart), w, plan, groups, attrs);
  const std::size_t count = apart.size();
  Overlay how{{}, apart, plan.dilation, {}};
  Ints axes;
  for (std::size_t i = 0; i < count; ++i) {
    const std::int64_t reach = plan.reach(i) - 1, n = t.shape[t.shape.size() - 1 - count + i],
                       framed = (n - 1) * apart[i] + 1 + plan.widths[i].first + plan.widths[i].second;
    how.size.push_back(std::max<std::int64_t>(framed - reach, 0));
    how.before.push_back(reach - plan.widths[i].first);
    axes.push_back(-2 - static_cast<std::int64_t>(count - i));
  }
  const Letters l(count);
  const std::string spec = l.n + l.places + l.c + "," + l.inside + l.c + l.o + "->" + l.n + l.places + l.inside + l.o;
  return windows_sum(b, b.call("contract", {x, b.emit1(*b.core().rev, {w}, {{"axes", axes}})}, {{"spec", spec}}), how);
}

Vars conv(Builder& b, std::span<const Var> in, const Attrs& attrs) {
  const std::int64_t groups = integer_or(attrs, "groups", 1);
  auto [x, w] = convolved(b, in, attrs, groups, "conv");
  const Ints window = window_of(b, w);
  const WindowPlan plan = plan_of(b, x, window, attrs);  // SAME counts the elements that are given
  const Ints apart = per_dimension(attrs, "input_dilation", window.size(), 1);
  return {conv_of_spread(b, x, w, plan, apart, groups, attrs)};
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
  return {conv_of_spread(b, x, w, plan, stride, 1, attrs)};
}

}  // namespace

void register_convolution(OpTable& t) {
  add_composite(
      t,
      "conv(x, w, stride: ints = 1, padding: str = \"SAME\", pads: pairs? = none, dilation: ints = 1, input_dilation: "
      "ints = 1, groups: int = 1, out: spec? = none)",
      "The convolution of x [N, spatial..., C] with w [window..., C / groups, O]; `pads` before and after each spatial "
      "dimension instead of `padding`, `dilation` between a window's elements, `input_dilation` between those of x.",
      "[2, 6, 4, 2] [3, 2, 2, 4] stride=[1] padding='SAME'; "
      "[2, 6, 6, 2] [2, 2, 2, 2] stride=[2] padding='VALID'; "
      "[2, 8, 2] [3, 2, 4] stride=[2] padding='SAME'; "
      "[2, 6, 4] [3, 2, 4] stride=[1] padding='SAME' groups=2; "
      "[2, 6, 4, 2] [3, 2, 1, 4] stride=[1] padding='VALID' groups=2; "
      "[2, 8, 2] [3, 2, 2] dilation=[2] input_dilation=[2] pads=[(1, 2)]; "
      "[2, 4, 2, 4, 2] [2, 1, 2, 2, 2] dilation=[2, 1, 1]",
      conv);
  add_composite(
      t,
      "conv_transpose(x, w, stride: ints = 1, padding: str = \"SAME\", pads: pairs? = none, dilation: ints = 1, out: "
      "spec? = none)",
      "The convolution of x, whose elements stand `stride` apart, with w [window..., C, O]: `stride` times as large.",
      "[2, 4, 2] [3, 2, 4] stride=[2] padding='SAME'; "
      "[2, 3, 4, 2] [2, 3, 2, 2] stride=[2] padding='VALID'",
      conv_transpose);
}

}  // namespace shard::stdlib
