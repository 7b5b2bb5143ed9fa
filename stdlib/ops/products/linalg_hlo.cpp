// Linear algebra in the operations and custom calls that XLA has on every engine: Cholesky, triangular systems, QR by
// reflectors, eigenvectors of symmetric matrices. There is none for LU with pivots: systems and determinants go through
// QR, which needs none.
#include <cmath>

#include "runtime/kernels/pade.h"
#include "stdlib/ops/hlo.h"

namespace shard::stdlib {

hlo::Value product_hlo(const hlo::Value& a, const hlo::Value& b) {
  Shape shape = a.shape;
  shape.back() = b.shape.back();
  const Ints lead = leading(a.rank() - 2);
  return dot_general(a, b, {lead, lead, {a.rank() - 1}, {a.rank() - 2}}, a.dtype, std::move(shape));
}

namespace {

hlo::Value mask_of(const hlo::Value& a, std::string_view direction) {  // row `direction` column
  const hlo::Value row = hlo::iota(*a.to, DType::I32, a.shape, a.rank() - 2),
                   column = hlo::iota(*a.to, DType::I32, a.shape, a.rank() - 1);
  return hlo::compare(row, column, direction);
}

hlo::Value one_like(const hlo::Value& a) { return hlo::convert(mask_of(a, "EQ"), a.dtype); }
hlo::Value over_matrix(const hlo::Value& number, const hlo::Value& like) {  // one number a matrix
  return hlo::spread(number, like.shape, leading(like.rank() - 2));
}

hlo::Value turned(const hlo::Value& a) {
  Ints perm = leading(a.rank());
  std::swap(perm[perm.size() - 1], perm[perm.size() - 2]);
  return hlo::transpose(a, perm);
}

DType part_type(const hlo::Value& a) { return runtime::is_complex(a.dtype) ? runtime::part_of(a.dtype) : a.dtype; }
hlo::Value code_of(runtime::Code code, std::initializer_list<hlo::Value> in, DType out) {
  return hlo::of_code(code, std::span(in.begin(), in.size()), out);
}
hlo::Value conjugate(const hlo::Value& a) {
  if (!runtime::is_complex(a.dtype)) return a;
  const hlo::Value re = code_of(runtime::Code::Real, {a}, part_type(a)),
                   im = code_of(runtime::Code::Imag, {a}, part_type(a));
  return code_of(runtime::Code::Complex, {re, hlo::unary("negate", im)}, a.dtype);
}
hlo::Value adjoint(const hlo::Value& a) { return conjugate(turned(a)); }
hlo::Value size_of(const hlo::Value& a) { return a.to->op("stablehlo.abs", {a}, part_type(a), a.shape); }

hlo::Value triangular(const hlo::Value& a, const hlo::Value& b, bool lower, bool transposed, bool unit) {
  const auto flag = [](bool x) { return std::string(x ? "true" : "false"); };
  return a.to->op("stablehlo.triangular_solve", {a, b}, b.dtype, b.shape,
                  "left_side = true, lower = " + flag(lower) + ", unit_diagonal = " + flag(unit) +
                      ", transpose_a = #stablehlo<transpose " + (transposed ? "TRANSPOSE" : "NO_TRANSPOSE") + ">");
}

struct Reflectors {
  hlo::Value q, r, taus;
};

Reflectors reflectors(const hlo::Value& a) {
  const std::int64_t rows = a.shape[a.shape.size() - 2], columns = a.shape.back(), k = std::min(rows, columns);
  Shape scales(a.shape.begin(), a.shape.end() - 2);
  scales.push_back(k);
  const hlo::Values like{a, {a.to, {}, a.dtype, scales}};
  const hlo::Values packed = a.to->ops("stablehlo.custom_call", {&a, 1}, like, "call_target_name = \"Qr\"");
  const hlo::Value narrow = hlo::part(packed[0], a.rank() - 1, 0, k);
  const hlo::Value q = a.to->op("stablehlo.custom_call", {narrow, packed[1]}, a.dtype, narrow.shape,
                                "call_target_name = \"ProductOfElementaryHouseholderReflectors\"");
  const hlo::Value top = hlo::part(packed[0], a.rank() - 2, 0, k);
  return {q, hlo::select(mask_of(top, "LE"), top, top.number(0)), packed[1]};
}

// The diagonal of a triangle, and what the reflectors turn round: 1 or -1 a matrix, of complex ones a phase.
hlo::Value diagonal(const hlo::Value& r) {
  return hlo::reduced(hlo::select(mask_of(r, "EQ"), r, r.number(0)), runtime::Reduce::Sum, Ints{r.rank() - 2});
}
hlo::Value orientation(const hlo::Value& taus) {
  const hlo::Value none = hlo::compare(taus, taus.number(0), "EQ"), held = hlo::select(none, taus.number(1), taus);
  const hlo::Value turned_by =
      runtime::is_complex(taus.dtype) ? hlo::unary("negate", held / conjugate(held)) : taus.number(-1);
  const hlo::Value turns = hlo::select(none, taus.number(1), turned_by);
  return hlo::reduced(turns, runtime::Reduce::Prod, Ints{taus.rank() - 1});
}

}  // namespace

hlo::Values lu_solve_hlo(const hlo::Use& u) {
  const Reflectors f = reflectors(flag_or(u.attrs, "transposed", false) ? turned(u.in[0]) : u.in[0]);
  return {triangular(f.r, product_hlo(adjoint(f.q), u.in[1]), false, false, false)};
}

hlo::Values triangular_hlo(const hlo::Use& u) {
  return {triangular(u.in[0], u.in[1], u.attrs.flag("lower"), flag_or(u.attrs, "transposed", false),
                     flag_or(u.attrs, "unit", false))};
}

hlo::Values cholesky_hlo(const hlo::Use& u) {
  const hlo::Value made = u.to.op("stablehlo.cholesky", u.in, u.in[0].dtype, u.in[0].shape, "lower = true");
  return {hlo::select(mask_of(made, "GE"), made, made.number(0))};
}

hlo::Values qr_hlo(const hlo::Use& u) {
  const Reflectors f = reflectors(u.in[0]);
  return {f.q, f.r};
}

// Lower triangle, sorted, at most 100 sweeps of Jacobi's rotations.
hlo::Values eigh_hlo(const hlo::Use& u) {
  const hlo::Value& a = u.in[0];
  const Shape values(a.shape.begin(), a.shape.end() - 1);
  const hlo::Values like{a, {&u.to, {}, part_type(a), values}};
  const hlo::Values made =
      u.to.ops("stablehlo.custom_call", u.in, like, "call_target_name = \"Eigh\", backend_config = \"1,1,100,1e-6\"");
  return {made[1], made[0]};
}

namespace {

hlo::Value framed(const hlo::Value& x, std::int64_t row, std::int64_t column, std::int64_t rows, std::int64_t columns) {
  Ints low(x.shape.size(), 0), high(x.shape.size(), 0);
  const Ints inner(x.shape.size(), 0);
  low[low.size() - 2] = row, high[high.size() - 2] = rows - row - x.shape[x.shape.size() - 2];
  low.back() = column, high.back() = columns - column - x.shape.back();
  return hlo::pad(x, x.to->constant(x.dtype, {}, 0), low, high, inner);
}

// The eigenvalues and eigenvectors of [[0, a], [a', 0]]: the singular values of a and their negatives; no square of a,
// which would lose half of the digits.
hlo::Values of_both_sides(const hlo::Use& u) {
  const hlo::Value& a = u.in[0];
  const std::int64_t rows = a.shape[a.shape.size() - 2], size = rows + a.shape.back();
  const hlo::Values whole{framed(a, 0, rows, size, size) + framed(adjoint(a), rows, 0, size, size)};
  const hlo::Use of{u.to, u.attrs, whole, u.out};
  return eigh_hlo(of);
}

// Columns that are orthonormal or nought, made orthonormal, as many as are asked for: those that were so stay.
hlo::Value completed(const hlo::Value& x, std::int64_t columns) {
  const std::int64_t rows = x.shape[x.shape.size() - 2];
  const Reflectors f = reflectors(framed(x, 0, 0, rows, columns));
  const hlo::Value d = diagonal(f.r), none = hlo::compare(d, d.number(0), "EQ");
  const hlo::Value turns = hlo::select(none, d.number(1), hlo::unary("sign", d));
  Ints along = leading(x.rank() - 2);
  along.push_back(x.rank() - 1);
  return f.q * hlo::spread(turns, f.q.shape, along);
}

}  // namespace

// An eigenvector for the value s is (u, v) / sqrt(2). Those for 0 may have any share of both, which adds nothing to a.
hlo::Values svd_hlo(const hlo::Use& u) {
  const hlo::Value& a = u.in[0];
  const int rank = a.rank();
  const std::int64_t rows = a.shape[a.shape.size() - 2], columns = a.shape.back(), k = std::min(rows, columns);
  const bool full = flag_or(u.attrs, "full", false);
  const hlo::Values found = of_both_sides(u);
  const auto largest = [&](const hlo::Value& x) {  // the last k, the largest first
    const Ints last{x.rank() - 1};
    return hlo::reverse(hlo::part(x, x.rank() - 1, rows + columns - k, rows + columns), last);
  };
  const hlo::Value values = largest(found[0]), vectors = largest(found[1]);
  const hlo::Value left = completed(hlo::part(vectors, rank - 2, 0, rows), full ? rows : k);
  const hlo::Value right = completed(hlo::part(vectors, rank - 2, rows, rows + columns), full ? columns : k);
  return {left, hlo::binary("maximum", values, values.number(0)), adjoint(right)};
}

hlo::Values determinant_hlo(const hlo::Use& u) {
  const Reflectors f = reflectors(u.in[0]);
  return {hlo::reduced(diagonal(f.r), runtime::Reduce::Prod, Ints{f.r.rank() - 2}) * orientation(f.taus)};
}

// The determinant times the inverse, turned; nan of singular matrices.
hlo::Values cofactors_hlo(const hlo::Use& u) {
  const hlo::Value& a = u.in[0];
  const hlo::Value one = one_like(a), number = determinant_hlo(u)[0];
  const hlo::Values given{a, one};
  const hlo::Use system{u.to, u.attrs, given, u.out};
  return {turned(lu_solve_hlo(system)[0]) * over_matrix(number, a)};
}

hlo::Values log_det_hlo(const hlo::Use& u) {
  const Reflectors f = reflectors(u.in[0]);
  const hlo::Value d = diagonal(f.r), last = hlo::unary("log", size_of(d));
  const Ints along{d.rank() - 1};
  return {hlo::reduced(hlo::unary("sign", d), runtime::Reduce::Prod, along) * orientation(f.taus),
          hlo::reduced(last, runtime::Reduce::Sum, along)};
}

// ---- functions of matrices, made of products and of what stands above: the exponential and the pseudoinverse

namespace {

// The largest sum of sizes of a column, one a matrix.
hlo::Value norm_of(const hlo::Value& a) {
  const hlo::Value columns = hlo::reduced(hlo::unary("abs", a), runtime::Reduce::Sum, Ints{a.rank() - 2});
  return hlo::reduced(columns, runtime::Reduce::Max, Ints{columns.rank() - 1});
}

hlo::Value any(const hlo::Value& x) { return hlo::reduced(x, runtime::Reduce::Or, leading(x.rank())); }

// Padé approximants: what is odd and what is even in m.
struct Pade {
  hlo::Value odd, even;
};
Pade pade(const hlo::Value& m, std::span<const double> b) {
  const hlo::Value one = one_like(m), m2 = product_hlo(m, m);
  hlo::Values powers{one, m2, product_hlo(m2, m2)};  // of m2
  powers.push_back(product_hlo(powers[2], m2));
  if (b.size() == 8) {
    const auto sum = [&](std::size_t first) {
      return powers[0] * b[first] + powers[1] * b[first + 2] + powers[2] * b[first + 4] + powers[3] * b[first + 6];
    };
    return {product_hlo(m, sum(1)), sum(0)};
  }
  const auto sum = [&](std::size_t first) {
    const hlo::Value high = powers[1] * b[first + 8] + powers[2] * b[first + 10] + powers[3] * b[first + 12];
    return product_hlo(powers[3], high) + powers[3] * b[first + 6] + powers[2] * b[first + 4] +
           powers[1] * b[first + 2] + powers[0] * b[first];
  };
  return {product_hlo(m, sum(1)), sum(0)};
}

}  // namespace

// As often halved as its matrix needs, then as often squared. Of f32 by the approximant of order 7, else of 13.
hlo::Values expm_hlo(const hlo::Use& u) {
  const hlo::Value& a = u.in[0];
  if (runtime::numel(a.shape) == 0) return {a};
  const bool wide = a.dtype == DType::F64;
  const double bound = wide ? runtime::kPadeBoundF64 : runtime::kPadeBoundF32;
  const auto squarings = static_cast<double>(integer_or(u.attrs, "squarings", 16));
  const hlo::Value norm = norm_of(a);
  const hlo::Value valid = hlo::less(norm, bound * std::exp2(squarings + 1));  // false of what is not finite
  const hlo::Value tame = hlo::select(valid, norm, norm.number(0));
  const auto large = [&](const hlo::Values& now) { return hlo::compare(now[0], now[0].number(bound), "GE"); };
  const hlo::Value none = u.to.constant(DType::I32, norm.shape, 0);
  const hlo::Values halved = hlo::repeated(
      u.to, {tame, none, tame.number(1)}, [&](const hlo::Values& now) { return any(large(now)); },
      [&](const hlo::Values& now) -> hlo::Values {
        const hlo::Value open = large(now);
        return {hlo::select(open, now[0] * 0.5, now[0]), hlo::select(open, now[1] + 1, now[1]),
                hlo::select(open, now[2] * 0.5, now[2])};
      });
  const hlo::Value m = hlo::select(over_matrix(valid, a), a, a.number(0)) * over_matrix(halved[2], a);
  const Pade p = wide ? pade(m, runtime::kPade13) : pade(m, runtime::kPade7);
  const hlo::Values system{p.even - p.odd, p.even + p.odd};
  const hlo::Use solved{u.to, u.attrs, system, u.out};
  const hlo::Values squared = hlo::repeated(
      u.to, {halved[1], lu_solve_hlo(solved)[0]},
      [&](const hlo::Values& now) { return any(hlo::compare(now[0], none, "GT")); },
      [&](const hlo::Values& now) -> hlo::Values {
        const hlo::Value open = hlo::compare(now[0], none, "GT");
        return {now[0] - 1, hlo::select(over_matrix(open, a), product_hlo(now[1], now[1]), now[1])};
      });
  return {hlo::select(over_matrix(valid, a), squared[1], a.number(std::nan("")))};
}

// The derivative at a in the direction e stands above the diagonal of the exponential of [[a, e], [0, a]]; a large e is
// made smaller first, so that it is a that says how often is halved.
hlo::Values expm_along_hlo(const hlo::Use& u) {
  const hlo::Value &a = u.in[0], &e = u.in[1];
  if (runtime::numel(a.shape) == 0) return {e};
  const int rank = a.rank();
  const std::int64_t n = a.shape.back();
  const hlo::Value norm = norm_of(e);
  const hlo::Value scale = over_matrix(hlo::binary("maximum", norm, norm.number(1)), e);
  const hlo::Values whole{framed(a, 0, 0, 2 * n, 2 * n) + framed(a, n, n, 2 * n, 2 * n) +
                          framed(e / scale, 0, n, 2 * n, 2 * n)};
  const hlo::Use of{u.to, u.attrs, whole, u.out};
  return {hlo::part(hlo::part(expm_hlo(of)[0], rank - 2, 0, n), rank - 1, n, 2 * n) * scale};
}

hlo::Values pinv_hlo(const hlo::Use& u) {
  const hlo::Value& a = u.in[0];
  const Shape& made = u.out[0].shape;
  if (runtime::numel(made) == 0) return {u.to.constant(a.dtype, made, 0)};
  const int rank = a.rank();
  const std::int64_t rows = a.shape[a.shape.size() - 2], size = rows + a.shape.back();
  const hlo::Values found = of_both_sides(u);
  const hlo::Value &values = found[0], &vectors = found[1], sizes = hlo::unary("abs", values);
  const Ints last{values.rank() - 1};
  const hlo::Value most = hlo::reduced(sizes, runtime::Reduce::Max, last) * u.attrs.number("share");
  const Ints lead = leading(values.rank() - 1);
  const hlo::Value counts = hlo::compare(sizes, hlo::spread(most, values.shape, lead), "GT");
  const hlo::Value inverse =
      hlo::select(counts, values.number(1) / hlo::select(counts, values, values.number(1)), values.number(0));
  Ints columns_of = lead;
  columns_of.push_back(rank - 1);
  const hlo::Value scaled = vectors * hlo::spread(inverse, vectors.shape, columns_of);
  const hlo::Value all = product_hlo(scaled, turned(vectors));
  return {hlo::part(hlo::part(all, rank - 2, rows, size), rank - 1, 0, rows)};
}

}  // namespace shard::stdlib
