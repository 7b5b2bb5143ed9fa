// The exponential of a matrix by Padé approximants, of the lowest order that is exact enough for its norm; and its
// derivative in a direction, which goes through the same steps (Al-Mohy and Higham, "Computing the Fréchet derivative
// of the matrix exponential", 2009).
#include <algorithm>
#include <cmath>
#include <optional>
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

template <class T>
void add_to(Matrix& to, Matrix& from) {
  const std::span<T> out = numbers_of<T>(to);
  const T* x = from.as<T>();
  for (std::size_t k = 0; k < out.size(); ++k) out[k] += x[k];
}

// How often a matrix is halved, and the approximant that is exact enough then.
struct Scaling {
  int halvings;
  Coefficients b;
};

// Computed in numbers T, of matrices with n rows and columns.
template <class T>
struct Exponential {
  using Powers = Matrix[4];
  const Stop* stop;
  Index n;
  Matrix m, high[2], sum, inner, even, odd;  // odd: m times `inner`
  Powers powers;                             // m^2, m^4, ..
  Exponential(Index n_, const Stop* stop_) : stop(stop_), n(n_) {}

  void product(Matrix& x, Matrix& y, Matrix& to) {
    to.reset(kType<T>, n, n);
    matmul(y.turned(), x.turned(), to.turned(), stop);
  }
  // to = first + b[0] of[0] + b[2] of[1] + .. of `count` matrices; `first` of the identity
  void add_powers(Powers& of, Coefficients b, std::size_t count, double first, Matrix& to) {
    to.reset(kType<T>, n, n);
    const std::span<T> out = numbers_of<T>(to);
    for (std::size_t k = 0; k < count; ++k) {
      const T* power = of[k].template as<T>();
      const T factor = static_cast<T>(b[2 * k]);
      if (k == 0)
        for (std::size_t x = 0; x < out.size(); ++x) out[x] = factor * power[x];
      else
        for (std::size_t x = 0; x < out.size(); ++x) out[x] += factor * power[x];
    }
    if (first == 0) return;
    for (std::size_t x = 0; x < out.size(); x += static_cast<std::size_t>(n) + 1) out[x] += static_cast<T>(first);
  }
  static bool in_halves(Coefficients b) { return b.size() == kPade13.size(); }  // what is high is a multiple of m^6
  static std::size_t powers_for(Coefficients b) { return in_halves(b) ? 3 : b.size() / 2 - 1; }

  // Every other term from that of `first`, 0 or 1, over m^first.
  void polynomial(Coefficients b, std::size_t first, Matrix& to) {
    if (!in_halves(b)) return add_powers(powers, b.subspan(first + 2), powers_for(b), b[first], to);
    add_powers(powers, b.subspan(first + 8), 3, 0, high[first]);
    product(powers[2], high[first], to);
    add_powers(powers, b.subspan(first + 2), 3, b[first], sum);
    add_to<T>(to, sum);
  }
  void approximate(Coefficients b) {
    const std::size_t count = powers_for(b);
    product(m, m, powers[0]);
    if (count > 1) product(powers[0], powers[0], powers[1]);
    for (std::size_t k = 2; k < count; ++k) product(powers[k - 1], powers[0], powers[k]);
    polynomial(b, 1, inner);
    product(m, inner, odd);
    polynomial(b, 0, even);
  }
  // w->b becomes the numerator over the denominator, even + odd over even - odd, of which L and U are left in w->a.
  void divide(const WorkRef& w) {
    w->b.reset(kType<T>, n, n);
    w->a.reset(kType<T>, n, n);
    const std::span<T> p = numbers_of<T>(w->b), q = numbers_of<T>(w->a), e = numbers_of<T>(even),
                       o = numbers_of<T>(odd);
    for (std::size_t x = 0; x < p.size(); ++x) p[x] = e[x] + o[x], q[x] = e[x] - o[x];
    solve_lu(w, false, stop);
  }
  static void halve(Matrix& x, int times) {
    const T factor = static_cast<T>(std::ldexp(1.0, -times));
    if (times > 0)
      for (T& number : numbers_of<T>(x)) number *= factor;
  }
  // w->b becomes the exponential of m.
  void compute(const Scaling& s, const WorkRef& w) {
    halve(m, s.halvings);
    approximate(s.b);
    divide(w);
    for (int k = 0; k < s.halvings; ++k) {
      product(w->b, w->b, sum);
      std::swap(w->b, sum);
    }
  }
};

// Its derivative at m in the direction e: each step's, which is linear in e.
template <class T>
struct ExponentialAlong : Exponential<T> {
  using Base = Exponential<T>;
  using Base::add_powers, Base::halve, Base::high, Base::in_halves, Base::m, Base::n, Base::powers, Base::powers_for,
      Base::product, Base::stop, Base::sum;
  Matrix e, value, term, inner_along, even_along, odd_along;
  typename Base::Powers along;  // of the powers
  using Base::Base;

