// Gamma numbers, and their derivative by alpha.
#define SHARD_ISA draws  // the vector code's functions of one number, compiled for this file
#include <algorithm>
#include <cmath>
#include <limits>

#include "runtime/kernels/draws_parts.h"
#include "runtime/kernels/vector/functions.h"

namespace shard::runtime {
namespace {

using namespace drawing;

float erf_inverse(float x) { return draws::codes::ErfInv(x); }
double erf_inverse(double x) { return draws::codes::erf_inv_by<float>(x); }

template <class T>
T normal(const Key& key) {
  const T low = std::nextafter(T{-1}, T{0});
  const T u = std::max(low, uniform<T>(key) * (T{1} - low) + low);
  return static_cast<T>(1.4142135623730951) * erf_inverse(u);
}

// ---- gamma (Marsaglia and Tsang, "A simple method for generating gamma variables", 2000)

template <class T>
T gamma_of(Key key, T given, bool logarithm) {
  const bool large = given >= 1;
  const T alpha = large ? given : given + 1, third = static_cast<T>(1.0 / 3), d = alpha - third,
          c = third / std::sqrt(d);
  const Key boost_key = hashed(key, 1);
  key = hashed(key, 0);
  T square = 0, volume = 1, u = 2;
  for (int turn = 0; turn < kMostTurns; ++turn) {
    const bool reject = u >= 1 - static_cast<T>(0.0331) * (square * square) &&
                        std::log(u) >= square * static_cast<T>(0.5) + d * ((1 - volume) + std::log(volume));
    if (!reject) break;
    Key normal_key = hashed(key, 1);
    const Key u_key = hashed(key, 2);
    key = hashed(key, 0);
    T x = 0, v = -1;
    for (int inner = 0; v <= 0 && inner < kMostTurns; ++inner) {
      x = normal<T>(hashed(normal_key, 1));
      v = 1 + x * c;
      normal_key = hashed(normal_key, 0);
    }
    square = x * x;
    volume = v * v * v;
    u = uniform<T>(u_key);
  }
  if (logarithm) {
    const T drawn = std::log1p(-uniform<T>(boost_key));
    const T boost = large || drawn == 0 ? T{0} : drawn * (1 / given);
    return (std::log(d) + std::log(volume)) + boost;
  }
  return d * volume * (large ? T{1} : std::pow(1 - uniform<T>(boost_key), 1 / given));
}

// By the series of the incomplete gamma function, differentiated term by term.
double derivative_by_series(double a, double x) {
  double r = a, term = 1, sum = 1, d_term = 0, d_sum = 0;
  for (int i = 0; i < 10000; ++i) {
    r += 1;
    d_term = d_term * (x / r) - term * x / (r * r);
    d_sum += d_term;
    term *= x / r;
    sum += term;
    if (std::fabs(d_term) <= 1e-17 * std::fabs(d_sum)) break;
  }
  return -(d_sum + sum * (std::log(x) - draws::codes::digamma_by<float>(a + 1))) * x / a;
}

// By the continued fraction of its complement.
double derivative_by_fraction(double a, double x) {
  double y = 1 - a, z = x + y + 1, c = 0;
  double p2 = 1, q2 = x, p1 = x + 1, q1 = z * x, d_p2 = 0, d_q2 = 0, d_p1 = 0, d_q1 = -x;
  double value = p1 / q1, slope = (d_p1 - value * d_q1) / q1;
  for (int i = 0; i < 2000; ++i) {
    c += 1, y += 1, z += 2;
    const double yc = y * c, p = p1 * z - p2 * yc, q = q1 * z - q2 * yc;
    const double d_p = d_p1 * z - p1 - d_p2 * yc + p2 * c, d_q = d_q1 * z - q1 - d_q2 * yc + q2 * c;
    double change = 1;
    if (q != 0) {
      value = p / q;
      const double next = (d_p - value * d_q) / q;
      change = std::fabs(next - slope);
      slope = next;
    }
    p2 = p1, q2 = q1, p1 = p, q1 = q;
    d_p2 = d_p1, d_q2 = d_q1, d_p1 = d_p, d_q1 = d_q;
    if (std::fabs(p) > 1e15)
      for (double* v : {&p2, &q2, &p1, &q1, &d_p2, &d_q2, &d_p1, &d_q1}) *v *= 1e-15;
    if (change <= 1e-16) break;
  }
  return (slope + value * (std::log(x) - draws::codes::digamma_by<float>(a))) * x;
}

double gamma_slope(double a, double x) {
  if (x != x || a != a || x < 0 || a <= 0) return std::numeric_limits<double>::quiet_NaN();
  if (x == 0) return 0;
  return x > 1 && x > a ? derivative_by_fraction(a, x) : derivative_by_series(a, x);
}

constexpr auto kNothing = [] { return 0; };

}  // namespace

void draw_gamma(const View& keys, const View& alpha, const View& out, bool logarithm, const Stop* stop) {
  as_float(out, [&](auto type) {
    using T = decltype(type);
    each_element<2>({&keys, &alpha}, out, stop, kNothing, [&](int, const auto& at, std::int64_t i) {
      out.as<T>()[i] = gamma_of(keys.as<const Key>()[at[0]], alpha.as<const T>()[at[1]], logarithm);
    });
  });
}

void gamma_derivative(const View& alpha, const View& sample, const View& out, bool logarithm, const Stop* stop) {
  as_float(out, [&](auto type) {
    using T = decltype(type);
    each_element<2>({&alpha, &sample}, out, stop, kNothing, [&](int, const auto& at, std::int64_t i) {
      const double a = alpha.as<const T>()[at[0]];
      double x = sample.as<const T>()[at[1]];
      if (logarithm) x = std::max(std::exp(x), static_cast<double>(std::numeric_limits<T>::min()));
      out.as<T>()[i] = static_cast<T>(logarithm ? gamma_slope(a, x) / x : gamma_slope(a, x));
    });
  });
}

}  // namespace shard::runtime

#undef SHARD_ISA
