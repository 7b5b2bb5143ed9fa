// Roots by the middle way of Li (LAPACK working note 89): between two poles the function is nearly that of two poles,
// which has its root in closed form. Each step is held inside a bracket that only gets smaller, so it always ends.
#include "runtime/kernels/dense/secular.h"

#include <algorithm>
#include <cmath>
#include <limits>

#include "runtime/kernels/spread.h"

namespace shard::runtime::dense {
namespace {

constexpr double kEps = std::numeric_limits<double>::epsilon();

class Search {  // for the root between poles i and i + 1, or after the last one
 public:
  Search(Values kind, const std::vector<double>& d, const std::vector<double>& weights, Index i)
      : kind_(kind), d_(d), w_(weights), i_(i), n_(static_cast<Index>(d.size())) {}

  void run(Index& origin, double& distance) {
    const bool last = i_ == n_ - 1;
    if (n_ == 1) {
      origin = 0;
      distance = moved(0, at(w_, 0));
      return;
    }
    const double room = last ? 0 : at(d_, i_ + 1) - at(d_, i_);
    if (last) {
      double sum = 0;
      for (double w : w_) sum += w;
      origin_ = i_;
      low_ = 0;
      high_ = kind_ == Values::Eigen ? sum : sum / (at(d_, i_) + std::hypot(at(d_, i_), std::sqrt(sum)));
      high_ *= 1 + 8 * kEps;
      x_ = high_ / 2;
    } else {
      origin_ = i_;
      evaluate(room / 2);
      const bool left = f_ >= 0;
      if (!left) origin_ = i_ + 1;
      low_ = left ? 0 : -room / 2;
      high_ = left ? room / 2 : 0;
      x_ = first_guess(left ? room / 2 : -room / 2);
    }
    hold_inside();
    for (int turn = 0; turn < 200; ++turn) {
      evaluate(x_);
      if (std::abs(f_) <= 4 * kEps * (1 + size_)) break;
      (f_ < 0 ? low_ : high_) = x_;
      if (high_ - low_ <= 2 * kEps * std::max(std::abs(low_), std::abs(high_))) break;
      const double before = x_;
      x_ = turn % 8 == 7 ? low_ : stepped();  // now and then the bracket is cut, whatever the steps do
      hold_inside();
      if (std::abs(x_ - before) <= kEps * std::abs(x_)) break;
    }
    origin = origin_;
    distance = x_;
  }

 private:
  static double at(const std::vector<double>& v, Index i) { return v[static_cast<std::size_t>(i)]; }
  double gap(Index j, double x) const {
    const double near = at(d_, origin_), apart = (at(d_, j) - near) - x;
    return kind_ == Values::Eigen ? apart : apart * (at(d_, j) + near + x);
  }

  // Of the poles up to i (psi) and beyond (phi): sums and derivatives.
  void evaluate(double x) {
    double psi = 0, phi = 0, dpsi = 0, dphi = 0;
    const Index mid = std::min(i_ + 1, n_ - 1);
    const double near = at(d_, origin_);
    const bool squares = kind_ == Values::Singular;
    const auto part = [&](Index from, Index to, double& sum, double& slope) {
      double s = 0, t = 0;
      for (Index j = from; j < to; ++j) {
        const double far = at(d_, j), apart = (far - near) - x;
        const double g = squares ? apart * (far + near + x) : apart;
        const double q = at(w_, j) / g;
        s += q;
        t += q / g;
      }
      sum = s, slope = t;
    };
    part(0, mid, psi, dpsi);
    part(mid, n_, phi, dphi);
    f_ = 1 + psi + phi;
    size_ = std::abs(psi) + std::abs(phi);
    dpsi_ = dpsi, dphi_ = dphi;
  }

  // Of c t² - a t + b = 0: the one between two poles.
  static double small_root(double a, double b, double c) {
    const double inside = std::sqrt(std::max(0.0, a * a - 4 * b * c));
    return a <= 0 ? (a - inside) / (2 * c) : 2 * b / (a + inside);
  }

