// Poisson and binomial numbers.
#include <algorithm>
#include <cmath>
#include <limits>
#include <optional>

#include "runtime/kernels/draws_parts.h"

namespace shard::runtime {
namespace {

using namespace drawing;

// The keys that a loop over a whole array splits off, turn by turn: equal for all elements, so made once.
class Turns {
 public:
  Turns(int parts, int next) : parts_(parts), next_(next) {}
  void begin(const Key& key) {
    if (!made_.empty() && key == first_) return;
    first_ = last_ = key;
    made_.clear();
  }
  // Part `part` of turn `turn`; the part `next` is what the following turn splits.
  const Key& at(std::size_t turn, int part) {
    while (made_.size() <= turn * static_cast<std::size_t>(parts_)) {
      for (int i = 0; i < parts_; ++i) made_.push_back(hashed(last_, static_cast<std::uint64_t>(i)));
      last_ = made_[made_.size() - static_cast<std::size_t>(parts_ - next_)];
    }
    return made_[turn * static_cast<std::size_t>(parts_) + static_cast<std::size_t>(part)];
  }

 private:
  int parts_, next_;
  Key first_{}, last_{};
  std::vector<Key> made_;
};

std::uint64_t element_number(const View& index, std::int64_t offset) {
  return static_cast<std::uint64_t>(index.dtype == DType::I64 ? index.as<const std::int64_t>()[offset]
                                                              : index.as<const std::int32_t>()[offset]);
}

std::int32_t count_of(const View& turns, std::int64_t offset) {
  return static_cast<std::int32_t>(std::min(element_number(turns, offset), std::uint64_t{INT32_MAX}));
}

// ---- what is drawn until it is accepted. jax.random goes on with a whole array until each element was accepted once,
// and keeps of each element the last number that was: so the turns of the whole array come first.

template <class Trial>
std::int32_t turns_until_accepted(const Trial& trial, Turns& turns, std::uint64_t index) {
  for (std::int32_t turn = 0; turn < kMostTurns; ++turn)
    if (trial.at(turns, static_cast<std::size_t>(turn), index)) return turn + 1;
  return kMostTurns;
}
template <class T, class Trial>
T last_accepted(const Trial& trial, Turns& turns, std::int32_t of, std::uint64_t index) {
  for (std::int32_t turn = of - 1; turn >= 0; --turn)
    if (const std::optional<T> k = trial.at(turns, static_cast<std::size_t>(turn), index)) return *k;
  return -1;
}

// ---- Poisson

std::int32_t as_count(float k) {
  return k != k ? 0 : static_cast<std::int32_t>(std::clamp(static_cast<double>(k), -2147483648.0, 2147483647.0));
}

// log(gamma(x)), x > 0, by Lanczos' approximation in f32, as XLA rounds it: for large rates that decides what is
// accepted.
float lgamma_rounded(float x) {
  constexpr float kShares[] = {676.520368121885098567f,    -1259.13921672240287047f,  771.323428777653078849f,
                               -176.615029162140599066f,   12.5073432786869048145f,   -0.138571095265720116896f,
                               9.98436957801957085956e-6f, 1.50563273514931155834e-7f};
  const float z = x - 1;
  float sum = 0.99999999999980993f;
  for (int i = 0; i < 8; ++i) sum += kShares[i] / (z + static_cast<float>(i + 1));
  const float t = 7.5f + z, log_t = 2.0149030205422647f + std::log1p(z / 7.5f);
  return 0.91893853320467274f + (z + 0.5f - t / log_t) * log_t + std::log(sum);
}

// Products of uniform numbers, for small rates (Knuth).
std::int32_t poisson_by_products(Turns& turns, std::uint64_t index, float rate) {
  float log_product = 0;
  std::int32_t k = 0;
  for (std::size_t turn = 0; log_product > -rate && turn < kMostTurns; ++turn, ++k)
    log_product += std::log(uniform<float>(turns.at(turn, 1), index));
  return k - 1;
}

// Hörmann, "The transformed rejection method for generating Poisson random variables", 1993.
class PoissonTrial {
 public:
  explicit PoissonTrial(float rate)
      : rate_(rate),
        log_rate_(std::log(rate)),
        b_(0.931f + 2.53f * std::sqrt(rate)),
        a_(-0.059f + 0.02483f * b_),
        inverse_(1.1239f + 1.1328f / (b_ - 3.4f)),
        bound_(0.9277f - 3.6224f / (b_ - 2)) {}
  std::optional<float> at(Turns& turns, std::size_t turn, std::uint64_t index) const {
    const float u = uniform<float>(turns.at(turn, 1), index) - 0.5f, v = uniform<float>(turns.at(turn, 2), index),
                us = 0.5f - std::fabs(u), k = std::floor((2 * a_ / us + b_) * u + rate_ + 0.43f);
    if (us >= 0.07f && v <= bound_) return k;
    if (k < 0 || (us < 0.013f && v > us)) return {};
    const float have = std::log(v * inverse_ / (a_ / (us * us) + b_)),
                most = -rate_ + k * log_rate_ - lgamma_rounded(k + 1);
    return have <= most ? std::optional(k) : std::nullopt;
  }

