#include "runtime/kernels/dense/unitary.h"

#include <algorithm>
#include <cmath>
#include <utility>

#include "runtime/kernels/spread.h"

namespace shard::runtime::dense {
namespace {

// The products in these loops: std::complex's own look for infinities, which takes most of the time.
Complex times(Complex a, Complex b) {
  return {a.real() * b.real() - a.imag() * b.imag(), a.real() * b.imag() + a.imag() * b.real()};
}
Complex inner(const Complex* x, const Complex* y, Index n) {  // xᴴ y
  Complex sum = 0;
  for (Index i = 0; i < n; ++i) sum += times(std::conj(x[i]), y[i]);
  return sum;
}
void add(Complex* y, Complex by, const Complex* x, Index n) {  // y += by x
  for (Index i = 0; i < n; ++i) y[i] += times(by, x[i]);
}
void ask(const Stop* stop) {
  if (stop) stop->ask();
}

// Hᴴ x = (beta, 0, ...) with beta real; x becomes (1, v...). LAPACK's zlarfg.
struct Reflection {
  Complex tau;
  double beta;
};
Reflection reflection(Complex* x, Index n) {
  double rest = 0;
  for (Index i = 1; i < n; ++i) rest = std::hypot(rest, std::hypot(x[i].real(), x[i].imag()));
  const Complex alpha = x[0];
  x[0] = 1;
  if (rest == 0 && alpha.imag() == 0) return {0, alpha.real()};
  const double beta = -std::copysign(std::hypot(std::hypot(alpha.real(), alpha.imag()), rest), alpha.real());
  for (Index i = 1; i < n; ++i) x[i] /= alpha - beta;
  return {Complex((beta - alpha.real()) / beta, -alpha.imag() / beta), beta};
}

// c -= tau v (vᴴ c), for columns [from, to) of c at row `top`.
void reflect(const Complex* v, Complex tau, Index n, ComplexMatrix& c, Index top, Index from, Index to) {
  if (tau == 0.0) return;
  spread(to - from, std::max<Index>(1, 65536 / std::max<Index>(n, 1)), [&](Index lo, Index hi) {
    for (Index j = from + lo; j < from + hi; ++j) {
      Complex* x = c.column(j) + top;
      add(x, -times(tau, inner(v, x, n)), v, n);
    }
  });
}

}  // namespace

bool ComplexMatrix::all_finite() const {
  return std::all_of(data_.begin(), data_.end(),
                     [](Complex z) { return std::isfinite(z.real()) && std::isfinite(z.imag()); });
}

ComplexMatrix adjoint(const ComplexMatrix& a) {
  ComplexMatrix out(a.cols, a.rows);
  for (Index j = 0; j < a.cols; ++j)
    for (Index i = 0; i < a.rows; ++i) out(j, i) = std::conj(a(i, j));
  return out;
}

ComplexMatrix product(const ComplexMatrix& a, const ComplexMatrix& b, const Stop* stop) {
  ComplexMatrix out(a.rows, b.cols);
  spread(
      b.cols, std::max<Index>(1, 65536 / std::max<Index>(a.rows * a.cols, 1)),
      [&](Index lo, Index hi) {
        for (Index j = lo; j < hi; ++j)
          for (Index k = 0; k < a.cols; ++k) add(out.column(j), b(k, j), a.column(k), a.rows);
      },
      stop);
  return out;
}

double lu(ComplexMatrix& a, const Stop* stop) {
  double sign = 1;
  for (Index k = 0; k < a.cols; ++k) {
    ask(stop);
    Index pivot = k;
    for (Index i = k + 1; i < a.rows; ++i)
      if (std::abs(a(i, k)) > std::abs(a(pivot, k))) pivot = i;
    if (pivot != k) {
      sign = -sign;
      for (Index j = 0; j < a.cols; ++j) std::swap(a(k, j), a(pivot, j));
    }
    if (a(k, k) == 0.0) continue;
    for (Index i = k + 1; i < a.rows; ++i) a(i, k) /= a(k, k);
    for (Index j = k + 1; j < a.cols; ++j) add(a.column(j) + k + 1, -a(k, j), a.column(k) + k + 1, a.rows - k - 1);
  }
  return sign;
}

bool cholesky(ComplexMatrix& a, const Stop* stop) {
  for (Index k = 0; k < a.rows; ++k) {
    ask(stop);
    const double d = a(k, k).real();
    if (!(d > 0) || !std::isfinite(d)) return false;
    a(k, k) = std::sqrt(d);
    for (Index i = k + 1; i < a.rows; ++i) a(i, k) /= a(k, k).real();
    for (Index j = k + 1; j < a.rows; ++j) add(a.column(j) + j, -std::conj(a(j, k)), a.column(k) + j, a.rows - j);
  }
  return true;
}

void apply(const Reflectors& h, ComplexMatrix& c, const Stop* stop) {
  std::vector<Complex> v;
  for (Index k = static_cast<Index>(h.tau.size()) - 1; k >= 0; --k) {
    ask(stop);
    const Index top = k + h.below, n = c.rows - top;
    v.assign(h.vectors.column(k) + top, h.vectors.column(k) + top + n);
    v[0] = 1;
    reflect(v.data(), h.tau[u(k)], n, c, top, 0, c.cols);
  }
}

Reflectors unitary_triangular(ComplexMatrix a, const Stop* stop) {
  Reflectors h{std::move(a), {}};
  ComplexMatrix& m = h.vectors;
  for (Index k = 0; k < std::min(m.rows, m.cols); ++k) {
    ask(stop);
    const auto [tau, beta] = reflection(m.column(k) + k, m.rows - k);
    reflect(m.column(k) + k, std::conj(tau), m.rows - k, m, k, k + 1, m.cols);
    h.tau.push_back(tau);
    m(k, k) = beta;
  }
  return h;
}

Reflectors real_tridiagonal(ComplexMatrix a, Matrix& t, const Stop* stop) {
  const Index n = a.rows;
  t = Matrix(n, n);
  for (Index j = 0; j < n; ++j) {
    for (Index i = 0; i < j; ++i) a(i, j) = std::conj(a(j, i));
    a(j, j) = a(j, j).real();
  }
  Reflectors h{std::move(a), {}, 1};
  ComplexMatrix& m = h.vectors;
  std::vector<Complex> w;
  for (Index k = 0; k + 1 < n; ++k) {
    ask(stop);
    const Index size = n - k - 1;
    Complex* v = m.column(k) + k + 1;
    const auto [tau, beta] = reflection(v, size);
    t(k, k) = m(k, k).real(), t(k + 1, k) = t(k, k + 1) = beta;
    h.tau.push_back(tau);
    // Of the rest A: Hᴴ A H = A - v wᴴ - w vᴴ, w = tau A v - (tau (tau A v)ᴴ v / 2) v.
    w.assign(u(size), 0.0);
    for (Index j = 0; j < size; ++j) add(w.data(), times(tau, v[j]), m.column(k + 1 + j) + k + 1, size);
    add(w.data(), -0.5 * times(tau, inner(w.data(), v, size)), v, size);
    for (Index j = 0; j < size; ++j) {
      add(m.column(k + 1 + j) + k + 1, -std::conj(w[u(j)]), v, size);
      add(m.column(k + 1 + j) + k + 1, -std::conj(v[j]), w.data(), size);
    }
  }
  if (n > 0) t(n - 1, n - 1) = m(n - 1, n - 1).real();
  return h;
}

BothSides real_bidiagonal(ComplexMatrix a, Matrix& b, const Stop* stop) {
  const Index rows = a.rows, n = a.cols;
  b = Matrix(n, n);
  BothSides made{{std::move(a), {}}, {ComplexMatrix(n, n), {}, 1}};
  ComplexMatrix &m = made.left.vectors, &right = made.right.vectors;
  std::vector<Complex> sums;
  for (Index k = 0; k < n; ++k) {
    ask(stop);
    const auto [tau, beta] = reflection(m.column(k) + k, rows - k);
    reflect(m.column(k) + k, std::conj(tau), rows - k, m, k, k + 1, n);
    made.left.tau.push_back(tau);
    b(k, k) = beta;
    const Index size = n - k - 1, below = rows - k - 1;
    if (size == 0) break;
    Complex* v = right.column(k) + k + 1;
    for (Index j = 0; j < size; ++j) v[j] = std::conj(m(k, k + 1 + j));
    const auto turned = reflection(v, size);
    made.right.tau.push_back(turned.tau);
    b(k, k + 1) = turned.beta;
    sums.assign(u(below), 0.0);  // A -= tau (A v) vᴴ
    for (Index j = 0; j < size; ++j) add(sums.data(), v[j], m.column(k + 1 + j) + k + 1, below);
    for (Index j = 0; j < size; ++j)
      add(m.column(k + 1 + j) + k + 1, -times(turned.tau, std::conj(v[j])), sums.data(), below);
  }
  return made;
}

}  // namespace shard::runtime::dense
