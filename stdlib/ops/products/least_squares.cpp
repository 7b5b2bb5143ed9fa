// What fits best where nothing fits exactly: pinv, lstsq, polyfit. All through singular values, of which small ones
// count as 0.
#include <algorithm>
#include <cmath>

#include "runtime/kernels/dense/decompose.h"
#include "stdlib/ops/hlo.h"
#include "stdlib/ops/moving/moving_steps.h"
#include "stdlib/ops/ops.h"
#include "stdlib/ops/products/matrices.h"

namespace shard::stdlib {
namespace {

double epsilon(DType t) {
  return std::ldexp(1.0, -runtime::float_form(runtime::is_complex(t) ? runtime::part_of(t) : t)->fraction);
}

// Golub and Pereyra, "The differentiation of pseudo-inverses and nonlinear least squares problems whose variables
// separate", 1973; as JAX orders the products.
Vars pinv_jvp(Builder& b, const NodeView& n, Var tangent) {
  Expr a{b, n.in[0]}, da{b, tangent}, p{b, n.out[0]}, pt = turned(p), dt = turned(da);
  const Shape core = core_of(n.call.in[0]);
  if (core[0] >= core[1]) {
    Expr s = product(product(p, pt), dt), t = product(product(dt, pt), p);
    return {s - product(product(p, da), p) - product(product(s, a), p) + t - product(product(p, a), t)};
  }
  Expr s = product(p, product(pt, dt)), t = product(dt, product(pt, p));
  return {s - product(p, product(da, p)) - product(s, product(a, p)) + t - product(p, product(a, t))};
}

void register_pseudo_inverse(OpTable& t) {
  OpDef row = matrix_row("pseudo_inverse(a, share: float)",
                         "The pseudoinverse; singular values up to this share of the largest count as 0.", 1);
  row.factors = [](const OpCall& call) {
    MatrixRule m(call);
    const Shape core = core_of(call.in[0]);
    return m.r.made({m.value(core)}, {m.value({core[1], core[0]})});
  };
  row.derivative = pushed(pinv_jvp);
  row.hlo = pinv_hlo;
  row.of_complex = through_real("pseudo_inverse");
  row.kernel =
      matrix_kernel([](const std::vector<View>& in, const std::vector<View>& out, const Attrs& attrs,
                       const runtime::Stop* stop) { runtime::pinv(in[0], out[0], attrs.number("share"), stop); });
  row.samples = "[4, 3] share=1e-06; [2, 2, 3] share=1e-06; c64[3, 2] share=1e-06";
  t.add(std::move(row));
}

Vars pinv(Builder& b, std::span<const Var> in, const Attrs& attrs) {
  DType back{};
  Expr a = matrices(b, in[0], "pinv", back);
  const Shape core = core_of(a.type());
  const double share =
      number_if(attrs, "rtol").value_or(10 * static_cast<double>(std::max(core[0], core[1])) * epsilon(back));
  return back_to(b, {b.call("pseudo_inverse", {a}, {{"share", share}})}, back);
}

struct Fit {
  Expr x, residuals, rank, values;
};

// The x of the least |a x - y|, of matrices.
Fit fitted(Builder& b, const Expr& a, const Expr& y, double share) {
  const Vars parts = b.emit(b.table().at("svd_factors"), {a.var()}, {{"full", false}});
  Expr u{b, parts[0]}, s{b, parts[1]}, vt{b, parts[2]};
  Expr counts = both(gt(s, 0.0), ge(s, element_of(b, s, -1, 0) * share));
  Expr inverse = select(counts, 1.0 / select(counts, s, 1.0), 0.0);
  Expr x = product(adjoint(vt), as_column(inverse) * product(adjoint(u), y)), rest = y - product(a, x);
  Expr residuals{b, b.call("square", {b.call("norm", {rest}, {{"axis", Ints{-2}}})})};
  return {x, residuals, {b, b.call("sum", {counts})}, s};
}

Vars lstsq(Builder& b, std::span<const Var> in, const Attrs& attrs) {
  Kind kind = promoted(b, in);
  DType back{}, again{};
  Expr a = matrices(b, promote_to(b, in[0], kind), "lstsq", back);
  const Type y_type = b.type(in[1]);
  const bool vector = y_type.rank() == 1;
  if (a.type().rank() != 2 || y_type.rank() < 1 || y_type.rank() > 2 || y_type.shape[0] != a.type().shape[0])
    fail("shape", "lstsq takes a matrix and a vector or matrix with as many rows, got " +
                      runtime::to_string(b.type(in[0])) + " and " + runtime::to_string(y_type));
  Var right = promote_to(b, in[1], kind);
  Expr y = matrices(b, vector ? expand(b, right, {y_type.shape[0], 1}) : right, "lstsq", again);
  const Shape core = a.type().shape;
  if (core[0] == 0 || core[1] == 0) fail("shape", "lstsq of no elements: a is " + runtime::to_string(b.type(in[0])));
  double share = number_if(attrs, "rcond").value_or(static_cast<double>(std::max(core[0], core[1])) * epsilon(back));
  if (share < 0) share = epsilon(back);
  const Fit fit = fitted(b, a, y, share);
  Var x = vector ? expand(b, fit.x, {core[1]}) : fit.x.var();
  const Vars made = back_to(b, {x, fit.residuals, fit.values}, back);
  return {made[0], made[1], fit.rank, made[2]};
}

Vars polyfit(Builder& b, std::span<const Var> in, const Attrs& attrs) {
  const std::int64_t degree = attrs.integer("deg"), order = degree + 1;
  const Type tx = b.type(in[0]), ty = b.type(in[1]);
  if (degree < 0) fail("value", "polyfit: a degree is not negative, got " + std::to_string(degree));
  if (tx.rank() != 1 || tx.shape[0] == 0 || ty.rank() < 1 || ty.rank() > 2 || ty.shape[0] != tx.shape[0])
    fail("shape", "polyfit takes a vector x and as many y (or a matrix with as many rows), got " +
                      runtime::to_string(tx) + " and " + runtime::to_string(ty));
  const std::int64_t n = tx.shape[0];
  const DType back = runtime::to_inexact(promoted(b, in).dtype),
              wide = back == DType::F64 || runtime::is_complex(back) ? back : DType::F32;
  const double share =
      number_if(attrs, "rcond").value_or(static_cast<double>(n) * epsilon(runtime::to_inexact(tx.dtype)));
  Expr x{b, ir::convert(b, in[0], wide)};
  Expr y{b, expand(b, ir::convert(b, in[1], wide), {n, ty.rank() == 1 ? 1 : ty.shape[1]})};
  Vars columns;
  Expr power = call("fill_like", {x}, {{"value", 1.0}, {"dtype", wide}});
  for (std::int64_t i = 0; i < order; ++i) {
    columns.insert(columns.begin(), expand(b, power, {n, 1}));
    power = power * x;
  }
  Expr left{b, join_parts(b, columns, -1)};
  if (flag_or(attrs, "has_w", in.size() > 2)) {
    if (b.type(in[2]).shape != Shape{n})
      fail("shape", "polyfit: a weight for each of the " + std::to_string(n) + " points, got " +
                        runtime::to_string(b.type(in[2])));
    Expr w{b, expand(b, ir::convert(b, in[2], wide), {n, 1})};
    left = left * w, y = y * w;
  }
  Expr scale = call("sqrt", {Expr{b, b.call("sum", {left * left}, {{"axis", Ints{0}}})}});
  const Fit fit = fitted(b, left / scale, y, share);
  Expr made = fit.x / as_column(scale);
  return {ir::convert(b, ty.rank() == 1 ? expand(b, made, {order}) : made.var(), back)};
}

}  // namespace

void register_least_squares(OpTable& t) {
  register_pseudo_inverse(t);
  add_composite(t, "pinv(a, rtol: number? = none)",
                "The pseudoinverse of a matrix; singular values up to `rtol` of the largest count as 0.",
                "[4, 3]; [2, 3, 3]", pinv);
  add_composite(t, "lstsq(a, b, rcond: number? = none)",
                "The x of the least |a x - b|, its squared residuals, the rank of a, and its singular values.",
                "[6, 3] [6]; [4, 2] [4, 2]", lstsq);
  add_composite(t, "polyfit(x, y, deg: int, rcond: number? = none, w: array? = none)",
                "The polynomial through points that fits best, the highest power first.",
                "[8] [8] deg=2; [6] [6, 2] [6] 0.5..1 deg=1 has_w=true", polyfit);
}

}  // namespace shard::stdlib