 private:
  float rate_, log_rate_, b_, a_, inverse_, bound_;
};

float rate_of(const View& rate, std::int64_t offset) {
  return rate.dtype == DType::F64 ? static_cast<float>(rate.as<const double>()[offset])
                                  : rate.as<const float>()[offset];
}
bool by_products(float rate) { return rate != rate || rate < 10; }

// ---- binomial

template <class T>
T stirling_tail(T k) {
  constexpr double kTail[] = {0.0810614667953272,  0.0413406959554092, 0.0276779256849983, 0.02079067210376509,
                              0.0166446911898211,  0.0138761288230707, 0.0118967099458917, 0.0104112652619720,
                              0.00925546218271273, 0.00833056343336287};
  if (k <= 9) return static_cast<T>(kTail[static_cast<int>(std::floor(std::clamp(k, T{0}, T{9})))]);
  const T next = k + 1, square = next * next;
  return (static_cast<T>(1.0 / 12) - (static_cast<T>(1.0 / 360) - static_cast<T>(1.0 / 1260) / square) / square) / next;
}

// Sums of geometric numbers, where few are expected.
template <class T>
T binomial_by_inversion(Turns& turns, std::uint64_t index, T trials, T chance) {
  const T log_rest = std::log1p(-chance);
  T count = 0, sum = 0;
  for (std::size_t turn = 0; sum <= trials && turn < kMostTurns; ++turn, count += 1)
    sum += std::ceil(std::log(uniform<T>(turns.at(turn, 0), index)) / log_rest);
  return count - 1;
}

// Hörmann, "The generation of binomial random variates", 1993.
template <class T>
class BinomialTrial {
 public:
  BinomialTrial(T n, T p)
      : n_(n),
        deviation_(std::sqrt(n * p * (1 - p))),
        b_(number(1.15) + number(2.53) * deviation_),
        a_(number(-0.0873) + number(0.0248) * b_ + number(0.01) * p),
        c_(n * p + number(0.5)),
        bound_(number(0.92) - number(4.2) / b_),
        r_(p / (1 - p)),
        alpha_((number(2.83) + number(5.1) / b_) * deviation_),
        m_(std::floor((n + 1) * p)) {}
  std::optional<T> at(Turns& turns, std::size_t turn, std::uint64_t index) const {
    const T u = uniform<T>(turns.at(turn, 1), index) - number(0.5), v = uniform<T>(turns.at(turn, 2), index),
            us = number(0.5) - std::fabs(u), k = std::floor((2 * a_ / us + b_) * u + c_);
    if (us >= number(0.07) && v <= bound_) return k;
    if (k < 0 || k > n_) return {};
    const T have = std::log(v * alpha_ / (a_ / (us * us) + b_));
    const T most = (m_ + number(0.5)) * std::log((m_ + 1) / (r_ * (n_ - m_ + 1))) +
                   (n_ + 1) * std::log((n_ - m_ + 1) / (n_ - k + 1)) +
                   (k + number(0.5)) * std::log(r_ * (n_ - k + 1) / (k + 1)) + stirling_tail(m_) +
                   stirling_tail(n_ - m_) - stirling_tail(k) - stirling_tail(n_ - k);
    return have <= most ? std::optional(k) : std::nullopt;
  }

