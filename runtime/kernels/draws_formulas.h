// The formulas of samplers, once: of numbers (f32, f64) the kernels compute by them (draws.cpp), of values of
// StableHLO they are written (stdlib/ops/draws_hlo.cpp, which has the functions named below for such values). A
// choice's case in a lambda is computed where it is wanted; of values it always is.
#pragma once
#include <array>
#include <cmath>
#include <tuple>
#include <type_traits>
#include <utility>

namespace shard::runtime::drawing {

template <class T>
concept Number = std::is_floating_point_v<T>;

template <Number T>
T number(T, double x) {  // a constant in the type of the other one
  return static_cast<T>(x);
}
template <Number T>
T select(bool c, T x, T y) {
  return c ? x : y;
}
template <Number T, class F>
T select_lazily(bool c, T x, F y) {
  return c ? x : y();
}
inline bool both(bool x, bool y) { return x && y; }
inline bool either(bool x, bool y) { return x || y; }
inline bool inverted(bool x) { return !x; }
template <class F>
bool both_lazily(bool x, F y) {
  return x && y();
}
template <class F>
bool either_lazily(bool x, F y) {
  return x || y();
}
bool less(Number auto x, Number auto y) { return x < y; }
bool at_most(Number auto x, Number auto y) { return x <= y; }
bool equal(Number auto x, Number auto y) { return x == y; }
auto log_of(Number auto x) { return std::log(x); }
auto log1p_of(Number auto x) { return std::log1p(x); }
auto sqrt_of(Number auto x) { return std::sqrt(x); }
auto floor_of(Number auto x) { return std::floor(x); }
auto size_of(Number auto x) { return std::fabs(x); }
auto negated(Number auto x) { return -x; }
auto power_of(Number auto x, Number auto y) { return std::pow(x, y); }
double digamma_of(double x);  // draws.cpp
// Turn after turn while `wanted` and `turn`, which gives the next state and whether another one is, say so.
template <Number T, std::size_t N, class Turn>
std::array<T, N> repeated(bool wanted, std::array<T, N> state, int most, Turn turn) {
  for (int i = 0; wanted && i < most; ++i) std::tie(state, wanted) = turn(state);
  return state;
}

constexpr int kMostTurns = 1 << 20;  // nothing is ever drawn so often

template <class V>
using Truth = decltype(less(std::declval<V>(), std::declval<V>()));

// What a trial with two uniform numbers gives, and whether it is accepted.
template <class V>
struct Trial {
  V number;
  Truth<V> accepted;
};

// ---- Poisson numbers, f32

// log(gamma(x)), x > 0, by Lanczos' approximation in f32, as XLA rounds it: for large rates that decides what is
// accepted.
template <class V>
V lgamma_rounded(const V& x) {
  constexpr double kShares[] = {676.520368121885098567,    -1259.13921672240287047,  771.323428777653078849,
                                -176.615029162140599066,   12.5073432786869048145,   -0.138571095265720116896,
                                9.98436957801957085956e-6, 1.50563273514931155834e-7};
  const auto c = [&](double v) { return number(x, v); };
  const V z = x - c(1);
  V sum = c(0.99999999999980993);
  for (int i = 0; i < 8; ++i) sum = sum + c(kShares[i]) / (z + c(i + 1));
  const V t = c(7.5) + z, log_t = c(2.0149030205422647) + log1p_of(z / c(7.5));
  return c(0.91893853320467274) + (z + c(0.5) - t / log_t) * log_t + log_of(sum);
}

// Hörmann, "The transformed rejection method for generating Poisson random variables", 1993.
template <class V>
class PoissonTrial {
 public:
  explicit PoissonTrial(const V& rate)
      : rate_(rate),
        log_rate_(log_of(rate)),
        b_(c(0.931) + c(2.53) * sqrt_of(rate)),
        a_(c(-0.059) + c(0.02483) * b_),
        inverse_(c(1.1239) + c(1.1328) / (b_ - c(3.4))),
        bound_(c(0.9277) - c(3.6224) / (b_ - c(2))) {}
  Trial<V> at(const V& drawn, const V& v) const {
    const V u = drawn - c(0.5), us = c(0.5) - size_of(u), k = floor_of((c(2) * a_ / us + b_) * u + rate_ + c(0.43));
    const auto squeezed = [&] {
      const V have = log_of(v * inverse_ / (a_ / (us * us) + b_));
      return at_most(have, negated(rate_) + k * log_rate_ - lgamma_rounded(k + c(1)));
    };
    const auto possible = [&] {
      const auto never = either(less(k, c(0)), both(less(us, c(0.013)), less(us, v)));
      return both_lazily(inverted(never), squeezed);
    };
    return {k, either_lazily(both(at_most(c(0.07), us), at_most(v, bound_)), possible)};
  }

