// Linear algebra: cholesky, solve, solve_triangular, inv, qr, svd, eigh. The rows work on the last two dimensions,
// which they need whole; leading dimensions are batch. Derivatives follow JAX's (and Giles, "Collected matrix
// derivative results for forward and reverse mode algorithmic differentiation", 2008); f16 and bf16 are computed in
// f32.
#include <algorithm>

#include "interpreter/ir/complex_parts.h"
#include "runtime/kernels/dense/decompose.h"
#include "stdlib/ops/hlo.h"
#include "stdlib/ops/moving/moving_steps.h"
#include "stdlib/ops/ops.h"
#include "stdlib/ops/products/matrices.h"

namespace shard::stdlib {
namespace {

// ---- systems of equations

// The columns of the right side may be split.
std::optional<std::string> system_refuses(const OpCall& call, const FactorRule&) {
  if (auto why = split_matrix(call, call.in[0], 2)) return why;
  if (auto why = split_matrix(call, call.in[1], 1)) return why;
  const Type &a = call.in[0], &b = call.in[1];
  for (int d = 3; d <= std::min(a.rank(), b.rank()) && laid_out(a) && laid_out(b); ++d) {  // batches, from the last one
    const int i = a.rank() - d, k = b.rank() - d;
    const auto &mine = a.sharding.dims[static_cast<std::size_t>(i)].axes,
               &other = b.sharding.dims[static_cast<std::size_t>(k)].axes;
    if (mine == other) continue;
    return std::string(call.op.name) + " of " + runtime::to_string(a) + " and " + runtime::to_string(b) +
           ": their batch dimensions must be laid out alike, one is split over " +
           (mine.empty() ? "_" : axes_text(a, i)) + " and one over " + (other.empty() ? "_" : axes_text(b, k)) +
           "; `shard` one of them first";
  }
  return std::nullopt;
}

FactorRule system_factors(const OpCall& call) {
  need_square(call);
  const Type &a = call.in[0], &b = call.in[1];
  if (b.shape.size() != a.shape.size() || !std::equal(a.shape.begin(), a.shape.end() - 1, b.shape.begin()))
    fail("shape", std::string(call.op.name) + ": " + runtime::to_string(a) + " and " + runtime::to_string(b) +
                      " are no system of equations");
  MatrixRule m(call);
  auto x = m.value(core_of(a)), y = m.value(core_of(b));
  // Columns of the right side are systems of their own: they may be split.
  m.r.rule.factors[static_cast<std::size_t>(y.back()[0])].kind = FactorKind::Pass;
  return m.r.made({x, y}, {y});
}

// y xᵀ of matrices under a batch, laid out as `want` is: the columns that it sums over may be split on both sides.
Expr outer_sum(const Expr& y, const Expr& x, const Type& want) {
  const std::string lead = std::string("abcdefgh").substr(0, y.type().shape.size() - 2);
  Attrs attrs{{"spec", lead + "ik," + lead + "jk->" + lead + "ij"}};
  const Vars in{y, x};
  return {y.builder(), emit_wanted(y.builder(), y.builder().table().at("contract"), in, std::move(attrs), want, in)};
}

// x = a⁻¹ b:  dx = a⁻¹ (db - da x);  b̄ = a⁻ᵀ x̄, ā = -b̄ xᵀ. `solved` gives a⁻¹ or a⁻ᵀ of something, `part` the matrix
// that is solved as a linear map of a (a triangle of it, transposed), and `part_back` the transpose of that map.
using Solved = std::function<Expr(Builder&, const NodeView&, const Expr& rhs, bool transposed)>;
using Part = std::function<Expr(const NodeView&, const Expr& a)>;
ir::Custom system_derivative(Solved solved, Part part, Part part_back) {
  auto jvp = [=](Builder& b, const NodeView& n, std::span<const Var> t) -> Vars {
    std::optional<Expr> rhs;
    if (t[1].valid()) rhs = Expr{b, t[1]};
    if (t[0].valid()) {
      Expr moved = product(part(n, {b, t[0]}), {b, n.out[0]});
      rhs = rhs ? *rhs - moved : -moved;
    }
    if (!rhs) return {Var{}};
    return {solved(b, n, *rhs, false)};
  };
  auto vjp = [=](Builder& b, const NodeView& n, std::span<const Var> ct) -> Vars {
    if (!ct[0].valid()) return {Var{}, Var{}};
    Expr back = solved(b, n, {b, ct[0]}, true);
    return {part_back(n, outer_sum(-back, {b, n.out[0]}, n.call.in[0])), back};
  };
  return {jvp, vjp};
}

// (A + iB)(x + iy) = c + id is one real system, of [A -B; B A].
Vars complex_system(Builder& b, std::span<const Var> in, const Attrs& attrs) {
  const Var right = join_parts(b, {ir::real_part(b, in[1]), ir::imag_part(b, in[1])}, -2);
  const Expr a = flag_or(attrs, "transposed", false) ? turned({b, in[0]}) : Expr{b, in[0]};
  const Var made = b.call("lu_solve", {as_real(b, a), right});
  const std::int64_t n = b.type(in[0]).shape.back();
  return {ir::complex_of(b, part_of(b, made, -2, 0, n), part_of(b, made, -2, n, 2 * n))};
}

// What triangular_solve reads of a matrix: without the diagonal where that counts as 1.
Expr triangle(const Attrs& attrs, const Expr& a) {
  const bool lower = attrs.flag("lower"), unit = flag_or(attrs, "unit", false);
  const std::int64_t size = a.type().shape.back();
  return select(mask(a.builder(), size, size, lower ? (unit ? "gt" : "ge") : (unit ? "lt" : "le")), a, 0.0);
}

// Of complex numbers: the triangle that is read as a matrix of its own.
Vars complex_triangular_system(Builder& b, std::span<const Var> in, const Attrs& attrs) {
  Expr a = triangle(attrs, {b, in[0]});
  if (flag_or(attrs, "unit", false)) a = a + identity_like(a);
  if (flag_or(attrs, "transposed", false)) a = turned(a);
  return complex_system(b, Vars{a, in[1]}, {});
}

void register_systems(OpTable& t) {
  const Part solved_part = [](const NodeView& n, const Expr& a) {
    return flag_or(n.call.attrs, "transposed", false) ? turned(a) : a;
  };
  OpDef lu = matrix_row("lu_solve(a, b, transposed: bool = false)", "The x of a x = b, or of aᵀ x = b.", 1);
  lu.factors = system_factors;
  lu.explicit_refuses = system_refuses;
  lu.derivative = system_derivative(
      [](Builder& b, const NodeView& n, const Expr& rhs, bool transposed) -> Expr {
        return {b, b.call("lu_solve", {n.in[0], rhs},
                          {{"transposed", transposed != flag_or(n.call.attrs, "transposed", false)}})};
      },
      solved_part, solved_part);
  lu.hlo = lu_solve_hlo;
  lu.of_complex = complex_system;
  lu.kernel = matrix_kernel(
      [](const std::vector<View>& in, const std::vector<View>& out, const Attrs& attrs, const runtime::Stop* stop) {
        runtime::solve(in[0], in[1], out[0], flag_or(attrs, "transposed", false), stop);
      });
  lu.samples = "[4, 4] [4, 2]; [2, 3, 3] [2, 3, 2]; [2, 3, 3] [2, 3, 2] transposed=true";
  t.add(std::move(lu));

  OpDef tri = matrix_row("triangular_solve(a, b, lower: bool, transposed: bool = false, unit: bool = false)",
                         "The x of a x = b, where only one triangle of a is read.", 1);
  tri.factors = system_factors;
  tri.explicit_refuses = system_refuses;
  tri.derivative = system_derivative(
      [](Builder& b, const NodeView& n, const Expr& rhs, bool transposed) -> Expr {
        Attrs attrs = n.call.attrs;
        if (transposed) attrs.set("transposed", !flag_or(attrs, "transposed", false));
        return {b, b.call("triangular_solve", {n.in[0], rhs}, attrs)};
      },
      [](const NodeView& n, const Expr& a) {
        Expr read = triangle(n.call.attrs, a);
        return flag_or(n.call.attrs, "transposed", false) ? turned(read) : read;
      },
      [](const NodeView& n, const Expr& a) {
        return triangle(n.call.attrs, flag_or(n.call.attrs, "transposed", false) ? turned(a) : a);
      });
  tri.hlo = triangular_hlo;
  tri.of_complex = complex_triangular_system;
  tri.kernel = matrix_kernel(
      [](const std::vector<View>& in, const std::vector<View>& out, const Attrs& attrs, const runtime::Stop* stop) {
        runtime::solve_triangular(in[0], in[1], out[0], attrs.flag("lower"), flag_or(attrs, "transposed", false),
                                  flag_or(attrs, "unit", false), stop);
      });
  tri.samples = "[4, 4] 1..2 [4, 2] lower=true; [2, 3, 3] 1..2 [2, 3, 2] lower=false transposed=true";
  t.add(std::move(tri));
}

// ---- decompositions

void register_cholesky(OpTable& t) {
  OpDef row = matrix_row("cholesky_lower(a)", "The lower triangular L of a = L Lᵀ.", 1);
  row.factors = square_factors;
  row.derivative = pushed([](Builder& b, const NodeView& n, Var tangent) -> Vars {
    Expr l{b, n.out[0]}, da{b, tangent};
    Expr middle = adjoint(triangular(l, adjoint(triangular(l, da, true, false)), true, false));  // L⁻¹ da L⁻ᵀ
    std::int64_t size = l.type().shape.back();
    Expr half = select(mask(b, size, size, "gt"), middle, select(mask(b, size, size, "eq"), middle * 0.5, 0.0));
    return {product(l, half)};
  });
  row.hlo = cholesky_hlo;
  row.of_complex = ir::InKernel{};
  row.kernel = matrix_kernel([](const std::vector<View>& in, const std::vector<View>& out, const Attrs&,
                                const runtime::Stop* stop) { runtime::cholesky(in[0], out[0], stop); });
  // Not definite: nan on both sides. The composite's samples below are definite.
  row.samples = "[1, 1] 1..2; [2, 1, 1] 1..2; c64[2, 1, 1] 1..2";
  t.add(std::move(row));
}

// Of a = q r with as many rows as columns or more. r's diagonal stays real.
std::pair<Expr, Expr> qr_tangents(const Expr& q, const Expr& r, const Expr& da) {
  Builder& b = q.builder();
  Expr over = turned(triangular(r, turned(da), false, true));  // da r⁻¹
  Expr inside = product(adjoint(q), over);
  const std::int64_t k = r.type().shape.back();
  Expr lower = select(mask(b, k, k, "gt"), inside, 0.0), turn = lower - adjoint(lower);
  if (ir::is_complex(b, inside)) turn = turn + identity_like(inside) * imaginary_of(inside);
  return {product(q, turn - inside) + over, product(inside - turn, r)};
}

// Of fewer rows than columns: the first columns give q, and r is qᴴ a.
Vars qr_jvp(Builder& b, const NodeView& n, Var tangent) {
  const Shape core = core_of(n.call.in[0]);
  Expr q{b, n.out[0]}, r{b, n.out[1]}, da{b, tangent};
  if (core[0] >= core[1]) {
    const auto [dq, dr] = qr_tangents(q, r, da);
    return {dq, dr};
  }
  const auto columns = [&](Var x, std::int64_t from, std::int64_t to) { return part_of(b, x, -1, from, to); };
  const auto [dq, dr] = qr_tangents(q, columns(r, 0, core[0]), columns(da, 0, core[0]));
  Expr beside = columns(n.in[0], core[0], core[1]);
  Expr rest = product(adjoint(dq), beside) + product(adjoint(q), columns(da, core[0], core[1]));
  return {dq, join_parts(b, {dr, rest}, -1)};
}

void register_qr(OpTable& t) {
  OpDef row = matrix_row("qr_factors(a)", "Orthonormal columns q and upper triangular r with a = q r.", 2);
  row.factors = [](const OpCall& call) {
    MatrixRule m(call);
    Shape core = core_of(call.in[0]);
    std::int64_t k = std::min(core[0], core[1]);
    return m.r.made({m.value(core)}, {m.value({core[0], k}), m.value({k, core[1]})});
  };
  row.derivative = pushed(qr_jvp);
  row.hlo = qr_hlo;
  row.of_complex = ir::InKernel{};
  row.kernel = matrix_kernel([](const std::vector<View>& in, const std::vector<View>& out, const Attrs&,
                                const runtime::Stop* stop) { runtime::qr(in[0], out[0], out[1], stop); });
  row.samples = "[4, 3]; [2, 3, 3]; [2, 4]; c64[2, 3, 2]";
  t.add(std::move(row));
}

void register_eigh(OpTable& t) {
  OpDef row = matrix_row("eigh_lower(a)", "Eigenvalues, ascending, and eigenvectors of symmetric matrices.", 2, {0});
  row.factors = [](const OpCall& call) {
    need_square(call);
    MatrixRule m(call);
    Shape core = core_of(call.in[0]);
    return m.r.made({m.value(core)}, {m.value({core[0]}), m.value(core)});
  };
  row.derivative = pushed([](Builder& b, const NodeView& n, Var tangent) -> Vars {
    Expr w{b, n.out[0]}, v{b, n.out[1]}, da{b, tangent};
    Expr inside = product(adjoint(v), product(da, v));
    Expr one = identity(b, w.type().shape.back(), w.type().dtype);
    Expr apart = 1.0 / (as_row(w) - as_column(w) + one) - one;
    return {real_of(diagonal(inside)), product(v, apart * inside)};
  });
  row.hlo = eigh_hlo;
  row.of_complex = ir::InKernel{};
  row.kernel = matrix_kernel([](const std::vector<View>& in, const std::vector<View>& out, const Attrs&,
                                const runtime::Stop* stop) { runtime::eigh(in[0], out[0], out[1], stop); },
                             {1});
  row.samples = "[1, 1]; [2, 1, 1]; c64[2, 3, 3]";
  t.add(std::move(row));
}

Vars svd_jvp(Builder& b, const NodeView& n, Var tangent) {
  const Shape core = core_of(n.call.in[0]);
  if (flag_or(n.call.attrs, "full", false) && core[0] != core[1])
    fail("not_differentiable", "the derivative of svd is defined with full_matrices: false, or for square matrices");
  Expr u{b, n.out[0]}, s{b, n.out[1]}, vt{b, n.out[2]}, da{b, tangent}, v = adjoint(vt), ut = adjoint(u);
  Expr inside = product(ut, product(da, v)), one = identity(b, s.type().shape.back(), s.type().dtype);
  Expr row_s = as_row(s), column_s = as_column(s);
  Expr apart = 1.0 / ((row_s + column_s) * (row_s - column_s) + one) - one;
  Expr ds_s = inside * row_s, s_ds = column_s * inside;
  Expr in_u = apart * (ds_s + adjoint(ds_s));
  if (ir::is_complex(b, inside)) {  // the phases of the vectors: u's take all of the change
    Expr none = eq(row_s, 0.0);
    in_u = in_u + one * imaginary_of(inside) * select(none, 0.0, 1.0 / select(none, 1.0, row_s));
  }
  Expr du = product(u, in_u), dv = product(v, apart * (s_ds + adjoint(s_ds)));
  if (core[0] > core[1]) {
    Expr dav = product(da, v);
    du = du + (dav - product(u, product(ut, dav))) / row_s;
  } else if (core[0] < core[1]) {
    Expr dau = product(adjoint(da), u);
    dv = dv + (dau - product(v, product(vt, dau))) / row_s;
  }
  return {du, real_of(diagonal(inside)), adjoint(dv)};
}

void register_svd(OpTable& t) {
  OpDef row = matrix_row("svd_factors(a, full: bool = false)",
                         "Orthonormal u and vᵀ and singular values s, descending, with a = u s vᵀ.", 3, {1});
  row.factors = [](const OpCall& call) {
    MatrixRule m(call);
    Shape core = core_of(call.in[0]);
    std::int64_t k = std::min(core[0], core[1]);
    bool full = flag_or(call.attrs, "full", false);
    return m.r.made({m.value(core)},
                    {m.value({core[0], full ? core[0] : k}), m.value({k}), m.value({full ? core[1] : k, core[1]})});
  };
  row.derivative = pushed(svd_jvp);
  row.of_complex = ir::InKernel{};
  row.hlo = svd_hlo;
  row.kernel = matrix_kernel([](const std::vector<View>& in, const std::vector<View>& out, const Attrs&,
                                const runtime::Stop* stop) { runtime::svd(in[0], out[0], out[1], out[2], stop); },
                             {2, 1});
  row.samples = "[4, 3]; [2, 2, 3]; [3, 3] full=true; c64[2, 2, 3]; c64[3, 2] full=true";
  t.add(std::move(row));
}

// ---- as users call them

// Systems under one batch; without their last dimension where the right side is a vector.
Var solved_under(Builder& b, std::string_view row, const Expr& a, const Expr& y, const Attrs& how, bool vector) {
  const Shape sa = a.type().shape, sy = y.type().shape;
  const Shape lead = *runtime::broadcast({sa.begin(), sa.end() - 2}, {sy.begin(), sy.end() - 2});
  const auto under = [&](const Shape& core) {
    Shape made = lead;
    made.insert(made.end(), core.end() - 2, core.end());
    return made;
  };
  Var x = b.call(row, {ir::broadcast_to(b, a, under(sa)), ir::broadcast_to(b, y, under(sy))}, how);
  return vector ? expand(b, x, erase_axes(b.type(x).shape, {-1})) : x;
}

Vars solve(Builder& b, std::span<const Var> in, const Attrs&) {
  Kind kind = promoted(b, in);
  DType back{};
  Expr a = matrices(b, promote_to(b, in[0], kind), "solve", back),
       y = taken_whole(b, cast_to({b, promote_to(b, in[1], kind)}, a.type().dtype));
  bool vector = y.type().shape.size() == 1;
  if (y.type().shape.empty())
    fail("shape", "solve takes a vector or matrices on the right side, got " + runtime::to_string(y.type()));
  if (vector) y = as_column(y);
  Shape sa = a.type().shape, sy = y.type().shape;
  if (!runtime::broadcast({sa.begin(), sa.end() - 2}, {sy.begin(), sy.end() - 2}))
    fail("shape", "solve: " + runtime::to_string(a.type()) + " and " + runtime::to_string(y.type()) + " do not match");
  return back_to(b, {solved_under(b, "lu_solve", a, y, {}, vector)}, back);
}

Vars solve_triangular(Builder& b, std::span<const Var> in, const Attrs& attrs) {
  Kind kind = promoted(b, in);
  DType back{}, again{};
  Expr a = matrices(b, promote_to(b, in[0], kind), "solve_triangular", back);
  const std::int64_t trans = integer_or(attrs, "trans", 0);
  if (trans < 0 || trans > 2) fail("value", "solve_triangular: trans is 0, 1 or 2, got " + std::to_string(trans));
  Var right = promote_to(b, in[1], kind);
  const Shape given = b.type(right).shape;
  if (given.empty())
    fail("shape",
         "solve_triangular takes a vector or matrices on the right side, got " + runtime::to_string(b.type(right)));
  const bool vector = given.size() == 1;
  Expr y = matrices(b, vector ? expand(b, right, {given[0], 1}) : right, "solve_triangular", again);
  const Shape sa = a.type().shape, sy = y.type().shape;
  if (trans == 2) a = call("conj", {a});
  if (!runtime::broadcast({sa.begin(), sa.end() - 2}, {sy.begin(), sy.end() - 2}) || sa.back() != sy[sy.size() - 2])
    fail("shape", "solve_triangular: " + runtime::to_string(b.type(in[0])) + " and " +
                      runtime::to_string(b.type(in[1])) + " are no system of equations");
  const Attrs how{{"lower", flag_or(attrs, "lower", false)},
                  {"transposed", trans != 0},
                  {"unit", flag_or(attrs, "unit_diagonal", false)}};
  return back_to(b, {solved_under(b, "triangular_solve", a, y, how, vector)}, back);
}

Vars inv(Builder& b, std::span<const Var> in, const Attrs&) {
  DType back{};
  Expr a = matrices(b, in[0], "inv", back);
  const Shape shape = a.type().shape;
  if (shape[shape.size() - 1] != shape[shape.size() - 2])
    fail("shape", "inv takes square matrices, got " + runtime::to_string(a.type()));
  return back_to(b, {b.call("lu_solve", {a, ir::broadcast_to(b, identity_like(a), shape)})}, back);
}

// One triangle would do; the mean of both makes the derivative symmetric, as JAX has it.
Expr symmetric(const Expr& a) {
  const Shape& s = a.type().shape;
  if (s[s.size() - 1] != s[s.size() - 2])
    fail("shape", "a symmetric matrix is square, got " + runtime::to_string(a.type()));
  return (a + adjoint(a)) * 0.5;
}

}  // namespace

void register_linalg(OpTable& t) {
  register_systems(t);
  register_cholesky(t);
  register_qr(t);
  register_eigh(t);
  register_svd(t);
  constexpr const char* square = "[3, 3]; [2, 4, 4]";
  add_composite(t, "solve(a, b)", "The x of a x = b, for a vector or matrices b.", "[4, 4] [4]; [2, 3, 3] [3, 2]",
                solve);
  add_composite(t, "solve_triangular(a, b, trans: int = 0, lower: bool = false, unit_diagonal: bool = false)",
                "The x of a x = b (trans: 1, aᵀ x = b), of which one triangle of a is read.",
                "[4, 4] 1..2 [4] lower=true; [2, 3, 3] 1..2 [3, 2] trans=1; [3, 3] [3, 2] unit_diagonal=true",
                solve_triangular);
  add_composite(t, "inv(a)", "The inverse of a matrix.", square, inv);
  add_composite(
      t, "cholesky(a, symmetrize_input: bool = true)",
      "The lower triangular L of a = L Lᵀ (of complex numbers L Lᴴ); nan where a is not positive definite. With "
      "symmetrize_input: false only the lower triangle of a is read.",
      "[1, 1] 1..2; [1, 1] 1..2 symmetrize_input=false", [](Builder& b, std::span<const Var> in, const Attrs& attrs) {
        DType back{};
        Expr a = matrices(b, in[0], "cholesky", back);
        if (flag_or(attrs, "symmetrize_input", true)) a = symmetric(a);
        return back_to(b, {b.call("cholesky_lower", {a})}, back);
      });
  add_composite(t, "qr(a)", "Orthonormal columns q and upper triangular r with a = q r.", "[4, 3]",
                [](Builder& b, std::span<const Var> in, const Attrs&) {
                  DType back{};
                  Expr a = matrices(b, in[0], "qr", back);
                  return back_to(b, b.emit(b.table().at("qr_factors"), {a.var()}), back);
                });
  add_composite(
      t, "eigh(a)",
      "Eigenvalues, ascending, and eigenvectors (in columns) of a symmetric (of complex numbers: Hermitian) matrix.",
      "[3, 3]", [](Builder& b, std::span<const Var> in, const Attrs&) {
        DType back{};
        Expr a = symmetric(matrices(b, in[0], "eigh", back));
        return back_to(b, b.emit(b.table().at("eigh_lower"), {a.var()}), back);
      });
  add_composite(
      t, "svd(a, full_matrices: bool = true)",
      "Orthonormal u and vᵀ and singular values s, descending, with a = u s vᵀ (of complex numbers vᴴ).",
      "[4, 3] full_matrices=false", [](Builder& b, std::span<const Var> in, const Attrs& attrs) {
        DType back{};
        Expr a = matrices(b, in[0], "svd", back);
        return back_to(
            b, b.emit(b.table().at("svd_factors"), {a.var()}, {{"full", flag_or(attrs, "full_matrices", true)}}), back);
      });
}

}  // namespace shard::stdlib
