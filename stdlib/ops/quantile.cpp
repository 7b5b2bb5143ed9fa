// What lies at a share of the ordered elements, and how things vary together: quantile, percentile, median, cov,
// corrcoef. As jax.numpy computes them.
#include <algorithm>
#include <limits>

#include "stdlib/ops/moving/moving_steps.h"
#include "stdlib/ops/ops.h"

namespace shard::stdlib {
namespace {

// The axes that are looked over brought together as the last one.
Var lines_of(Builder& b, Var x, const Ints& axes) {
  const Shape shape = b.type(x).shape;
  const auto rank = static_cast<std::int64_t>(shape.size());
  Ints perm;
  Shape kept;
  std::int64_t size = 1;
  for (std::int64_t d = -rank; d < 0; ++d)
    if (std::find(axes.begin(), axes.end(), d) == axes.end())
      perm.push_back(d + rank), kept.push_back(shape[static_cast<std::size_t>(d + rank)]);
  for (auto a : axes) perm.push_back(a + rank), size *= shape[static_cast<std::size_t>(a + rank)];
  if (!std::is_sorted(perm.begin(), perm.end())) x = ir::transpose(b, x, perm);
  kept.push_back(size);
  return expand(b, x, kept);
}

// x's element between which q falls, of lines in order.
Expr between(Builder& b, const Expr& sorted, const Expr& q, std::string_view method) {
  const std::int64_t n = sorted.type().shape.back();
  Expr place = q * static_cast<double>(n - 1), below = call("floor", {place}), above = call("ceil", {place});
  Expr high_share = place - below, low_share = 1.0 - high_share;
  const auto value = [&](const Expr& at) {
    Expr inside = minimum(maximum(at, at.number(0)), at.number(static_cast<double>(n - 1)));
    return Expr{b, b.call("take", {sorted, cast_to(inside, DType::I32)}, rows_along(-1))};
  };
  Expr low = value(below), high = value(above);
  if (method == "lower") return low;
  if (method == "higher") return high;
  if (method == "midpoint") return (low + high) * 0.5;
  if (method == "nearest") {
    Expr nearer = call("le", {high_share, high_share.number(0.5)});
    return select({b, ir::broadcast_to(b, nearer, low.type().shape)}, low, high);
  }
  const DType wide = q.type().dtype;
  return cast_to(low, wide) * low_share + cast_to(high, wide) * high_share;
}

Vars quantile_of(Builder& b, Var given, const Expr& asked, const Attrs& attrs, std::string_view op,
                 const std::string& method) {
  constexpr std::string_view kMethods[] = {"linear", "lower", "higher", "midpoint", "nearest"};
  if (std::find(std::begin(kMethods), std::end(kMethods), method) == std::end(kMethods))
    fail("value", std::string(op) +
                      ": method is \"linear\", \"lower\", \"higher\", \"midpoint\" or \"nearest\", not \"" + method +
                      "\"");
  const Shape full = b.type(given).shape;
  const Ints axes = axes_from_end(ints_if(attrs, "axis"), static_cast<std::int64_t>(full.size()), op);
  Expr x{b, lines_of(b, as_inexact(b, given), axes)};
  const DType dtype = x.type().dtype;
  if (x.type().shape.back() == 0)
    fail("shape", std::string(op) + " of no elements is not defined: the shape is " + runtime::to_string(full));
  if (asked.type().rank() > 1)
    fail("shape", std::string(op) + " takes a share or a vector of shares, got " + runtime::to_string(asked.type()));
  DType wide = runtime::to_inexact(asked.type().dtype);
  if (dtype == DType::F64) wide = DType::F64;
  const bool many = asked.type().rank() == 1;
  Expr q = cast_to({b, expand(b, asked, {runtime::numel(asked.type().shape)})}, wide);
  Expr nan{b, b.call("any", {call("isnan", {x})}, {{"axis", Ints{-1}}, {"keepdims", true}})};
  x = select({b, ir::broadcast_to(b, nan, x.type().shape)}, std::numeric_limits<double>::quiet_NaN(), x);
  Expr made = between(b, {b, b.call("sort_last", {x})}, q, method);
  made = cast_to(made, dtype);  // [kept..., q]
  Var out = many ? move_axis(b, made, -1, -made.type().rank()) : expand(b, made, erase_axes(made.type().shape, {-1}));
  if (!flag_or(attrs, "keepdims", false)) return {out};
  Shape kept = ones_at(full, axes);
  if (many) kept.insert(kept.begin(), q.type().shape[0]);
  return {expand(b, out, kept)};
}

ir::Compose quantile(std::string_view op, double whole) {
  return [op, whole](Builder& b, std::span<const Var> in, const Attrs& attrs) {
    Expr q = as_inexact(b, in[1]);
    return quantile_of(b, in[0], whole == 1 ? q : q / whole, attrs, op, text_or(attrs, "method", "linear"));
  };
}

Vars median(Builder& b, std::span<const Var> in, const Attrs& attrs) {
  return quantile_of(b, in[0], {b, ir::constant(b, 0.5, DType::F32)}, attrs, "median", "midpoint");
}

// ---- cov, corrcoef

// Variables in rows, observations in columns.
Expr in_rows(Builder& b, Var x, bool rowvar, std::string_view op) {
  const Shape& shape = b.type(x).shape;
  if (shape.size() > 2)
    fail("shape", std::string(op) + " takes a vector or a matrix, got " + runtime::to_string(b.type(x)));
  if (shape.size() < 2) return {b, expand(b, x, {1, runtime::numel(shape)})};
  return {b, rowvar ? x : b.call("permute", {x}, {{"perm", Ints{-1, -2}}})};
}

Expr vector_of(Builder& b, Var w, std::int64_t n, std::string_view name) {
  if (b.type(w).shape != Shape{n})
    fail("shape", "cov: " + std::string(name) + " has a weight for each of the " + std::to_string(n) +
                      " observations, got " + runtime::to_string(b.type(w)));
  return call("abs", {Expr{b, w}});
}

// Transposed, of complex numbers also conjugated.
Expr other_way(const Expr& x) {
  return call("conj", {Expr{x.builder(), x.builder().call("permute", {x}, {{"perm", Ints{-1, -2}}})}});
}

Expr covariance(Builder& b, std::span<const Var> in, const Attrs& attrs, std::string_view op) {
  std::size_t next = 1;
  const auto given = [&](std::string_view name) -> std::optional<Var> {
    if (!flag_or(attrs, "has_" + std::string(name), in.size() > next)) return std::nullopt;
    return in[next++];
  };
  const auto other = given("y"), frequencies = given("fweights"), weights = given("aweights");
  const bool rowvar = flag_or(attrs, "rowvar", true), bias = flag_or(attrs, "bias", false);
  const std::int64_t ddof = integer_or(attrs, "ddof", bias ? 0 : 1);
  Vars two = {in[0]};
  if (other) two.push_back(*other);
  Kind kind = promoted(b, two);
  kind.dtype = runtime::to_inexact(kind.dtype);
  Expr x = in_rows(b, promote_to(b, in[0], kind), rowvar, op);
  if (other) {
    Expr y = in_rows(b, promote_to(b, *other, kind), rowvar, op);
    if (y.type().shape[1] != x.type().shape[1])
      fail("shape", std::string(op) + ": x has " + std::to_string(x.type().shape[1]) + " observations, y " +
                        std::to_string(y.type().shape[1]));
    x = {b, join_parts(b, {x, y}, -2)};
  }
  const std::int64_t n = x.type().shape[1];
  std::optional<Expr> w;
  if (frequencies) {
    if (!runtime::is_integer(b.type(*frequencies).dtype))
      fail("type", "cov: fweights are integers, got " + runtime::to_string(b.type(*frequencies)));
    w = vector_of(b, *frequencies, n, "fweights");
  }
  std::optional<Expr> analytic;
  if (weights) analytic = vector_of(b, *weights, n, "aweights"), w = w ? *w * *analytic : *analytic;
  const auto total = [&](const Expr& v, Ints axes, bool keep) {
    return Expr{b, b.call("sum", {v}, {{"axis", std::move(axes)}, {"keepdims", keep}})};
  };
  if (!w) {
    Expr centred = x - Expr{b, b.call("mean", {x}, {{"axis", Ints{-1}}, {"keepdims", true}})};
    Expr products = call("matmul", {centred, other_way(centred)});
    return products / static_cast<double>(n - ddof);
  }
  Expr sum = total(*w, {-1}, false);
  Expr centred = x - total(x * *w, {-1}, true) / sum;
  Expr f = ddof == 0   ? sum
           : !analytic ? sum - sum.number(static_cast<double>(ddof))
                       : sum - static_cast<double>(ddof) * total(*w * *analytic, {-1}, false) / sum;
  Expr products = call("matmul", {centred, other_way(centred * *w)});
  return products / f;
}

Expr without_ones(Builder& b, const Expr& x) {
  Shape shape;
  for (auto n : x.type().shape)
    if (n != 1) shape.push_back(n);
  return {b, expand(b, x, shape)};
}

Vars cov(Builder& b, std::span<const Var> in, const Attrs& attrs) {
  return {without_ones(b, covariance(b, in, attrs, "cov"))};
}

Vars corrcoef(Builder& b, std::span<const Var> in, const Attrs& attrs) {
  Expr c = without_ones(b, covariance(b, in, attrs, "corrcoef"));
  if (c.type().rank() == 0) return {c / c};
  const std::int64_t n = c.type().shape[0];
  Expr deviation = call("sqrt", {call("real", {call("diag", {c})})});
  c = c / Expr{b, expand(b, deviation, {n, 1})} / deviation;
  const auto within = [](const Expr& x) { return minimum(maximum(x, x.number(-1)), x.number(1)); };
  if (!runtime::is_complex(c.type().dtype)) return {within(c)};
  return {call("complex", {within(call("real", {c})), within(call("imag", {c}))})};
}

}  // namespace

void register_quantile(OpTable& t) {
  add_composite(t, "quantile(x, q, axis: ints? = none, method: str = \"linear\", keepdims: bool = false)",
                "The number below which a share q of all elements lies, or along axes; nan where there is one.",
                "[4, 6] [] 0..1; [4, 6] [2] 0..1 axis=[0]; [2, 4, 6] [] 0..1 axis=[0, -1] keepdims=true; "
                "[4, 6] [2] 0..1 axis=[1] method='lower' keepdims=true; i32[8] [] 0..1 method='nearest'",
                quantile("quantile", 1));
  add_composite(t, "percentile(x, q, axis: ints? = none, method: str = \"linear\", keepdims: bool = false)",
                "The number below which q percent of all elements lie, or along axes.",
                "[4, 6] [] 0..100; [8] [2] 0..100 method='higher'", quantile("percentile", 100));
  add_composite(t, "median(x, axis: ints? = none, keepdims: bool = false)",
                "The middle of all elements in order, or along axes; of an even number the mean of both.",
                "[4, 6]; [4, 6] axis=[0]; i32[7]", median);
  add_composite(
      t,
      "cov(x, y: array? = none, rowvar: bool = true, bias: bool = false, ddof: int? = none, fweights: array? = none, "
      "aweights: array? = none)",
      "How variables (rows) vary together over observations (columns), divided by their number less 1 (ddof).",
      "[4, 6]; [6] [6] has_y=true bias=true; "
      "[6, 2] i32[6] 1..4 [6] 0.5..2 rowvar=false has_y=false has_fweights=true has_aweights=true; [8]",
      cov);
  add_composite(t, "corrcoef(x, y: array? = none, rowvar: bool = true)",
                "Correlations of variables (rows) over observations (columns): between -1 and 1.",
                "[4, 6]; [6] [6] has_y=true; [8]", corrcoef);
}

}  // namespace shard::stdlib