 private:
  static T number(double x) { return static_cast<T>(x); }
  T n_, deviation_, b_, a_, c_, bound_, r_, alpha_, m_;
};

// How a binomial number is drawn: of the rarer outcome, of these trials.
template <class T>
struct Binomial {
  bool low, valid;
  T n, p;
  bool few;
  Binomial(T given, T chance) : low(chance < static_cast<T>(0.5)), n(std::floor(given)), p(low ? chance : 1 - chance) {
    const bool trials = given >= 0, odds = p >= 0;
    valid = trials && odds;
    if (!odds) p = static_cast<T>(0.01);
    few = !trials || given * p <= 10;
  }
  BinomialTrial<T> trial() const { return few ? BinomialTrial<T>(10000, static_cast<T>(0.5)) : BinomialTrial<T>(n, p); }
};

template <class T>
T binomial_of(Turns& two, Turns& three, std::int32_t turns, std::uint64_t index, T given, T chance) {
  const Binomial<T> how(given, chance);
  if (!how.valid) return std::numeric_limits<T>::quiet_NaN();
  if (std::isinf(given)) return given;
  const T drawn =
      how.few ? binomial_by_inversion(two, index, how.n, how.p) : last_accepted<T>(how.trial(), three, turns, index);
  return how.low ? drawn : how.n - drawn;
}

}  // namespace

// Where products do instead, JAX tries a rate of 1e5 beside, and counts its turns.
void poisson_turns(const View& key, const View& index, const View& rate, const View& out, const Stop* stop) {
  const auto turns = [] { return Turns(3, 0); };
  each_element<3>({&key, &index, &rate}, out, stop, turns, [&](auto& kept, const auto& at, std::int64_t i) {
    const float r = rate_of(rate, at[2]);
    kept.begin(key.as<const Key>()[at[0]]);
    out.as<std::int32_t>()[i] =
        turns_until_accepted(PoissonTrial(by_products(r) ? 1e5f : r), kept, element_number(index, at[1]));
  });
}

void draw_poisson(const View& key, const View& index, const View& turns, const View& rate, const View& out,
                  const Stop* stop) {
  const auto both = [] { return std::pair{Turns(2, 0), Turns(3, 0)}; };
  each_element<4>({&key, &index, &turns, &rate}, out, stop, both, [&](auto& kept, const auto& at, std::int64_t i) {
    const float r = rate_of(rate, at[3]);
    const std::uint64_t n = element_number(index, at[1]);
    std::int32_t& made = out.as<std::int32_t>()[i];
    kept.first.begin(key.as<const Key>()[at[0]]);
    kept.second.begin(key.as<const Key>()[at[0]]);
    if (r == 0)
      made = 0;
    else if (by_products(r))
      made = poisson_by_products(kept.first, n, r);
    else
      made = as_count(last_accepted<float>(PoissonTrial(r), kept.second, count_of(turns, at[2]), n));
  });
}

void binomial_turns(const View& key, const View& index, const View& trials, const View& chance, const View& out,
                    const Stop* stop) {
  const auto turns = [] { return Turns(3, 0); };
  as_float(trials, [&](auto type) {
    using T = decltype(type);
    each_element<4>({&key, &index, &trials, &chance}, out, stop, turns,
                    [&](auto& kept, const auto& at, std::int64_t i) {
                      kept.begin(key.as<const Key>()[at[0]]);
                      const Binomial<T> how(trials.as<const T>()[at[2]], chance.as<const T>()[at[3]]);
                      out.as<std::int32_t>()[i] = turns_until_accepted(how.trial(), kept, element_number(index, at[1]));
                    });
  });
}

void draw_binomial(const View& key, const View& index, const View& turns, const View& trials, const View& chance,
                   const View& out, const Stop* stop) {
  const auto both = [] { return std::pair{Turns(2, 1), Turns(3, 0)}; };
  as_float(out, [&](auto type) {
    using T = decltype(type);
    each_element<5>(
        {&key, &index, &turns, &trials, &chance}, out, stop, both, [&](auto& kept, const auto& at, std::int64_t i) {
          kept.first.begin(key.as<const Key>()[at[0]]);
          kept.second.begin(key.as<const Key>()[at[0]]);
          out.as<T>()[i] = binomial_of(kept.first, kept.second, count_of(turns, at[2]), element_number(index, at[1]),
                                       trials.as<const T>()[at[3]], chance.as<const T>()[at[4]]);
        });
  });
}

}  // namespace shard::runtime
