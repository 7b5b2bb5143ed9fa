// The exponential of a matrix by Padé approximants, of the lowest order that is exact enough for its norm.
#include <algorithm>
#include <cmath>
#include <span>

#include "runtime/kernels/dense/batch.h"
#include "runtime/kernels/dense/decompose.h"
#include "runtime/kernels/kernels.h"
#include "runtime/kernels/pade.h"

namespace shard::runtime {
namespace {

using namespace dense;
using Numbers = std::span<double>;
using Coefficients = std::span<const double>;

Numbers numbers_of(Matrix& m) { return {m.as<double>(), static_cast<std::size_t>(m.size())}; }

// Matrices of f64 with n rows and columns.
struct Exponential {
  const Stop* stop;
  Index n;
  Matrix m, powers[4], sum, even, odd;  // powers: m^2, m^4, ..
  Exponential(Index n_, const Stop* stop_) : stop(stop_), n(n_) {}

  void product(Matrix& x, Matrix& y, Matrix& to) {
    to.reset(DType::F64, n, n);
    matmul(y.turned(), x.turned(), to.turned(), stop);
  }
  // to = first + b[0] m^2 + b[2] m^4 + .. of `count` powers; `first` of the identity
  void add_powers(Coefficients b, std::size_t count, double first, Matrix& to) {
    to.reset(DType::F64, n, n);
    const Numbers out = numbers_of(to);
    for (std::size_t k = 0; k < count; ++k) {
      const double* power = powers[k].as<double>();
      const double factor = b[2 * k];
      if (k == 0)
        for (std::size_t x = 0; x < out.size(); ++x) out[x] = factor * power[x];
      else
        for (std::size_t x = 0; x < out.size(); ++x) out[x] += factor * power[x];
    }
    for (std::size_t x = 0; x < out.size(); x += static_cast<std::size_t>(n) + 1) out[x] += first;
  }
  // Every other term from that of `first`, 0 or 1, over m^first.
  void polynomial(Coefficients b, std::size_t first, Matrix& to) {
    if (b.size() < kPade13.size()) return add_powers(b.subspan(first + 2), b.size() / 2 - 1, b[first], to);
    add_powers(b.subspan(first + 8), 3, 0, sum);  // times m^6
    product(powers[2], sum, to);
    add_powers(b.subspan(first + 2), 3, b[first], sum);
    const Numbers out = numbers_of(to);
    for (std::size_t x = 0; x < out.size(); ++x) out[x] += sum.as<double>()[x];
  }
  // even + odd and even - odd, the numerator and the denominator.
  void approximate(Coefficients b, Matrix& plus, Matrix& minus) {
    const std::size_t count = b.size() == kPade13.size() ? 3 : b.size() / 2 - 1;
    product(m, m, powers[0]);
    if (count > 1) product(powers[0], powers[0], powers[1]);
    for (std::size_t k = 2; k < count; ++k) product(powers[k - 1], powers[0], powers[k]);
    polynomial(b, 1, even);
    product(m, even, odd);
    polynomial(b, 0, even);
    plus.reset(DType::F64, n, n);
    minus.reset(DType::F64, n, n);
    const Numbers p = numbers_of(plus), q = numbers_of(minus), e = numbers_of(even), o = numbers_of(odd);
    for (std::size_t x = 0; x < p.size(); ++x) p[x] = e[x] + o[x], q[x] = e[x] - o[x];
  }
};

Coefficients coefficients(double norm, bool f64) {
  constexpr Coefficients kAll[] = {kPade3, kPade5, kPade7, kPade9, kPade13};
  const std::span<const double> bounds = f64 ? std::span(kPadeBoundsF64) : std::span<const double>(kPadeBoundsF32);
  std::size_t k = 0;
  while (k + 1 < bounds.size() && norm > bounds[k]) ++k;
  return kAll[k];
}

// The largest sum of sizes of a row.
double norm_of(Matrix& m) {
  std::vector<double> sums(static_cast<std::size_t>(m.rows()));
  const double* x = m.as<double>();
  for (Index c = 0; c < m.cols(); ++c)
    for (double& sum : sums) sum += std::abs(*x++);
  return *std::max_element(sums.begin(), sums.end());
}

template <class T>
void widen(const T* from, Numbers to) {
  for (double& x : to) x = *from++;
}

void narrow(Matrix& from, Matrix& to) {
  to.reset(DType::F32, from.rows(), from.cols());
  const Numbers in = numbers_of(from);
  for (std::size_t x = 0; x < in.size(); ++x) to.as<float>()[x] = static_cast<float>(in[x]);
}

}  // namespace

// In double, as squaring loses digits. Read by columns, what lies by rows is transposed, and its exponential is too: so
// nothing is turned, and the norm, that of columns, is one of rows.
void expm(const View& a, const View& out, int squarings, const Stop* stop) {
  const bool f64 = a.dtype == DType::F64;
  const double bound = f64 ? kPadeBoundF64 : kPadeBoundF32;
  const View from = turned(a), to = turned(out);
  each(a, stop, [&](Index i, const WorkRef& w) {
    w->space.load(from, i);
    const Index n = w->space.rows();
    if (n == 0) return;
    Exponential e(n, stop);
    e.m.reset(DType::F64, n, n);
    if (f64)
      widen(w->space.as<double>(), numbers_of(e.m));
    else
      widen(w->space.as<float>(), numbers_of(e.m));
    const double norm = norm_of(e.m), turns = norm > bound ? std::floor(std::log2(norm / bound)) : 0;
    if (!e.m.finite() || turns > squarings) return store_nan(out, i, w->space);
    int scale = 0;
    std::frexp(norm / bound, &scale);
    scale = std::max(scale, 0);
    const double factor = std::ldexp(1.0, -scale);
    if (scale > 0)
      for (double& x : numbers_of(e.m)) x *= factor;
    e.approximate(coefficients(norm * factor, f64), w->b, w->a);
    solve_lu(w, false, stop);
    for (int k = 0; k < scale; ++k) {
      e.product(w->b, w->b, e.sum);
      std::swap(w->b, e.sum);
    }
    if (!f64) narrow(w->b, w->space);
    (f64 ? w->b : w->space).store(to, i);
  });
}

}  // namespace shard::runtime