 private:
  V c(double x) const { return number(rate_, x); }
  V rate_, log_rate_, b_, a_, inverse_, bound_;
};

// ---- binomial numbers

constexpr double kTail[] = {0.0810614667953272,  0.0413406959554092, 0.0276779256849983, 0.02079067210376509,
                            0.0166446911898211,  0.0138761288230707, 0.0118967099458917, 0.0104112652619720,
                            0.00925546218271273, 0.00833056343336287};
template <class V>
V tail_beyond(const V& k) {  // of Stirling's formula, where kTail ends
  const auto c = [&](double v) { return number(k, v); };
  const V next = k + c(1), square = next * next;
  return (c(1.0 / 12) - (c(1.0 / 360) - c(1.0 / 1260) / square) / square) / next;
}
template <Number T>
T stirling_tail(T k) {
  return k <= 9 ? static_cast<T>(kTail[static_cast<int>(std::fmax(k, T{0}))]) : tail_beyond(k);
}

// Hörmann, "The generation of binomial random variates", 1993.
template <class V>
class BinomialTrial {
 public:
  BinomialTrial(const V& n, const V& p)
      : n_(n),
        deviation_(sqrt_of(n * p * (c(1) - p))),
        b_(c(1.15) + c(2.53) * deviation_),
        a_(c(-0.0873) + c(0.0248) * b_ + c(0.01) * p),
        c_(n * p + c(0.5)),
        bound_(c(0.92) - c(4.2) / b_),
        r_(p / (c(1) - p)),
        alpha_((c(2.83) + c(5.1) / b_) * deviation_),
        m_(floor_of((n + c(1)) * p)) {}
  Trial<V> at(const V& drawn, const V& v) const {
    const V u = drawn - c(0.5), us = c(0.5) - size_of(u), k = floor_of((c(2) * a_ / us + b_) * u + c_);
    const auto squeezed = [&] {
      const V have = log_of(v * alpha_ / (a_ / (us * us) + b_));
      const V rest = n_ - k + c(1), most_rest = n_ - m_ + c(1);
      const V most = (m_ + c(0.5)) * log_of((m_ + c(1)) / (r_ * most_rest)) + (n_ + c(1)) * log_of(most_rest / rest) +
                     (k + c(0.5)) * log_of(r_ * rest / (k + c(1))) + stirling_tail(m_) + stirling_tail(n_ - m_) -
                     stirling_tail(k) - stirling_tail(n_ - k);
      return at_most(have, most);
    };
    const auto possible = [&] { return both_lazily(inverted(either(less(k, c(0)), less(n_, k))), squeezed); };
    return {k, either_lazily(both(at_most(c(0.07), us), at_most(v, bound_)), possible)};
  }

 private:
  V c(double x) const { return number(n_, x); }
  V n_, deviation_, b_, a_, c_, bound_, r_, alpha_, m_;
};

// How a binomial number is drawn: of the rarer outcome, of these trials; of few by sums of geometric numbers.
template <class V>
struct Binomial {
  Truth<V> low, valid;
  V n, p;
  Truth<V> few;
  Binomial(const V& trials, const V& chance)
      : low(less(chance, number(chance, 0.5))),
        valid(both(at_most(number(trials, 0), trials), at_most(number(chance, 0), rarer(chance)))),
        n(floor_of(trials)),
        p(select(at_most(number(chance, 0), rarer(chance)), rarer(chance), number(chance, 0.01))),
        few(either(inverted(at_most(number(trials, 0), trials)), at_most(trials * p, number(p, 10)))) {}
  BinomialTrial<V> trial() const { return {select(few, number(n, 10000), n), select(few, number(p, 0.5), p)}; }

