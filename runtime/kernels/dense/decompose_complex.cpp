// Decompositions of a batch of complex matrices, each in double: by unitary.h, and by the real solvers of dense.h.
#include <cmath>
#include <limits>
#include <utility>

#include "runtime/kernels/dense/decompose_complex.h"
#include "runtime/kernels/dense/unitary.h"
#include "runtime/kernels/spread.h"

namespace shard::runtime::complex {
namespace {

using dense::Complex;
using dense::ComplexMatrix;
using dense::Index;
constexpr double kNan = std::numeric_limits<double>::quiet_NaN();

// Element (row, column) of matrix `i`; of a view of rank 2, a vector's; of rank 1, the number.
std::int64_t place(const View& v, Index i, Index row, Index column) {
  return i * v.strides[0] + (v.rank() > 1 ? row * v.strides[1] : 0) + (v.rank() > 2 ? column * v.strides[2] : 0);
}

ComplexMatrix load(const View& v, Index i) {
  ComplexMatrix m(v.shape[1], v.shape[2]);
  for (Index c = 0; c < m.cols; ++c)
    for (Index r = 0; r < m.rows; ++r) {
      const std::int64_t at = place(v, i, r, c);
      m(r, c) = v.dtype == DType::C128 ? v.as<Complex>()[at] : Complex(v.as<std::complex<float>>()[at]);
    }
  return m;
}

// What `element` gives for each place of matrix, vector or number `i`.
template <class Element>
void store(const View& v, Index i, Element element) {
  const Index rows = v.rank() > 1 ? v.shape[1] : 1, columns = v.rank() > 2 ? v.shape[2] : 1;
  for (Index c = 0; c < columns; ++c)
    for (Index r = 0; r < rows; ++r) {
      const Complex x = element(r, c);
      const std::int64_t at = place(v, i, r, c);
      switch (v.dtype) {
        case DType::C128: v.as<Complex>()[at] = x; break;
        case DType::C64: v.as<std::complex<float>>()[at] = std::complex<float>(x); break;
        case DType::F64: v.as<double>()[at] = x.real(); break;
        default: v.as<float>()[at] = static_cast<float>(x.real());
      }
    }
}
void store_nan(const View& v, Index i) {
  const bool real = v.dtype == DType::F32 || v.dtype == DType::F64;
  store(v, i, [&](Index, Index) { return Complex(kNan, real ? 0 : kNan); });
}

template <class F>
void each(const View& a, const Stop* stop, F&& f) {
  spread(
      a.shape[0], 1,
      [&](std::int64_t lo, std::int64_t hi) {
        for (std::int64_t i = lo; i < hi; ++i) f(i);
      },
      stop);
}

struct Factors {
  ComplexMatrix u;
  std::vector<double> values;
  ComplexMatrix v;
};

// rows x cols with a real matrix in its upper left corner, ones further down the diagonal.
ComplexMatrix widened(dense::Matrix& real, Index rows, Index cols) {
  const dense::Block from = real;
  ComplexMatrix m(rows, cols);
  for (Index j = 0; j < cols; ++j)
    if (j >= from.cols)
      m(j, j) = 1;
    else
      for (Index i = 0; i < from.rows; ++i) m(i, j) = from(i, j);
  return m;
}

Factors singular(ComplexMatrix a, bool full, const Stop* stop) {
  if (a.rows < a.cols) {  // of the adjoint, with u and v in each other's place
    Factors f = singular(adjoint(a), full, stop);
    std::swap(f.u, f.v);
    return f;
  }
  const Index rows = a.rows, n = a.cols;
  dense::Matrix b, left, right;
  const dense::BothSides sides = real_bidiagonal(std::move(a), b, stop);
  Factors f{ComplexMatrix(0, 0), {}, ComplexMatrix(0, 0)};
  dense::singular(b, n, left, f.values, right, stop);
  f.u = widened(left, rows, full ? rows : n);
  f.v = widened(right, n, n);
  apply(sides.left, f.u, stop);
  apply(sides.right, f.v, stop);
  return f;
}

// The phase of the determinant and the logarithm of its size; phase 0 and -inf of singular matrices.
struct Determinant {
  Complex phase = 1, number = 1;
  double logarithm = 0;
};
Determinant determinant_of(ComplexMatrix a, const Stop* stop) {
  Determinant d;
  d.phase = d.number = lu(a, stop);
  for (Index k = 0; k < a.rows; ++k) {
    const double size = std::abs(a(k, k));
    d.number *= a(k, k);
    d.phase = size == 0 ? 0.0 : d.phase * (a(k, k) / size);
    d.logarithm += std::log(size);
  }
  if (d.phase == 0.0) d.logarithm = -std::numeric_limits<double>::infinity();
  return d;
}

}  // namespace

void cholesky(const View& a, const View& lower, const Stop* stop) {
  each(a, stop, [&](Index i) {
    ComplexMatrix l = load(a, i);
    const bool found = dense::cholesky(l, stop);
    const Complex none(kNan, kNan);
    store(lower, i, [&](Index r, Index c) { return r < c ? 0.0 : found ? l(r, c) : none; });
  });
}

void qr(const View& a, const View& q, const View& r, const Stop* stop) {
  each(a, stop, [&](Index i) {
    const dense::Reflectors h = unitary_triangular(load(a, i), stop);
    ComplexMatrix all(q.shape[1], q.shape[2]);
    for (Index k = 0; k < all.cols; ++k) all(k, k) = 1;
    apply(h, all, stop);
    store(q, i, [&](Index row, Index c) { return all(row, c); });
    store(r, i, [&](Index row, Index c) { return row > c ? 0.0 : h.vectors(row, c); });
  });
}

void eigh(const View& a, const View& values, const View& vectors, const Stop* stop) {
  each(a, stop, [&](Index i) {
    ComplexMatrix m = load(a, i);
    if (m.rows == 0) return;
    if (!m.all_finite()) return store_nan(values, i), store_nan(vectors, i);
    dense::Matrix t, inside;
    std::vector<double> found;
    const dense::Reflectors h = real_tridiagonal(std::move(m), t, stop);
    dense::eigen_symmetric(t, found, inside, stop);
    ComplexMatrix q = widened(inside, h.vectors.rows, h.vectors.rows);
    apply(h, q, stop);
    store(values, i, [&](Index k, Index) { return Complex(found[dense::u(k)]); });
    store(vectors, i, [&](Index r, Index c) { return q(r, c); });
  });
}

void svd(const View& a, const View& u, const View& values, const View& vt, const Stop* stop) {
  each(a, stop, [&](Index i) {
    ComplexMatrix m = load(a, i);
    if (m.rows == 0 || m.cols == 0 || !m.all_finite()) {
      for (const View* v : {&u, &values, &vt}) store_nan(*v, i);
      return;
    }
    const Factors f = singular(std::move(m), u.shape[2] == a.shape[1] && vt.shape[1] == a.shape[2], stop);
    store(u, i, [&](Index r, Index c) { return f.u(r, c); });
    store(values, i, [&](Index k, Index) { return Complex(f.values[dense::u(k)]); });
    store(vt, i, [&](Index r, Index c) { return std::conj(f.v(c, r)); });
  });
}

void determinant(const View& a, const View& out, const Stop* stop) {
  each(a, stop, [&](Index i) {
    const Complex d = determinant_of(load(a, i), stop).number;
    store(out, i, [&](Index, Index) { return d; });
  });
}

void log_det(const View& a, const View& sign, const View& logarithm, const Stop* stop) {
  each(a, stop, [&](Index i) {
    const Determinant d = determinant_of(load(a, i), stop);
    store(sign, i, [&](Index, Index) { return d.phase; });
    store(logarithm, i, [&](Index, Index) { return Complex(d.logarithm); });
  });
}

// Of a = u s vᴴ: det u det vᴴ conj(u) s' vᵀ, where s' has the products of all other values.
void cofactors(const View& a, const View& out, const Stop* stop) {
  each(a, stop, [&](Index i) {
    ComplexMatrix m = load(a, i);
    if (m.rows == 0) return;
    if (!m.all_finite()) return store_nan(out, i);
    Factors f = singular(std::move(m), true, stop);
    const Complex turn = determinant_of(f.u, stop).number * std::conj(determinant_of(f.v, stop).number);
    for (Index k = 0; k < f.u.cols; ++k) {
      Complex others = std::conj(turn);
      for (Index j = 0; j < f.u.cols; ++j) others *= j == k ? 1 : f.values[dense::u(j)];
      for (Index r = 0; r < f.u.rows; ++r) f.u(r, k) *= others;
    }
    const ComplexMatrix made = product(f.u, adjoint(f.v), stop);
    store(out, i, [&](Index r, Index c) { return std::conj(made(r, c)); });
  });
}

}  // namespace shard::runtime::complex
