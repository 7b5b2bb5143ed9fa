// What looks things up in sorted lines: searchsorted, interp, unique. The row search_lines needs each line whole; what
// is looked up may be split.
#include <algorithm>
#include <cmath>
#include <tuple>

#include "runtime/kernels/kernels.h"
#include "stdlib/ops/hlo.h"
#include "stdlib/ops/moving/moving_steps.h"
#include "stdlib/ops/ops.h"

namespace shard::stdlib {
namespace {

// search_lines(a [lead..., n], v [lead..., any...]) -> i32, shaped as v
FactorRule search_factors(const OpCall& call) {
  const Type &a = call.in[0], &v = call.in[1];
  const std::size_t lead = a.shape.size() - 1;
  if (a.shape.empty() || v.shape.size() < lead || !std::equal(a.shape.begin(), a.shape.end() - 1, v.shape.begin()))
    fail("shape", "nothing is looked up in " + runtime::to_string(a) + " by " + runtime::to_string(v));
  RuleBuilder r;
  const auto dims = r.dims(v.shape);
  ir::ValueFactors lines(dims.begin(), dims.begin() + static_cast<std::ptrdiff_t>(lead));
  lines.push_back({r.factor(a.shape.back(), FactorKind::Whole)});
  return r.made({lines, dims}, {dims});
}

void register_lines(OpTable& t) {
  OpDef row = internal_row("search_lines(a, v, behind: bool = false)",
                           "Where v would be put into sorted lines, before equals or after them.", search_factors);
  row.dtype = {Operands::Promote, always(DType::I32)};
  row.derivative = ir::Zero{};
  row.hlo = search_hlo;
  row.kernel = [](const KernelCall& c) -> BoundKernel {
    View a = c.in[0], v = c.in[1], out = c.out[0];
    const bool behind = flag_or(c.attrs, "behind", false);
    return [=](void* const* i, void* const* o) mutable {
      runtime::search(at(a, i[0]), at(v, i[1]), at(out, o[0]), behind);
    };
  };
  row.explicit_refuses = [](const OpCall& call, const FactorRule&) -> std::optional<std::string> {
    const Type& a = call.in[0];
    if (!is_split(a, a.rank() - 1)) return std::nullopt;
    return "looking things up in " + runtime::to_string(a) + ", which is split over " + axes_text(a, a.rank() - 1) +
           ": `shard` it so that what is searched is whole first";
  };
  row.flops = 10;
  row.samples = "[8] [4, 6]; [2, 8] [2, 4] behind=true; i32[8] 0..4 i32[] 0..4";
  t.add(std::move(row));
}

Vars searchsorted(Builder& b, std::span<const Var> in, const Attrs& attrs) {
  const Type& a = b.type(in[0]);
  if (a.rank() != 1) fail("shape", "searchsorted looks things up in a vector, got " + runtime::to_string(a));
  const std::string side = text_or(attrs, "side", "left");
  if (side != "left" && side != "right")
    fail("value", "searchsorted: side is \"left\" or \"right\", got \"" + side + "\"");
  return {b.call("search_lines", {in[0], in[1]}, {{"behind", side == "right"}})};
}

// ---- interp

// Points of one period, sorted, with the last one before them and the first one behind them.
std::pair<Expr, Expr> round_the_period(Builder& b, const Expr& xp, const Expr& fp, const Expr& period) {
  Expr within = call("mod", {xp, period});
  Expr order{b, b.call("argsort_last", {within})};
  Expr x = elements_at(b, within, order), f = elements_at(b, fp, order);
  const std::int64_t n = x.type().shape[0];
  Expr last = part_of(b, x, -1, n - 1, n), first = part_of(b, x, -1, 0, 1);
  return {Expr{b, join_parts(b, {last - period, x, first + period}, -1)},
          Expr{b, join_parts(b, {part_of(b, f, -1, n - 1, n), f, part_of(b, f, -1, 0, 1)}, -1)}};
}

Vars interp(Builder& b, std::span<const Var> in, const Attrs& attrs) {
  const Type tx = b.type(in[1]), tf = b.type(in[2]);
  if (tx.rank() != 1 || tx.shape != tf.shape || tx.shape[0] == 0)
    fail("shape", "interp takes two vectors of one size for the points, got " + runtime::to_string(tx) + " and " +
                      runtime::to_string(tf));
  auto [x, xp] = inexact_pair(b, in);
  Expr fp = as_inexact(b, in[2]);
  std::size_t next = 3;
  const auto given = [&](std::string_view name) -> std::optional<Expr> {
    if (!flag_or(attrs, "has_" + std::string(name), in.size() > next)) return std::nullopt;
    return Expr{b, in[next++]};
  };
  const auto left = given("left"), right = given("right"), period = given("period");
  if (period) {
    Expr size = call("abs", {*period});
    x = call("mod", {x, size});
    std::tie(xp, fp) = round_the_period(b, xp, fp, size);
  }
  const std::int64_t n = xp.type().shape[0];
  Expr i{b, b.call("search_lines", {xp, x}, {{"behind", true}})};
  i = minimum(maximum(i, i.number(n == 1 ? 0 : 1)), i.number(static_cast<double>(n - 1)));
  Expr j = n == 1 ? i : i - 1.0;
  Expr x0 = elements_at(b, xp, j), f0 = elements_at(b, fp, j);
  Expr dx = elements_at(b, xp, i) - x0, df = elements_at(b, fp, i) - f0;
  const int digits = runtime::float_form(x.type().dtype)->fraction;
  Expr none = call("le", {call("abs", {dx}), dx.number(std::ldexp(1.0, -2 * digits))});  // no gradient of nan
  Expr f = chosen(none, f0, f0 + (x - x0) / select(none, 1.0, dx) * df);
  if (period || flag_or(attrs, "extrapolate", false)) return {f};
  Expr first = element_of(b, xp, -1, 0), last = element_of(b, xp, -1, n - 1);
  f = chosen(lt(x, first), left ? *left : element_of(b, fp, -1, 0), f);
  return {chosen(gt(x, last), right ? *right : element_of(b, fp, -1, n - 1), f)};
}

// ---- unique

// Where `mask` is true, in order: `size` positions, 0 where there are no more.
Expr true_positions(Builder& b, const Expr& mask, std::int64_t size) {
  const std::int64_t n = mask.type().shape[0];
  Expr count{b, b.call("scan_sum", {cast_to(mask, DType::I32)})};
  Expr place = select(mask, count - 1.0, static_cast<double>(size));
  Expr zeros{b, ir::broadcast_to(b, scalar_i32(b, 0), {size})}, own = positions_along(b, n, 1, -1);
  return {b, b.call("scatter_rows", {zeros, place, own}, written_along(-1, "set"))};
}

// As jax.numpy: the smallest stands in where there are fewer than `size`, or `fill_value`.
Vars unique(Builder& b, std::span<const Var> in, const Attrs& attrs) {
  const Shape shape = b.type(in[0]).shape;
  Expr x{b, flat(b, in[0])};
  const std::int64_t n = x.type().shape[0], size = attrs.integer("size");
  const bool filled = flag_or(attrs, "has_fill_value", in.size() > 1);
  if (size < 0) fail("value", "unique: a size is not negative, got " + std::to_string(size));
  if (n == 0 && size > 0)
    fail("shape", "unique of no elements: there is nothing to fill " + std::to_string(size) + " places with");
  Expr order{b, b.call("argsort_last", {x})}, sorted = elements_at(b, x, order);
  Expr before{b, b.call("rotate", {sorted}, {{"axis", std::int64_t{-1}}, {"shift", std::int64_t{n == 0 ? 0 : 1}}})};
  Expr differs = call("ne", {sorted, before});
  if (runtime::is_float(x.type().dtype))
    differs = both(differs, call("logical_not", {both(call("isnan", {sorted}), call("isnan", {before}))}));
  Expr mask = call("logical_or", {differs, eq(positions_along(b, n, 1, -1), 0.0)});
  Expr places = true_positions(b, mask, size), count{b, b.call("sum", {mask})}, own = positions_along(b, size, 1, -1);
  Expr real = lt(own, count);
  Expr found = elements_at(b, sorted, places);
  if (filled) found = select(real, found, cast_to({b, in[1]}, x.type().dtype));
  Vars made = {found};
  if (flag_or(attrs, "return_index", false)) made.push_back(elements_at(b, order, places));
  if (flag_or(attrs, "return_inverse", false)) {
    Expr rank = Expr{b, b.call("scan_sum", {cast_to(mask, DType::I32)})} - 1.0;
    Expr zeros{b, ir::broadcast_to(b, scalar_i32(b, 0), {n})};
    made.push_back(expand(b, b.call("scatter_rows", {zeros, order, rank}, written_along(-1, "set")), shape));
  }
  if (flag_or(attrs, "return_counts", false)) {
    Expr more = true_positions(b, mask, size + 1);
    Expr all = positions_along(b, size + 1, 1, -1);
    more = select(lt(all, count), more, static_cast<double>(n));
    made.push_back(part_of(b, more, -1, 1, size + 1) - part_of(b, more, -1, 0, size));
  }
  return made;
}

}  // namespace

void register_search(OpTable& t) {
  register_lines(t);
  add_composite(t, "searchsorted(a, v, side: str = \"left\")",
                "Where v would be put into a sorted vector to keep its order.", "[8] [4, 6]; [8] [4] side='right'",
                searchsorted);
  add_composite(
      t,
      "interp(x, xp, fp, left: array? = none, right: array? = none, period: array? = none, extrapolate: bool = false)",
      "The broken line through the points (xp, fp), read at x; beyond its ends the value there, or `left` and `right`.",
      "[4, 6] [2] -0.5..0.5 [2] extrapolate=true; "
      "[4] 0..3 [1] 1..2 [1] [] [] has_left=true has_right=true",
      interp);
  OpDef& distinct = add_composite(
      t,
      "unique_values(x, size: int, fill_value: array? = none, return_index: bool = false, return_inverse: bool = "
      "false, return_counts: bool = false)",
      "The distinct elements in order, `size` of them; where there are fewer, the smallest again or `fill_value`.",
      "i32[4, 2] 0..4 size=4 return_counts=true return_inverse=true; "
      "[6] [] size=8 has_fill_value=true return_index=true",
      unique);
  distinct.internal = true;  // `unique` finds the size where it can (host/values/counting.cpp)
}

}  // namespace shard::stdlib
