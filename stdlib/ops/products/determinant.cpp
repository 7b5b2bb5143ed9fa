// Determinants, powers and the exponential of square matrices: det, slogdet, matrix_power, expm. Derivatives: that of a
// determinant are the cofactors (of singular matrices too); that of the exponential in a direction is a row of its own,
// whose derivative stands above the diagonal of itself at [[a, da], [0, a]] (Mathias, "A chain rule for matrix
// functions and applications", 1996).
#include "interpreter/ir/complex_parts.h"
#include "runtime/kernels/dense/decompose.h"
#include "stdlib/ops/hlo.h"
#include "stdlib/ops/moving/moving_steps.h"
#include "stdlib/ops/ops.h"
#include "stdlib/ops/products/matrices.h"

namespace shard::stdlib {
namespace {

// So many numbers for each matrix.
auto number_factors(std::size_t results) {
  return [results](const OpCall& call) {
    need_square(call);
    MatrixRule m(call);
    m.r.rule.operands = {m.value(core_of(call.in[0]))};
    m.r.rule.results.assign(results, m.batch);
    return m.r.rule;
  };
}

Expr sum_of(const Expr& matrix) { return {matrix.builder(), ir::reduce_sum(matrix.builder(), matrix, {-2, -1})}; }
Expr solved(const Expr& a, const Expr& y) { return call("lu_solve", {a, y}); }
// A number for each matrix, beside its elements.
Expr beside(const Expr& number) { return as_column(as_column(number)); }

constexpr const char* kSquare = "[3, 3]; [2, 4, 4]; [1, 1] 1..2; c64[2, 3, 3]";

void register_log_det(OpTable& t) {
  OpDef row = matrix_row("log_det(a)", "The sign of the determinant and the logarithm of its size.", 2, {1});
  row.factors = number_factors(2);
  row.derivative = pushed([](Builder& b, const NodeView& n, Var tangent) -> Vars {
    Expr grown{b, ir::reduce_sum(b, diagonal(solved({b, n.in[0]}, {b, tangent})), {-1})};
    if (!ir::is_complex(b, grown)) return {Var{}, grown};
    return {Expr{b, n.out[0]} * imaginary_of(grown), real_of(grown)};  // the phase turns
  });
  row.hlo = log_det_hlo;
  row.of_complex = ir::InKernel{};
  row.kernel = matrix_kernel([](const std::vector<View>& in, const std::vector<View>& out, const Attrs&,
                                const runtime::Stop* stop) { runtime::log_det(in[0], out[0], out[1], stop); },
                             {0, 0});
  row.samples = kSquare;
  t.add(std::move(row));
}

void register_det(OpTable& t) {
  OpDef derivative = matrix_row("cofactors(a)", "The derivative of the determinant by each element.", 1);
  derivative.factors = square_factors;
  derivative.derivative = pushed([](Builder& b, const NodeView& n, Var tangent) -> Vars {  // of regular matrices
    Expr a{b, n.in[0]}, da{b, tangent}, c{b, n.out[0]};
    Expr grown{b, ir::reduce_sum(b, diagonal(solved(a, da)), {-1})};
    return {beside(grown) * c - turned(solved(a, product(da, turned(c))))};
  });
  derivative.hlo = cofactors_hlo;
  derivative.of_complex = ir::InKernel{};
  derivative.kernel = matrix_kernel([](const std::vector<View>& in, const std::vector<View>& out, const Attrs&,
                                       const runtime::Stop* stop) { runtime::cofactors(in[0], out[0], stop); });
  derivative.samples = "[3, 3]; [2, 4, 4]; c64[2, 3, 3]";
  t.add(std::move(derivative));

  OpDef row = matrix_row("determinant(a)", "The determinant of square matrices.", 1);
  row.factors = number_factors(1);
  row.derivative = pushed([](Builder& b, const NodeView& n, Var tangent) -> Vars {
    Expr c{b, b.call("cofactors", {n.in[0]})};
    return {sum_of(c * Expr{b, tangent})};
  });
  row.hlo = determinant_hlo;
  row.of_complex = ir::InKernel{};
  row.kernel = matrix_kernel([](const std::vector<View>& in, const std::vector<View>& out, const Attrs&,
                                const runtime::Stop* stop) { runtime::determinant(in[0], out[0], stop); },
                             {0});
  row.samples = kSquare;
  t.add(std::move(row));
}

// ---- the exponential

// [[a, e], [0, a]]
Expr block_triangle(const Expr& a, const Expr& e) {
  Builder& b = a.builder();
  Expr none = zeros_as(a);
  return {b, join_parts(b, {join_parts(b, {a, e}, -1), join_parts(b, {none, a}, -1)}, -2)};
}
Expr above_diagonal(const Expr& whole) {
  Builder& b = whole.builder();
  const std::int64_t size = whole.type().shape.back();
  return {b, part_of(b, part_of(b, whole, -2, 0, size / 2), -1, size / 2, size)};
}

Expr along(const NodeView& n, const Expr& a, const Expr& e) {
  return {a.builder(), a.builder().call("expm_along", {a, e}, n.call.attrs)};
}

// In the direction e it is linear, and the same at aᵀ is its transpose. How it changes with a, by da, stands above the
// diagonal of itself at [[a, da], [0, a]], in the direction [[e, de], [0, e]].
Vars along_jvp(Builder& b, const NodeView& n, std::span<const Var> tangents) {
  const Expr a{b, n.in[0]}, e{b, n.in[1]};
  if (!tangents[0].valid() && !tangents[1].valid()) return {Var{}};
  if (!tangents[0].valid()) return {along(n, a, {b, tangents[1]})};
  const Expr de = tangents[1].valid() ? Expr{b, tangents[1]} : zeros_as(e);
  return {above_diagonal(along(n, block_triangle(a, {b, tangents[0]}), block_triangle(e, de)))};
}
Vars along_vjp(Builder& b, const NodeView& n, std::span<const Var> ct) {
  if (!ct[0].valid()) return {Var{}, Var{}};
  const auto wanted = [&](std::size_t i) { return n.wanted.empty() || n.wanted[i]; };
  const Expr a = turned({b, n.in[0]}), e = turned({b, n.in[1]}), back{b, ct[0]};
  Vars made(2);
  if (wanted(0)) made[0] = above_diagonal(along(n, block_triangle(a, back), block_triangle(e, zeros_as(e))));
  if (wanted(1)) made[1] = along(n, a, back);
  return made;
}

void register_expm_along(OpTable& t) {
  OpDef row = matrix_row("expm_along(a, e, squarings: int = 16)",
                         "The derivative of the exponential of square matrices a in the directions e.", 1);
  row.factors = [](const OpCall& call) {
    need_square(call);
    MatrixRule m(call);
    const auto x = m.value(core_of(call.in[0]));
    return m.r.made({x, x}, {x});
  };
  row.derivative = ir::Custom{along_jvp, along_vjp};
  row.hlo = expm_along_hlo;
  row.of_complex = [](Builder& b, std::span<const Var> in, const Attrs& attrs) {
    return as_complex({b, b.call("expm_along", {as_real(b, in[0]), as_real(b, in[1])}, attrs)});
  };
  row.kernel = matrix_kernel(
      [](const std::vector<View>& in, const std::vector<View>& out, const Attrs& attrs, const runtime::Stop* stop) {
        runtime::expm_along(in[0], in[1], out[0], static_cast<int>(integer_or(attrs, "squarings", 16)), stop);
      });
  row.flops = 180;
  row.samples = "[3, 3] [3, 3]; [2, 4, 4] -3..3 [2, 4, 4]; c64[2, 2] c64[2, 2]";
  t.add(std::move(row));
}

void register_expm(OpTable& t) {
  OpDef row = matrix_row("expm_squared(a, squarings: int = 16)", "The exponential of square matrices.", 1);
  row.factors = square_factors;
  row.derivative = ir::Custom{[](Builder& b, const NodeView& n, std::span<const Var> tangents) -> Vars {
                                if (!tangents[0].valid()) return {Var{}};
                                return {along(n, {b, n.in[0]}, {b, tangents[0]})};
                              },
                              [](Builder& b, const NodeView& n, std::span<const Var> ct) -> Vars {
                                if (!ct[0].valid()) return {Var{}};
                                return {along(n, turned({b, n.in[0]}), {b, ct[0]})};
                              }};
  row.hlo = expm_hlo;
  row.of_complex = through_real("expm_squared");
  row.kernel = matrix_kernel(
      [](const std::vector<View>& in, const std::vector<View>& out, const Attrs& attrs, const runtime::Stop* stop) {
        runtime::expm(in[0], out[0], static_cast<int>(integer_or(attrs, "squarings", 16)), stop);
      });
  row.flops = 60;
  row.samples = "[3, 3]; [2, 4, 4] -3..3; c64[2, 2]";
  t.add(std::move(row));
}

// ---- as users call them

Expr element(const Expr& a, std::int64_t i, std::int64_t j) {
  return element_of(a.builder(), element_of(a.builder(), a, -2, i), -1, j);
}

Expr square_matrices(Builder& b, Var x, std::string_view op, DType& back) {
  Expr a = matrices(b, x, op, back);
  const Shape core = core_of(a.type());
  if (core[0] != core[1])
    fail("shape", std::string(op) + " takes square matrices, got " + runtime::to_string(b.type(x)));
  return a;
}

// Of two and three rows by its formula, as JAX.
Vars det(Builder& b, std::span<const Var> in, const Attrs&) {
  DType back{};
  Expr a = square_matrices(b, in[0], "det", back);
  const std::int64_t n = a.type().shape.back();
  const auto at = [&](std::int64_t i, std::int64_t j) { return element(a, i, j); };
  if (n == 2) return back_to(b, {at(0, 0) * at(1, 1) - at(0, 1) * at(1, 0)}, back);
  if (n == 3)
    return back_to(b,
                   {at(0, 0) * at(1, 1) * at(2, 2) + at(0, 1) * at(1, 2) * at(2, 0) + at(0, 2) * at(1, 0) * at(2, 1) -
                    at(0, 2) * at(1, 1) * at(2, 0) - at(0, 0) * at(1, 2) * at(2, 1) - at(0, 1) * at(1, 0) * at(2, 2)},
                   back);
  return back_to(b, {b.call("determinant", {a})}, back);
}

Vars slogdet(Builder& b, std::span<const Var> in, const Attrs&) {
  DType back{};
  Expr a = square_matrices(b, in[0], "slogdet", back);
  return back_to(b, b.emit(b.table().at("log_det"), {a.var()}), back);
}

Vars matrix_power(Builder& b, std::span<const Var> in, const Attrs& attrs) {
  const Type t = b.type(in[0]);
  std::int64_t n = attrs.integer("n");
  if (t.rank() < 2 || t.shape[t.shape.size() - 1] != t.shape[t.shape.size() - 2])
    fail("shape", "matrix_power takes square matrices, got " + runtime::to_string(t));
  Expr z{b, n < 0 ? b.call("inv", {in[0]}) : in[0]};
  if (n == 0) return {ir::broadcast_to(b, identity_like(z), t.shape)};
  if (n < 0) n = -n;
  if (n == 3) return {product(product(z, z), z)};
  std::optional<Expr> made;
  while (true) {
    if (n % 2) made = made ? product(*made, z) : z;
    if ((n /= 2) == 0) return {*made};
    z = product(z, z);
  }
}

}  // namespace

void register_determinant(OpTable& t) {
  register_log_det(t);
  register_det(t);
  register_expm_along(t);
  register_expm(t);
  constexpr const char* sizes = "[2, 2, 2]; [3, 3]; [4, 4]";
  add_composite(t, "det(a)", "The determinant of a square matrix.", sizes, det);
  add_composite(t, "slogdet(a)",
                "The sign (of complex numbers the phase) of the determinant and the logarithm of its size.", sizes,
                slogdet);
  add_composite(t, "matrix_power(a, n: int)", "A square matrix times itself, n times; of its inverse for n < 0.",
                "[3, 3] n=5; [2, 2, 2] n=3; [4, 4] n=-2; i32[2, 2] n=0", matrix_power);
  add_composite(t, "expm(a)", "The exponential of a square matrix: 1 + a + a a / 2 + ...", "[3, 3]; [2, 2, 2]",
                [](Builder& b, std::span<const Var> in, const Attrs&) {
                  DType back{};
                  Expr a = square_matrices(b, in[0], "expm", back);
                  return back_to(b, {b.call("expm_squared", {a})}, back);
                });
}

}  // namespace shard::stdlib
