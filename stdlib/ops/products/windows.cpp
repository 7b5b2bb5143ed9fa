#include "stdlib/ops/products/windows.h"

#include <algorithm>
#include <optional>

#include "stdlib/ops/hlo.h"
#include "stdlib/ops/moving/halo.h"

namespace shard::stdlib {

// ---- StableHLO
// Windows as StableHLO, written out: positions are counted, and the elements there gathered. Products in groups of rows
// are contractions.

namespace {

hlo::Value windows_along(const hlo::Value& x, int dim, std::int64_t places, std::int64_t size, std::int64_t stride,
                         std::int64_t dilation) {
  const auto d = static_cast<std::size_t>(dim);
  Shape made = x.shape;
  made[d] = places;
  made.insert(made.begin() + dim + 1, size);
  if (runtime::numel(made) == 0) return x.to->constant(x.dtype, made, 0);
  std::int64_t before = 1, behind = 1;
  for (std::size_t k = 0; k < x.shape.size(); ++k) (k < d ? before : behind) *= k == d ? 1 : x.shape[k];
  const Shape grid{places, size};
  const hlo::Value first = hlo::iota(*x.to, DType::I32, grid, 0), inside = hlo::iota(*x.to, DType::I32, grid, 1);
  const hlo::Value at = first * static_cast<double>(stride) + inside * static_cast<double>(dilation);
  return hlo::reshape(rows_at(hlo::reshape(x, {1, before, x.shape[d], behind}), hlo::reshape(at, {1, places * size})),
                      made);
}

// Dimension by dimension: [lead..., places and windows in turn..., behind...], then all places before all windows.
hlo::Value windows_written(const hlo::Value& windows) {
  const hlo::Cut& c = *windows.cut;
  const std::size_t rank = c.from.shape.size();
  Ints low(rank, 0), high(rank, 0), perm;
  const Ints inner(rank, 0);
  for (std::size_t i = 0; i < c.count; ++i) std::tie(low[c.lead + i], high[c.lead + i]) = c.padding[i];
  hlo::Value x = low == inner && high == inner
                     ? c.from
                     : hlo::pad(c.from, c.from.to->constant(windows.dtype, {}, 0), low, high, inner);
  for (std::size_t i = 0; i < c.count; ++i)
    x = windows_along(x, static_cast<int>(c.lead + 2 * i), windows.shape[c.lead + i],
                      windows.shape[c.lead + c.count + i], c.stride[i], c.dilation[i]);
  const auto dims = [&](std::size_t from, std::size_t to, std::size_t step) {
    for (std::size_t d = from; d < to; d += step) perm.push_back(static_cast<std::int64_t>(d));
  };
  dims(0, c.lead, 1);
  for (std::size_t k : {0, 1}) dims(c.lead + k, c.lead + 2 * c.count, 2);
  dims(c.lead + 2 * c.count, x.shape.size(), 1);
  return hlo::transpose(x, perm);
}

}  // namespace

// x in as many copies as there are groups, each with the rows of its group and zeros elsewhere: [lead..., m, g, k].
hlo::Values ragged_hlo(const hlo::Use& u, bool outer) {
  const hlo::Value &x = u.in[0], &w = u.in[1];
  const std::size_t lead = x.shape.size() - 2;
  const std::int64_t k = x.shape[lead + 1], g = u.in[2].shape.back();
  Shape grid(x.shape.begin(), x.shape.end() - 1);
  grid.push_back(g);
  const auto first = static_cast<std::int64_t>(lead);
  Ints groups = leading(first), rows = leading(first + 1);
  groups.push_back(first + 1);
  const hlo::Value counts = hlo::binary("maximum", u.in[2], u.in[2].number(0));
  const std::vector<Type> one{Type::of(DType::I32, counts.shape)};
  const hlo::Value ends = running_hlo({u.to, {}, {&counts, 1}, one}, runtime::Scan::Sum)[0];
  const hlo::Value row = hlo::iota(u.to, DType::I32, grid, static_cast<int>(lead));
  const hlo::Value mine = hlo::both(hlo::compare(row, hlo::spread(ends - counts, grid, groups), "GE"),
                                    hlo::compare(row, hlo::spread(ends, grid, groups), "LT"));
  Shape apart = grid;
  apart.push_back(k);
  Ints over = rows;
  over.push_back(first + 2);
  const hlo::Value copies = hlo::spread(x, apart, over);
  Ints all = groups;
  all.insert(all.end() - 1, first);
  const hlo::Value kept = hlo::select(hlo::spread(mine, apart, all), copies, copies.number(0));
  Products dims{leading(first), leading(first), {first}, {first}};
  if (!outer) dims.x_summed = {first + 1, first + 2}, dims.y_summed = {first, first + 1};
  return {dot_general(kept, w, dims, x.dtype, u.out[0].shape)};
}

// ---- rows

namespace {

// windows(x [lead..., n..., C]; window, stride, padding: zeros before and behind, dilation) -> [lead..., positions...,
// window..., C]
std::vector<Shape> windows_shape(const OpCall& call) {
  const Spatial s(call.attrs, call.in[0].shape.size());
  for (std::size_t i = 0; i < s.count; ++i)
    if (s.window[i] < 1 || s.stride[i] < 1) fail("shape", "windows and strides are positive");
  Shape made = s.places(call.in[0].shape);
  made.insert(made.end() - 1, s.window.begin(), s.window.end());
  return {made};
}

// The cotangent of x: windows laid over each other and added.
Var windows_transpose(Builder& b, const NodeView& n, int, std::span<const Var> ct, const Type& want) {
  Spatial s(n.call.attrs, want.shape.size());
  Overlay how{{}, n.call.attrs.ints("stride"), s.dilation, {}};
  for (std::size_t i = 0; i < s.count; ++i) {
    how.size.push_back(want.shape[s.lead + i]);
    how.before.push_back(s.padding[i].first);
  }
  return windows_sum(b, ct[0], how);
}

// On a split dimension each device fetches what the windows at its own positions reach over.
Vars windows_locally(Builder& b, const ir::LocalCall& c, std::span<const Var> in) {
  const Shape from = c.call.in[0].shape, to = windows_shape(c.call)[0];
  Spatial s(c.call.attrs, from.size());
  Var x = in[0];
  for (std::size_t i = 0; i < s.count; ++i) {
    const std::size_t d = s.lead + i;
    auto split = split_dim(c, 0, d);
    if (!split) continue;
    x = reached(b, x, *split, s, i, split->block_of(to[d]), 0);
    s.padding[i] = {0, 0};
  }
  Attrs attrs = c.attrs;
  if (attrs.has("padding")) attrs.set("padding", s.padding);
  return b.emit(c.call.op, {x}, std::move(attrs));
}

// Windows of an array between zeros are windows with these zeros: nothing has the size of the framed array, which may
// not divide.
std::optional<Var> of_padded(Builder& b, const OpCall& call, const ir::Node& maker, const Vars& in) {
  const std::size_t rank = call.in[0].shape.size();
  Spatial s(call.attrs, rank);
  if (maker.op != b.core().pad || maker.attrs.has("interior") || !call.in[0].sharding.used_axes().empty()) return {};
  const auto made = ir::producers(*call.graph);
  const ir::Node* value = made[ir::at(maker.inputs[1])];
  if (value && value->op == b.core().convert) value = made[ir::at(value->inputs[0])];
  if (!value || value->op != b.core().constant || value->attrs.get<bool>("value") || value->attrs.number("value") != 0)
    return {};
  const Pairs& widths = maker.attrs.pairs("widths");
  for (std::size_t i = 0; i < widths.size(); ++i) {
    const auto [low, high] = widths[i];
    const std::size_t d = rank - widths.size() + i;
    if (low == 0 && high == 0) continue;
    if (low < 0 || high < 0 || d < s.lead || d >= s.lead + s.count) return {};
    s.padding[d - s.lead].first += low;
    s.padding[d - s.lead].second += high;
  }
  Attrs attrs = call.attrs;
  attrs.set("padding", s.padding);
  return b.emit1(call.op, {in[0]}, std::move(attrs));
}

// Windows side by side are another shape: [n / window, window], and nothing that one device needs is with another.
Var side_by_side(Builder& b, Var x, const Ints& window) {
  const Shape shape = b.type(x).shape;
  const std::size_t count = window.size(), lead = shape.size() - 1 - count;
  const auto rank = static_cast<std::int64_t>(shape.size() + count);
  Shape cut(shape.begin(), shape.begin() + static_cast<std::ptrdiff_t>(lead));
  Ints perm;
  for (std::size_t d = 0; d < lead; ++d) perm.push_back(static_cast<std::int64_t>(d) - rank);
  for (std::size_t i = 0; i < count; ++i) {
    cut.push_back(shape[lead + i] / window[i]);
    cut.push_back(window[i]);
  }
  for (std::size_t k : {0, 1})
    for (std::size_t i = 0; i < count; ++i) perm.push_back(static_cast<std::int64_t>(lead + 2 * i + k) - rank);
  perm.push_back(-1);
  cut.push_back(shape.back());
  return b.call("permute", {expand(b, x, cut)}, {{"perm", perm}});
}

}  // namespace

Spatial::Spatial(const Attrs& attrs, std::size_t rank)
    : window(attrs.ints("window")),
      stride(attrs.ints("stride")),
      count(window.size()),
      padding(count, {0, 0}),
      dilation(ints_if(attrs, "dilation").value_or(Ints(count, 1))) {
  if (rank < count + 1)
    fail("shape", "a window of " + std::to_string(count) + " dimensions needs an array of rank " +
                      std::to_string(count + 1) + " or more, with channels last");
  lead = rank - count - 1;
  if (attrs.has("padding")) padding = attrs.pairs("padding");
}

Shape Spatial::places(Shape x) const {
  for (std::size_t i = 0; i < count; ++i) {
    const std::int64_t n = x[lead + i] + padding[i].first + padding[i].second - reach(i);
    x[lead + i] = n < 0 ? 0 : n / stride[i] + 1;
  }
  return x;
}

Var reached(Builder& b, Var x, const SplitDim& of, const Spatial& s, std::size_t i, std::int64_t each, double beyond) {
  return window_of_zeros(b, x, of, -s.padding[i].first, each * s.stride[i], (each - 1) * s.stride[i] + s.reach(i),
                         beyond);
}

Ints per_dimension(const Attrs& attrs, std::string_view name, std::size_t count, std::int64_t otherwise) {
  Ints made = ints_if(attrs, name).value_or(Ints{otherwise});
  if (made.size() == 1) made.resize(count, made[0]);
  if (made.size() != count)
    fail("shape", std::string(name) + " has " + std::to_string(made.size()) + " numbers for " + std::to_string(count) +
                      " spatial dimensions");
  for (auto n : made)
    if (n < 1) fail("value", std::string(name) + " must be positive");
  return made;
}

// `pads:` says the widths, or `padding:` how many windows there are: as many as elements and strides, or those that
// fit.
WindowPlan plan_of(const Builder& b, Var x, const Ints& window, const Attrs& attrs) {
  const Shape& shape = b.type(x).shape;
  const std::size_t count = window.size();
  if (shape.size() < count + 1)
    fail("shape", "windows of " + std::to_string(count) + " dimensions do not fit " + runtime::to_string(b.type(x)) +
                      "; channels are the last dimension");
  WindowPlan plan{window, per_dimension(attrs, "stride", count, 1), per_dimension(attrs, "dilation", count, 1),
                  Pairs(count, {0, 0})};
  if (attrs.has("pads")) {
    plan.widths = attrs.pairs("pads");
    if (plan.widths.size() == 1) plan.widths.resize(count, plan.widths[0]);
    if (plan.widths.size() != count)
      fail("shape", "pads has " + std::to_string(plan.widths.size()) + " pairs for " + std::to_string(count) +
                        " spatial dimensions");
    for (auto& [before, behind] : plan.widths)
      if (before < 0 || behind < 0) fail("value", "pads cannot be negative; slice the array");
    return plan;
  }
  const std::string padding = text_or(attrs, "padding", "SAME");
  if (padding != "SAME" && padding != "VALID")
    fail("value",
         "padding is \"SAME\" or \"VALID\", got \"" + padding + "\"; widths go to `pads: [(before, after), ...]`");
  for (std::size_t i = 0; i < count && padding == "SAME"; ++i) {
    const std::int64_t n = shape[shape.size() - 1 - count + i], places = (n + plan.stride[i] - 1) / plan.stride[i];
    const std::int64_t total = std::max<std::int64_t>((places - 1) * plan.stride[i] + plan.reach(i) - n, 0);
    plan.widths[i] = {total / 2, total - total / 2};
  }
  return plan;
}

LaidBetween between(Builder& b, Var x, const WindowPlan& plan) {
  const Type given = b.type(x);
  if (!laid_out(given)) return {x, std::nullopt};
  const std::size_t count = plan.window.size(), lead = given.shape.size() - 1 - count;
  ir::Layout whole{given.mesh, given.sharding};
  for (std::size_t i = 0; i < count; ++i) {
    const std::size_t d = lead + i;
    const std::int64_t parts = runtime::parts(*given.mesh, given.sharding.dims[d]);
    const std::int64_t padded = given.shape[d] + plan.widths[i].first + plan.widths[i].second,
                       places = (padded - plan.reach(i)) / plan.stride[i] + 1;
    if (parts > 1 && padded >= plan.reach(i) && places % parts == 0) whole.sharding.dims[d].axes.clear();
  }
  if (whole.sharding == given.sharding) return {x, std::nullopt};
  return {b.emit1(*b.core().shard, {x}, {{"layout", whole}}), ir::Layout{given.mesh, given.sharding}};
}

bool WindowPlan::padded() const {
  return std::any_of(widths.begin(), widths.end(), [](auto& w) { return w.first || w.second; });
}

Var windowed(Builder& b, Var x, const WindowPlan& plan) {
  const Shape shape = b.type(x).shape;
  const std::size_t count = plan.window.size(), lead = shape.size() - 1 - count;
  bool disjoint = !plan.padded() && !laid_out(b.type(x));
  for (std::size_t i = 0; i < count; ++i)
    disjoint =
        disjoint && plan.stride[i] == plan.window[i] && plan.dilation[i] == 1 && shape[lead + i] % plan.window[i] == 0;
  if (disjoint) return side_by_side(b, x, plan.window);
  LaidBetween laid = between(b, x, plan);
  Attrs how{{"window", plan.window}, {"stride", plan.stride}};
  if (std::any_of(plan.dilation.begin(), plan.dilation.end(), [](auto n) { return n != 1; }))
    how.set("dilation", plan.dilation);
  if (plan.padded()) how.set("padding", plan.widths);
  Var made = b.call("windows", {laid.x}, how);
  if (!laid.back) return made;
  auto& dims = laid.back->sharding.dims;  // the windows' own dimensions stand before the channels
  dims.insert(dims.end() - 1, count, runtime::DimSharding{});
  return b.emit1(*b.core().shard, {made}, {{"layout", *laid.back}});
}

static hlo::Values windows_hlo(const hlo::Use& u) {
  const Spatial s(u.attrs, u.in[0].shape.size());
  hlo::Value cut{&u.to, {}, u.out[0].dtype, u.out[0].shape};
  cut.cut = std::make_shared<const hlo::Cut>(
      hlo::Cut{u.in[0], s.lead, s.count, u.attrs.ints("stride"), s.dilation, s.padding, windows_written});
  return {cut};
}

void register_windows(OpTable& t) {
  OpDef row = internal_row("windows(x, window: ints, stride: ints, padding: pairs? = none, dilation: ints? = none)",
                           "Every window of the spatial dimensions, at its position; padding: zeros before and after; "
                           "dilation: how far apart its elements are.");
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
    return r.made({dims}, {out});
  };
  row.shape = windows_shape;
  row.derivative = Transposes{{}, false, windows_transpose};
  row.hlo = windows_hlo;
  row.of_complex = ir::OnParts{};
  row.kernel =
      ir::ViewOf{[](const runtime::Strided& x, const Attrs& attrs, const Shape& to) -> std::optional<runtime::Strided> {
                   const Spatial s(attrs, x.shape.size());
                   const auto behind = x.strides.begin() + static_cast<std::ptrdiff_t>(s.lead);
                   runtime::Strided out{to, {x.strides.begin(), behind}, x.offset};
                   for (std::size_t i = 0; i < s.count; ++i)
                     out.strides.push_back(x.strides[s.lead + i] * attrs.ints("stride")[i]);
                   for (std::size_t i = 0; i < s.count; ++i)
                     out.strides.push_back(x.strides[s.lead + i] * s.dilation[i]);
                   out.strides.push_back(x.strides.back());
                   return out;
                 },
                 true,
                 [](const Attrs& attrs, std::size_t rank) {
                   const Spatial s(attrs, rank);
                   Pairs frame(rank, {0, 0});
                   std::copy(s.padding.begin(), s.padding.end(), frame.begin() + static_cast<std::ptrdiff_t>(s.lead));
                   return frame;
                 }};
  row.flops = 0;
  row.explicit_refuses = [](const OpCall& call, const FactorRule&) {
    Shape to = windows_shape(call)[0];
    Spatial s(call.attrs, call.in[0].shape.size());
    to.erase(to.begin() + static_cast<std::ptrdiff_t>(s.lead + s.count), to.end() - 1);
    return size_change_refuses("a window", call.in[0], to);
  };
  row.partition = windows_locally;
  row.with_maker = of_padded;
  row.samples =
      "[2, 6, 4] window=[3] stride=[1]; [2, 6, 8, 2] window=[2, 3] stride=[2, 1]; "
      "[8, 4, 2] window=[3, 2] stride=[1, 1] padding=[(1, 1), (0, 1)]; "
      "[2, 8, 2] window=[3] stride=[2] padding=[(0, 1)]; "
      "[4, 2] window=[2] stride=[1] padding=[(3, 2)]; "
      "[8, 2] window=[3] stride=[1] padding=[(2, 2)] dilation=[2]; "
      "[8, 6, 2] window=[2, 3] stride=[2, 1] dilation=[3, 2]";
  t.add(std::move(row));
}

}  // namespace shard::stdlib
