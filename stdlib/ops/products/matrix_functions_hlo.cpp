// Functions of matrices as StableHLO, made of products and of what linalg_hlo.cpp has: the exponential and the
// pseudoinverse.
#include <cmath>

#include "runtime/kernels/pade.h"
#include "stdlib/ops/hlo.h"

namespace shard::stdlib {
namespace {

hlo::Value over_matrix(const hlo::Value& number, const hlo::Value& like) {  // one number a matrix
  Ints dims;
  for (int d = 0; d + 2 < like.rank(); ++d) dims.push_back(d);
  return hlo::spread(number, like.shape, dims);
}

hlo::Value one_like(const hlo::Value& a) {
  const hlo::Value row = hlo::iota(*a.to, DType::I32, a.shape, a.rank() - 2),
                   column = hlo::iota(*a.to, DType::I32, a.shape, a.rank() - 1);
  return hlo::convert(hlo::compare(row, column, "EQ"), a.dtype);
}

hlo::Value over_all(const hlo::Value& x, runtime::Reduce how) {
  Ints dims;
  for (int d = 0; d < x.rank(); ++d) dims.push_back(d);
  return hlo::reduced(x, how, dims);
}

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
  static constexpr double kSeven[] = {17297280, 8648640, 1995840, 277200, 25200, 1512, 56, 1};
  const hlo::Value& a = u.in[0];
  if (runtime::numel(a.shape) == 0) return {a};
  const bool wide = a.dtype == DType::F64;
  const double bound = wide ? runtime::kPadeBoundF64 : runtime::kPadeBoundF32;
  const auto squarings = static_cast<double>(integer_or(u.attrs, "squarings", 16));
  const hlo::Value columns = hlo::reduced(hlo::unary("abs", a), runtime::Reduce::Sum, Ints{a.rank() - 2});
  const hlo::Value norm = hlo::reduced(columns, runtime::Reduce::Max, Ints{columns.rank() - 1});
  const hlo::Value valid = hlo::less(norm, bound * std::exp2(squarings + 1));  // false of what is not finite
  const hlo::Value tame = hlo::select(valid, norm, norm.number(0));
  const auto large = [&](const hlo::Values& now) { return hlo::compare(now[0], now[0].number(bound), "GE"); };
  const hlo::Value none = u.to.constant(DType::I32, norm.shape, 0);
  const hlo::Values halved = hlo::repeated(
      u.to, {tame, none, tame.number(1)},
      [&](const hlo::Values& now) { return over_all(large(now), runtime::Reduce::Or); },
      [&](const hlo::Values& now) -> hlo::Values {
        const hlo::Value open = large(now);
        return {hlo::select(open, now[0] * 0.5, now[0]), hlo::select(open, now[1] + 1, now[1]),
                hlo::select(open, now[2] * 0.5, now[2])};
      });
  const hlo::Value m = hlo::select(over_matrix(valid, a), a, a.number(0)) * over_matrix(halved[2], a);
  const Pade p = wide ? pade(m, runtime::kPade13) : pade(m, kSeven);
  const hlo::Values system{p.even - p.odd, p.even + p.odd};
  const hlo::Use solved{u.to, u.attrs, system, u.out};
  const hlo::Values squared = hlo::repeated(
      u.to, {halved[1], lu_solve_hlo(solved)[0]},
      [&](const hlo::Values& now) { return over_all(hlo::compare(now[0], none, "GT"), runtime::Reduce::Or); },
      [&](const hlo::Values& now) -> hlo::Values {
        const hlo::Value open = hlo::compare(now[0], none, "GT");
        return {now[0] - 1, hlo::select(over_matrix(open, a), product_hlo(now[1], now[1]), now[1])};
      });
  return {hlo::select(over_matrix(valid, a), squared[1], a.number(std::nan("")))};
}

// By the eigenvectors of [[0, a], [a', 0]], whose eigenvalues are the singular values of a and their negatives: no
// square of a, which would lose half of the digits.
hlo::Values pinv_hlo(const hlo::Use& u) {
  const hlo::Value& a = u.in[0];
  const Shape& made = u.out[0].shape;
  if (runtime::numel(made) == 0) return {u.to.constant(a.dtype, made, 0)};
  const int rank = a.rank();
  const std::int64_t rows = a.shape[a.shape.size() - 2], columns = a.shape.back(), size = rows + columns;
  Ints perm;
  for (int d = 0; d < rank; ++d) perm.push_back(d);
  std::swap(perm[perm.size() - 1], perm[perm.size() - 2]);
  const auto put = [&](const hlo::Value& x, std::int64_t row, std::int64_t column) {
    Ints low(a.shape.size(), 0), high(a.shape.size(), 0);
    const Ints inner(a.shape.size(), 0);
    low[low.size() - 2] = row, high[high.size() - 2] = size - row - x.shape[x.shape.size() - 2];
    low.back() = column, high.back() = size - column - x.shape.back();
    return hlo::pad(x, u.to.constant(a.dtype, {}, 0), low, high, inner);
  };
  const hlo::Values whole{put(a, 0, rows) + put(hlo::transpose(a, perm), rows, 0)};
  const hlo::Use of{u.to, u.attrs, whole, u.out};
  const hlo::Values found = eigh_hlo(of);
  const hlo::Value &values = found[0], &vectors = found[1], sizes = hlo::unary("abs", values);
  const Ints last{values.rank() - 1};
  const hlo::Value most = hlo::reduced(sizes, runtime::Reduce::Max, last) * u.attrs.number("share");
  Ints lead;
  for (int d = 0; d + 1 < values.rank(); ++d) lead.push_back(d);
  const hlo::Value counts = hlo::compare(sizes, hlo::spread(most, values.shape, lead), "GT");
  const hlo::Value inverse =
      hlo::select(counts, values.number(1) / hlo::select(counts, values, values.number(1)), values.number(0));
  Ints columns_of = lead;
  columns_of.push_back(rank - 1);
  const hlo::Value scaled = vectors * hlo::spread(inverse, vectors.shape, columns_of);
  const hlo::Value all = product_hlo(scaled, hlo::transpose(vectors, perm));
  return {hlo::part(hlo::part(all, rank - 2, rows, size), rank - 1, 0, rows)};
}

}  // namespace shard::stdlib