  // From the value in the middle of the interval, with the two poles beside it exact and the others constant.
  double first_guess(double middle) {
    evaluate(middle);
    const double g0 = gap(i_, middle), g1 = gap(i_ + 1, middle), w0 = at(w_, i_), w1 = at(w_, i_ + 1);
    const double c = f_ - w0 / g0 - w1 / g1, room = g1 - g0;
    const bool left = origin_ == i_;
    const double a = left ? c * room + w0 + w1 : w0 + w1 - c * room, b = left ? w0 * room : -w1 * room;
    return moved(0, small_root(a, b, c));
  }

  double stepped() const {
    const Index p = i_ == n_ - 1 ? i_ - 1 : i_;
    const double g0 = gap(p, x_), g1 = gap(p + 1, x_);
    const double c = f_ - g0 * dpsi_ - g1 * dphi_, a = (g0 + g1) * f_ - g0 * g1 * (dpsi_ + dphi_), b = g0 * g1 * f_;
    if (i_ < n_ - 1) return moved(x_, small_root(a, b, c));
    const double inside = std::sqrt(std::max(0.0, a * a - 4 * b * c));  // beyond both poles
    return moved(x_, a >= 0 ? (a + inside) / (2 * c) : 2 * b / (a - inside));
  }

  // `by` is a step of the argument of the function, which of Singular is the square.
  double moved(double x, double by) const {
    if (kind_ == Values::Eigen) return x + by;
    const double now = at(d_, origin_) + x;
    return x + by / (now + std::sqrt(std::max(0.0, now * now + by)));
  }

  void hold_inside() {
    if (x_ > low_ && x_ < high_) return;
    if (low_ > 0 && high_ > 4 * low_)
      x_ = std::sqrt(low_) * std::sqrt(high_);
    else if (high_ < 0 && low_ < 4 * high_)
      x_ = -std::sqrt(-low_) * std::sqrt(-high_);
    else if (low_ == 0)
      x_ = high_ / 1024;
    else if (high_ == 0)
      x_ = low_ / 1024;
    else
      x_ = low_ + (high_ - low_) / 2;
  }

  const Values kind_;
  const std::vector<double>&d_, &w_;
  const Index i_, n_;
  Index origin_ = 0;
  double x_ = 0, low_ = 0, high_ = 0;              // distances from the origin
  double f_ = 0, size_ = 0, dpsi_ = 0, dphi_ = 0;  // where it was evaluated last
};

}  // namespace

Roots secular_roots(Values kind, std::vector<double> d, std::vector<double> z, double rho, const Stop* stop) {
  const Index n = static_cast<Index>(d.size());
  const auto u = [](Index i) { return static_cast<std::size_t>(i); };
  std::vector<double> weights(u(n));
  for (Index j = 0; j < n; ++j) weights[u(j)] = rho * z[u(j)] * z[u(j)];
  Roots r{kind, std::move(d), std::move(z), std::vector<Index>(u(n)), std::vector<double>(u(n))};
  const Index grain = std::max<Index>(1, 8192 / std::max<Index>(n, 1));
  spread(
      n, grain,
      [&](Index lo, Index hi) {
        for (Index i = lo; i < hi; ++i) Search(kind, r.d, weights, i).run(r.origin[u(i)], r.distance[u(i)]);
      },
      stop);
  // z_j² as the product over the roots of (x_i - d_j), over the poles of (d_i - d_j): each root by the pole next to it.
  const auto poles_apart = [&](Index i, Index j) {
    const double apart = r.d[u(i)] - r.d[u(j)];
    return kind == Values::Eigen ? apart : apart * (r.d[u(i)] + r.d[u(j)]);
  };
  std::vector<double> again(u(n));
  spread(
      n, grain,
      [&](Index lo, Index hi) {
        for (Index j = lo; j < hi; ++j) {
          double product = -r.gap(j, n - 1);
          for (Index i = 0; i < n - 1; ++i) product *= -r.gap(j, i) / poles_apart(i < j ? i : i + 1, j);
          again[u(j)] = std::copysign(std::sqrt(std::abs(product)), r.z[u(j)]);
        }
      },
      stop);
  r.z = std::move(again);
  return r;
}

}  // namespace shard::runtime::dense