  // to = x dy + dx y
  void product_along(Matrix& x, Matrix& dx, Matrix& y, Matrix& dy, Matrix& to) {
    product(x, dy, to);
    product(dx, y, term);
    add_to<T>(to, term);
  }
  void polynomial_along(Coefficients b, std::size_t first, Matrix& to) {
    if (!in_halves(b)) return add_powers(along, b.subspan(first + 2), powers_for(b), 0, to);
    add_powers(along, b.subspan(first + 8), 3, 0, sum);
    product_along(powers[2], along[2], high[first], sum, to);
    add_powers(along, b.subspan(first + 2), 3, 0, sum);
    add_to<T>(to, sum);
  }
  void approximate_along(Coefficients b) {
    product_along(m, e, m, e, along[0]);
    for (std::size_t k = 1; k < powers_for(b); ++k)
      product_along(powers[k - 1], along[k - 1], powers[0], along[0], along[k]);
    polynomial_along(b, 1, inner_along);
    product_along(m, e, this->inner, inner_along, odd_along);
    polynomial_along(b, 0, even_along);
  }
  // With d = even - odd: d value = even + odd, hence d value' = even' + odd' - d' value.
  void divide_along(const WorkRef& w) {
    std::swap(value, w->b);
    const std::span<T> o = numbers_of<T>(odd_along), d = numbers_of<T>(even_along);
    for (std::size_t x = 0; x < o.size(); ++x) {
      const T even = d[x], odd = o[x];
      o[x] = even + odd, d[x] = odd - even;
    }
    product(even_along, value, w->b);
    add_to<T>(w->b, odd_along);
    solve_factored(w, false, stop);
  }
  // w->b becomes the derivative.
  void compute(const Scaling& s, const WorkRef& w) {
    halve(m, s.halvings);
    halve(e, s.halvings);
    this->approximate(s.b);
    approximate_along(s.b);
    this->divide(w);
    divide_along(w);
    for (int k = 0; k < s.halvings; ++k) {
      product_along(value, w->b, value, w->b, sum);
      std::swap(w->b, sum);
      product(value, value, sum);
      std::swap(value, sum);
    }
  }
};

// The largest sum of sizes of a row.
template <class T>
double norm_of(Matrix& m) {
  std::vector<double> sums(static_cast<std::size_t>(m.rows()));
  const T* x = m.as<T>();
  for (Index c = 0; c < m.cols(); ++c)
    for (double& sum : sums) sum += std::abs(*x++);
  return *std::max_element(sums.begin(), sums.end());
}

// By order of the approximant.
struct Bounds {
  std::span<const double> f32, f64;
};
constexpr Bounds kBounds{kPadeBoundsF32, kPadeBoundsF64}, kAlongBounds{kPadeAlongBoundsF32, kPadeAlongBoundsF64};

// Nothing of what is not finite, or whose exponential would need more squarings.
std::optional<Scaling> scaling(Matrix& m, const Bounds& of, int squarings) {
  constexpr Coefficients kAll[] = {kPade3, kPade5, kPade7, kPade9, kPade13};
  const bool f64 = m.type() == DType::F64;
  const std::span<const double> bounds = f64 ? of.f64 : of.f32;
  const double norm = f64 ? norm_of<double>(m) : norm_of<float>(m), most = f64 ? kPadeBoundF64 : kPadeBoundF32;
  if (!m.finite() || (norm > most && std::floor(std::log2(norm / most)) > squarings)) return std::nullopt;
  Scaling out{};
  std::frexp(norm / bounds.back(), &out.halvings);
  out.halvings = std::max(out.halvings, 0);
  std::size_t k = 0;
  while (k + 1 < bounds.size() && std::ldexp(norm, -out.halvings) > bounds[k]) ++k;
  out.b = kAll[k];
  return out;
}

template <class From, class To>
void convert(Matrix& from, Matrix& to) {
  if constexpr (std::is_same_v<From, To>) return std::swap(from, to);
  to.reset(kType<To>, from.rows(), from.cols());
  const std::span<From> in = numbers_of<From>(from);
  for (std::size_t x = 0; x < in.size(); ++x) to.as<To>()[x] = static_cast<To>(in[x]);
}

// In numbers T what is given and wanted in numbers Own: of w->space, along w->u, it comes in w->b.
template <template <class> class Of, class T, class Own>
void computed_in(const WorkRef& w, const Scaling& s, const Stop* stop) {
  Of<T> x(w->space.rows(), stop);
  convert<Own, T>(w->space, x.m);
  if constexpr (std::is_same_v<Of<T>, ExponentialAlong<T>>) convert<Own, T>(w->u, x.e);
  x.compute(s, w);
  convert<T, Own>(w->b, w->space);
  std::swap(w->b, w->space);
}

// Squaring loses digits, so what of f32 is squared is computed in f64.
template <template <class> class Of>
void computed(const WorkRef& w, const Scaling& s, const Stop* stop) {
  if (w->space.type() == DType::F64) return computed_in<Of, double, double>(w, s, stop);
  if (s.halvings > 0) return computed_in<Of, double, float>(w, s, stop);
  computed_in<Of, float, float>(w, s, stop);
}

}  // namespace

// Read by columns, what lies by rows is transposed, and its exponential is too: so nothing is turned, and the norm,
// that of columns, is one of rows.
void expm(const View& a, const View& out, int squarings, const Stop* stop) {
  const View from = turned(a), to = turned(out);
  each(a, stop, [&](Index i, const WorkRef& w) {
    w->space.load(from, i);
    if (w->space.rows() == 0) return;
    const std::optional<Scaling> s = scaling(w->space, kBounds, squarings);
    if (!s) return store_nan(out, i, w->space);
    computed<Exponential>(w, *s, stop);
    w->b.store(to, i);
  });
}

void expm_along(const View& a, const View& e, const View& out, int squarings, const Stop* stop) {
  const View from = turned(a), direction = turned(e), to = turned(out);
  each(a, stop, [&](Index i, const WorkRef& w) {
    w->space.load(from, i);
    w->u.load(direction, i);
    if (w->space.rows() == 0) return;
    const std::optional<Scaling> s = scaling(w->space, kAlongBounds, squarings);
    if (!s || !w->u.finite()) return store_nan(out, i, w->space);
    computed<ExponentialAlong>(w, *s, stop);
    w->b.store(to, i);
  });
}

}  // namespace shard::runtime
