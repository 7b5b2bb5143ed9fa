// The exponential of a matrix by Padé approximants, of the lowest order that is exact enough for its norm.
#include <algorithm>
#include <cmath>
#include <span>
#include <type_traits>

#include "runtime/kernels/dense/batch.h"
#include "runtime/kernels/dense/decompose.h"
#include "runtime/kernels/kernels.h"
#include "runtime/kernels/pade.h"

namespace shard::runtime {
namespace {

using namespace dense;
using Coefficients = std::span<const double>;

template <class T>
constexpr DType kType = std::is_same_v<T, float> ? DType::F32 : DType::F64;
template <class T>
std::span<T> numbers_of(Matrix& m) {
  return {m.as<T>(), static_cast<std::size_t>(m.size())};
}

// Computed in numbers T, of matrices with n rows and columns.
template <class T>
struct Exponential {
  const Stop* stop;
  Index n;
  Matrix m, powers[4], sum, even, odd;  // powers: m^2, m^4, ..
  Exponential(Index n_, const Stop* stop_) : stop(stop_), n(n_) {}

  void product(Matrix& x, Matrix& y, Matrix& to) {
    to.reset(kType<T>, n, n);
    matmul(y.turned(), x.turned(), to.turned(), stop);
  }
  // to = first + b[0] m^2 + b[2] m^4 + .. of `count` powers; `first` of the identity
  void add_powers(Coefficients b, std::size_t count, double first, Matrix& to) {
    to.reset(kType<T>, n, n);
    const std::span<T> out = numbers_of<T>(to);
    for (std::size_t k = 0; k < count; ++k) {
      const T* power = powers[k].template as<T>();
      const T factor = static_cast<T>(b[2 * k]);
      if (k == 0)
        for (std::size_t x = 0; x < out.size(); ++x) out[x] = factor * power[x];
      else
        for (std::size_t x = 0; x < out.size(); ++x) out[x] += factor * power[x];
    }
    for (std::size_t x = 0; x < out.size(); x += static_cast<std::size_t>(n) + 1) out[x] += static_cast<T>(first);
  }
  // Every other term from that of `first`, 0 or 1, over m^first.
  void polynomial(Coefficients b, std::size_t first, Matrix& to) {
    if (b.size() < kPade13.size()) return add_powers(b.subspan(first + 2), b.size() / 2 - 1, b[first], to);
    add_powers(b.subspan(first + 8), 3, 0, sum);  // times m^6
    product(powers[2], sum, to);
    add_powers(b.subspan(first + 2), 3, b[first], sum);
    const std::span<T> out = numbers_of<T>(to);
    for (std::size_t x = 0; x < out.size(); ++x) out[x] += sum.as<T>()[x];
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
    plus.reset(kType<T>, n, n);
    minus.reset(kType<T>, n, n);
    const std::span<T> p = numbers_of<T>(plus), q = numbers_of<T>(minus), e = numbers_of<T>(even),
                       o = numbers_of<T>(odd);
    for (std::size_t x = 0; x < p.size(); ++x) p[x] = e[x] + o[x], q[x] = e[x] - o[x];
  }
  // w->b becomes the exponential of m, which is halved and the outcome squared so many times.
  void compute(Coefficients b, int halvings, const WorkRef& w) {
    const T factor = static_cast<T>(std::ldexp(1.0, -halvings));
    if (halvings > 0)
      for (T& x : numbers_of<T>(m)) x *= factor;
    approximate(b, w->b, w->a);
    solve_lu(w, false, stop);
    for (int k = 0; k < halvings; ++k) {
      product(w->b, w->b, sum);
      std::swap(w->b, sum);
    }
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
template <class T>
double norm_of(Matrix& m) {
  std::vector<double> sums(static_cast<std::size_t>(m.rows()));
  const T* x = m.as<T>();
  for (Index c = 0; c < m.cols(); ++c)
    for (double& sum : sums) sum += std::abs(*x++);
  return *std::max_element(sums.begin(), sums.end());
}

template <class From, class To>
void convert(Matrix& from, Matrix& to) {
  to.reset(kType<To>, from.rows(), from.cols());
  const std::span<From> in = numbers_of<From>(from);
  for (std::size_t x = 0; x < in.size(); ++x) to.as<To>()[x] = static_cast<To>(in[x]);
}

}  // namespace

// Squaring loses digits, so what of f32 is squared is computed in f64. Read by columns, what lies by rows is
// transposed, and its exponential is too: so nothing is turned, and the norm, that of columns, is one of rows.
void expm(const View& a, const View& out, int squarings, const Stop* stop) {
  const bool f64 = a.dtype == DType::F64;
  const double bound = f64 ? kPadeBoundF64 : kPadeBoundF32;
  const View from = turned(a), to = turned(out);
  each(a, stop, [&](Index i, const WorkRef& w) {
    w->space.load(from, i);
    const Index n = w->space.rows();
    if (n == 0) return;
    const double norm = f64 ? norm_of<double>(w->space) : norm_of<float>(w->space),
                 turns = norm > bound ? std::floor(std::log2(norm / bound)) : 0;
    if (!w->space.finite() || turns > squarings) return store_nan(out, i, w->space);
    int halvings = 0;
    std::frexp(norm / bound, &halvings);
    halvings = std::max(halvings, 0);
    const Coefficients b = coefficients(std::ldexp(norm, -halvings), f64);
    if (f64) {
      Exponential<double> e(n, stop);
      std::swap(e.m, w->space);
      e.compute(b, halvings, w);
    } else if (halvings > 0) {
      Exponential<double> e(n, stop);
      convert<float, double>(w->space, e.m);
      e.compute(b, halvings, w);
      convert<double, float>(w->b, w->space);
      std::swap(w->b, w->space);
    } else {
      Exponential<float> e(n, stop);
      std::swap(e.m, w->space);
      e.compute(b, 0, w);
    }
    w->b.store(to, i);
  });
}

}  // namespace shard::runtime