 private:
  V rarer(const V& chance) const { return select(low, chance, number(chance, 1) - chance); }
};

// ---- gamma numbers (Marsaglia and Tsang, "A simple method for generating gamma variables", 2000): of alpha + 1 where
// alpha is below 1

template <class V>
struct Gamma {
  V alpha;
  Truth<V> large;
  V d, c;
  explicit Gamma(const V& given)
      : alpha(given),
        large(at_most(of(1), given)),
        d(select(large, given, given + of(1)) - of(1.0 / 3)),
        c(of(1.0 / 3) / sqrt_of(d)) {}
  // Whether what was drawn, the square of a normal number, a volume and a uniform number, is not accepted.
  Truth<V> open(const V& square, const V& volume, const V& u) const {
    return both_lazily(at_most(of(1) - of(0.0331) * (square * square), u),
                       [&] { return at_most(square * of(0.5) + d * ((of(1) - volume) + log_of(volume)), log_of(u)); });
  }
  // Of the volume that was accepted; `share` gives a uniform number.
  template <class Share>
  V made(const V& volume, bool logarithm, Share share) const {
    if (!logarithm)
      return d * volume * select_lazily(large, of(1), [&] { return power_of(of(1) - share(), of(1) / alpha); });
    const V boost = select_lazily(large, of(0), [&] {
      const V drawn = log1p_of(negated(share()));
      return select(equal(drawn, of(0)), of(0), drawn * (of(1) / alpha));
    });
    return (log_of(d) + log_of(volume)) + boost;
  }

 private:
  V of(double x) const { return number(alpha, x); }
};

// The derivative of a gamma number x by alpha, f64, by the series of the incomplete gamma function, differentiated term
// by term; 0 and what is not wanted aside.
template <class V>
V slope_by_series(const V& a, const V& x, const Truth<V>& wanted) {
  const V none = number(a, 0), one = number(a, 1);
  const auto [r, term, sum, d_term, d_sum] =
      repeated(wanted, std::array{a, one, one, none, none}, 10000, [&](const std::array<V, 5>& now) {
        const auto& [r0, term0, sum0, d_term0, d_sum0] = now;
        const V next = r0 + one, step = x / next, change = d_term0 * step - term0 * x / (next * next),
                changed = d_sum0 + change, grown = term0 * step;
        const auto more = less(size_of(changed) * number(a, 1e-17), size_of(change));
        return std::pair{std::array{next, grown, sum0 + grown, change, changed}, more};
      });
  return negated(d_sum + sum * (log_of(x) - digamma_of(a + one))) * x / a;
}

// By the continued fraction of its complement.
template <class V>
V slope_by_fraction(const V& a, const V& x, const Truth<V>& wanted) {
  const V none = number(a, 0), one = number(a, 1), y0 = one - a, z0 = x + y0 + one, p0 = x + one, q0 = z0 * x;
  const V value0 = p0 / q0, slope0 = (none - value0 * negated(x)) / q0;
  using State = std::array<V, 13>;
  const State start{none, y0, z0, one, x, p0, q0, none, none, none, negated(x), value0, slope0};
  const State made = repeated(wanted, start, 2000, [&](const State& now) {
    const auto& [c0, y1, z1, p2, q2, p1, q1, d_p2, d_q2, d_p1, d_q1, value1, slope1] = now;
    const V c = c0 + one, y = y1 + one, z = z1 + number(a, 2), yc = y * c;
    const V p = p1 * z - p2 * yc, q = q1 * z - q2 * yc;
    const V d_p = d_p1 * z - p1 - d_p2 * yc + p2 * c, d_q = d_q1 * z - q1 - d_q2 * yc + q2 * c;
    const auto vanishes = equal(q, none);
    const V by = select(vanishes, one, q), value = select(vanishes, value1, p / by),
            slope = select(vanishes, slope1, (d_p - value * d_q) / by),
            change = select(vanishes, one, size_of(slope - slope1));
    const V scale = select(less(number(a, 1e15), size_of(p)), number(a, 1e-15), one);
    const State next{
        c,           y,           z,     p1 * scale, q1 * scale, p * scale, q * scale, d_p1 * scale, d_q1 * scale,
        d_p * scale, d_q * scale, value, slope};
    return std::pair{next, less(number(a, 1e-16), change)};
  });
  return (made[12] + made[11] * (log_of(x) - digamma_of(a))) * x;
}

}  // namespace shard::runtime::drawing
