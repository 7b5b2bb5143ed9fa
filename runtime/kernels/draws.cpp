#include "runtime/kernels/draws.h"

#define SHARD_ISA draws  // the vector code's functions of one number, compiled for this file
#include <algorithm>
#include <array>
#include <cmath>
#include <cstdint>
#include <limits>
#include <vector>

#include "runtime/kernels/draws_formulas.h"
#include "runtime/kernels/nest.h"
#include "runtime/kernels/spread.h"
#include "runtime/kernels/vector/functions.h"
#include "runtime/kernels/vector/loop_table.h"

namespace shard::runtime {
namespace {

using namespace drawing;

// ---- keys, uniform numbers of an element, loops over elements

struct Key {
  std::uint32_t words[2];
  bool operator==(const Key&) const = default;
};

Key hashed(const Key& key, std::uint64_t counter) {
  Key out{};
  vector_table().threefry(key.words[0], key.words[1], counter, 1, &out.words[0], &out.words[1]);
  return out;
}

// In [0, 1): the bits of element `index` behind the exponent of 1, less 1.
template <class T>
T uniform(const Key& key, std::uint64_t index = 0) {
  const Key bits = hashed(key, index);
  if constexpr (sizeof(T) == 4)
    return static_cast<float>((bits.words[0] ^ bits.words[1]) >> 9) * 0x1p-23f;
  else
    return static_cast<double>(((std::uint64_t{bits.words[0]} << 32) | bits.words[1]) >> 12) * 0x1p-52;
}

// f(offsets of each view, position in out) over all elements; `state` makes what one thread keeps between elements.
template <std::size_t N, class State, class F>
void each_element(const std::array<const View*, N>& views, const View& out, const Stop* stop, State state, F f) {
  Nest<static_cast<int>(N)> nest;
  for (std::size_t d = 0; d < out.shape.size(); ++d) {
    std::array<std::int64_t, N> step;
    for (std::size_t v = 0; v < N; ++v) step[v] = views[v]->strides[d];
    nest.add(out.shape[d], step);
  }
  if (numel(out.shape) == 0) return;
  spread(
      nest.count(nest.rank), 256,
      [&](std::int64_t lo, std::int64_t hi) {
        auto kept = state();
        Position<static_cast<int>(N)> at(nest, nest.rank, lo);
        for (std::int64_t i = lo; i < hi; ++i, at.next()) f(kept, at.offset, i);
      },
      stop);
}

template <class F>
void as_float(const View& out, F f) {
  if (out.dtype == DType::F64)
    f(double{});
  else if (out.dtype == DType::F32)
    f(float{});
  else
    throw RuntimeError("kernel", "samplers draw f32 and f64");
}

// ---- gamma numbers

template <class T>
T normal(const Key& key) {
  const T low = std::nextafter(T{-1}, T{0});
  const T u = std::max(low, uniform<T>(key) * (T{1} - low) + low);
  return static_cast<T>(1.4142135623730951) * draws::codes::ErfInv(u);
}

template <class T>
T gamma_of(Key key, T given, bool logarithm) {
  const Gamma<T> gamma(given);
  const Key boost_key = hashed(key, 1);
  key = hashed(key, 0);
  T square = 0, volume = 1, u = 2;
  for (int turn = 0; turn < kMostTurns && gamma.open(square, volume, u); ++turn) {
    Key normal_key = hashed(key, 1);
    const Key u_key = hashed(key, 2);
    key = hashed(key, 0);
    T x = 0, v = -1;
    for (int inner = 0; v <= 0 && inner < kMostTurns; ++inner) {
      x = normal<T>(hashed(normal_key, 1));
      v = 1 + x * gamma.c;
      normal_key = hashed(normal_key, 0);
    }
    square = x * x;
    volume = v * v * v;
    u = uniform<T>(u_key);
  }
  return gamma.made(volume, logarithm, [&] { return uniform<T>(boost_key); });
}

double gamma_slope(double a, double x) {
  if (x != x || a != a || x < 0 || a <= 0) return std::numeric_limits<double>::quiet_NaN();
  if (x == 0) return 0;
  return x > 1 && x > a ? slope_by_fraction(a, x, true) : slope_by_series(a, x, true);
}

// ---- Poisson and binomial numbers

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

// What turn `turn` gives to element `index`: parts 1 and 2 of its key are those of two uniform numbers.
template <class T, class Of>
Trial<T> tried(const Of& trial, Turns& turns, std::int32_t turn, std::uint64_t index) {
  const auto drawn = [&](int part) { return uniform<T>(turns.at(static_cast<std::size_t>(turn), part), index); };
  const T u = drawn(1);
  return trial.at(u, drawn(2));
}
template <class T, class Of>
std::int32_t turns_until_accepted(const Of& trial, Turns& turns, std::uint64_t index) {
  for (std::int32_t turn = 0; turn < kMostTurns; ++turn)
    if (tried<T>(trial, turns, turn, index).accepted) return turn + 1;
  return kMostTurns;
}
template <class T, class Of>
T last_accepted(const Of& trial, Turns& turns, std::int32_t of, std::uint64_t index) {
  for (std::int32_t turn = of - 1; turn >= 0; --turn)
    if (const Trial<T> t = tried<T>(trial, turns, turn, index); t.accepted) return t.number;
  return -1;
}

// ---- Poisson

std::int32_t as_count(float k) {
  return k != k ? 0 : static_cast<std::int32_t>(std::clamp(static_cast<double>(k), -2147483648.0, 2147483647.0));
}

// Products of uniform numbers, for small rates (Knuth).
std::int32_t poisson_by_products(Turns& turns, std::uint64_t index, float rate) {
  float log_product = 0;
  std::int32_t k = 0;
  for (std::size_t turn = 0; log_product > -rate && turn < kMostTurns; ++turn, ++k)
    log_product += std::log(uniform<float>(turns.at(turn, 1), index));
  return k - 1;
}

float rate_of(const View& rate, std::int64_t offset) {
  return rate.dtype == DType::F64 ? static_cast<float>(rate.as<const double>()[offset])
                                  : rate.as<const float>()[offset];
}
bool by_products(float rate) { return rate != rate || rate < 10; }

// ---- binomial

// Sums of geometric numbers, where few are expected.
template <class T>
T binomial_by_inversion(Turns& turns, std::uint64_t index, T trials, T chance) {
  const T log_rest = std::log1p(-chance);
  T count = 0, sum = 0;
  for (std::size_t turn = 0; sum <= trials && turn < kMostTurns; ++turn, count += 1)
    sum += std::ceil(std::log(uniform<T>(turns.at(turn, 0), index)) / log_rest);
  return count - 1;
}

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

double drawing::digamma_of(double x) { return draws::codes::Digamma(x); }

void draw_gamma(Views in, const View& out, bool logarithm, const Stop* stop) {
  const View &keys = in[0], &alpha = in[1];
  as_float(out, [&](auto type) {
    using T = decltype(type);
    each_element<2>(
        {&keys, &alpha}, out, stop, [] { return 0; },
        [&](int, const auto& at, std::int64_t i) {
          out.as<T>()[i] = gamma_of(keys.as<const Key>()[at[0]], alpha.as<const T>()[at[1]], logarithm);
        });
  });
}

void gamma_derivative(Views in, const View& out, bool logarithm, const Stop* stop) {
  const View &alpha = in[0], &sample = in[1];
  as_float(out, [&](auto type) {
    using T = decltype(type);
    each_element<2>(
        {&alpha, &sample}, out, stop, [] { return 0; },
        [&](int, const auto& at, std::int64_t i) {
          const double a = alpha.as<const T>()[at[0]];
          double x = sample.as<const T>()[at[1]];
          if (logarithm) x = std::max(std::exp(x), static_cast<double>(std::numeric_limits<T>::min()));
          out.as<T>()[i] = static_cast<T>(logarithm ? gamma_slope(a, x) / x : gamma_slope(a, x));
        });
  });
}

// Where products do instead, JAX tries a rate of 1e5 beside, and counts its turns.
void poisson_turns(Views in, const View& out, bool, const Stop* stop) {
  const View &key = in[0], &index = in[1], &rate = in[2];
  const auto turns = [] { return Turns(3, 0); };
  each_element<3>({&key, &index, &rate}, out, stop, turns, [&](auto& kept, const auto& at, std::int64_t i) {
    const float r = rate_of(rate, at[2]);
    kept.begin(key.as<const Key>()[at[0]]);
    out.as<std::int32_t>()[i] =
        turns_until_accepted<float>(PoissonTrial<float>(by_products(r) ? 1e5f : r), kept, element_number(index, at[1]));
  });
}

void draw_poisson(Views in, const View& out, bool, const Stop* stop) {
  const View &key = in[0], &index = in[1], &turns = in[2], &rate = in[3];
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
      made = as_count(last_accepted<float>(PoissonTrial<float>(r), kept.second, count_of(turns, at[2]), n));
  });
}

void binomial_turns(Views in, const View& out, bool, const Stop* stop) {
  const View &key = in[0], &index = in[1], &trials = in[2], &chance = in[3];
  const auto turns = [] { return Turns(3, 0); };
  as_float(trials, [&](auto type) {
    using T = decltype(type);
    each_element<4>(
        {&key, &index, &trials, &chance}, out, stop, turns, [&](auto& kept, const auto& at, std::int64_t i) {
          kept.begin(key.as<const Key>()[at[0]]);
          const Binomial<T> how(trials.as<const T>()[at[2]], chance.as<const T>()[at[3]]);
          out.as<std::int32_t>()[i] = turns_until_accepted<T>(how.trial(), kept, element_number(index, at[1]));
        });
  });
}

void draw_binomial(Views in, const View& out, bool, const Stop* stop) {
  const View &key = in[0], &index = in[1], &turns = in[2], &trials = in[3], &chance = in[4];
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

#undef SHARD_ISA
