// Gamma, Poisson and binomial numbers as StableHLO: the loops of runtime/kernels/draws.cpp over all elements at once,
// by the formulas that they share (draws_formulas.h). A loop goes on for as long as one element is not done, and leaves
// those that are as they are. The keys of the turns are split off one after the other, equal for all elements of an
// array.
#include <cmath>
#include <limits>

#include "runtime/kernels/draws_formulas.h"
#include "stdlib/ops/hlo.h"

// What the formulas of draws_formulas.h ask of their numbers.
namespace shard::hlo {

static Value number(const Value& like, double x) {  // as it is in the type of the numbers
  return like.number(like.dtype == DType::F64 ? x : static_cast<double>(static_cast<float>(x)));
}
static Value inverted(const Value& x) { return unary("not", x); }
template <class F>
static Value select_lazily(const Value& c, const Value& x, F y) {
  return select(c, x, y());
}
template <class F>
static Value both_lazily(const Value& x, F y) {
  return both(x, y());
}
template <class F>
static Value either_lazily(const Value& x, F y) {
  return either(x, y());
}
static Value less(const Value& x, const Value& y) { return compare(x, y, "LT"); }
static Value at_most(const Value& x, const Value& y) { return compare(x, y, "LE"); }
static Value equal(const Value& x, const Value& y) { return compare(x, y, "EQ"); }
static Value log_of(const Value& x) { return unary("log", x); }
static Value log1p_of(const Value& x) { return unary("log_plus_one", x); }
static Value sqrt_of(const Value& x) { return unary("sqrt", x); }
static Value floor_of(const Value& x) { return unary("floor", x); }
static Value size_of(const Value& x) { return unary("abs", x); }
static Value negated(const Value& x) { return unary("negate", x); }
static Value power_of(const Value& x, const Value& y) { return binary("power", x, y); }
static Value digamma_of(const Value& x) { return of_code(runtime::Code::Digamma, {&x, 1}, x.dtype); }
static Value stirling_tail(const Value& k) {
  using namespace runtime::drawing;
  Value out = tail_beyond(k);
  for (int i = 9; i >= 0; --i)
    out = select(i == 9 ? at_most(k, k.number(9)) : less(k, i + 1), number(k, kTail[i]), out);
  return out;
}
static Value any(const Value& x) { return reduced(x, runtime::Reduce::Or, stdlib::leading(x.rank())); }
// The next values where `active`, else those that there are.
static Values where(const Value& active, const Values& next, const Values& now) {
  Values out;
  for (std::size_t i = 0; i < now.size(); ++i) out.push_back(select(active, next[i], now[i]));
  return out;
}
// Of all elements at once: until none wants another turn, and those that do not stay as they are.
template <std::size_t N, class Turn>
static std::array<Value, N> repeated(const Value& wanted, const std::array<Value, N>& state, int most, Turn turn) {
  const auto after = [](const Values& v, std::size_t first) {
    return [&]<std::size_t... I>(std::index_sequence<I...>) { return std::array<Value, N>{v[first + I]...}; }
    (std::make_index_sequence<N>());
  };
  Values start{wanted.to->constant(DType::I32, {}, 0), wanted};
  start.insert(start.end(), state.begin(), state.end());
  const Values made = repeated(
      *wanted.to, start, [&](const Values& now) { return both(any(now[1]), less(now[0], most)); },
      [&](const Values& now) {
        const auto [next, more] = turn(after(now, 2));
        Values turned{both(now[1], more)};
        turned.insert(turned.end(), next.begin(), next.end());
        turned = where(now[1], turned, {now.begin() + 1, now.end()});
        turned.insert(turned.begin(), now[0] + 1);
        return turned;
      });
  return after(made, 2);
}

}  // namespace shard::hlo

namespace shard::stdlib::drawing {
namespace {

using hlo::Value;
using hlo::Values;
using runtime::drawing::kMostTurns;

Words keys_over(const hlo::Value& key, const Shape& shape) {
  return words_of(hlo::broadcast(key, shape), shape, leading(static_cast<std::int64_t>(shape.size())));
}
Words hashed(const Words& key, int part) { return threefry(key, {key.first.number(0), key.first.number(part)}); }
// In [0, 1): the bits of this counter behind the exponent of 1, less 1.
hlo::Value uniform(const Words& key, const Words& counter, DType dtype) {
  const Words bits = threefry(key, counter);
  if (dtype != DType::F64) {
    const hlo::Value word = hlo::binary("xor", bits.first, bits.second);
    return hlo::convert(hlo::binary("shift_right_logical", word, word.number(9)), dtype) * 0x1p-23;
  }
  const hlo::Value high = hlo::convert(bits.first, DType::U64), low = hlo::convert(bits.second, DType::U64);
  const hlo::Value word = hlo::either(hlo::binary("shift_left", high, high.number(32)), low);
  return hlo::convert(hlo::binary("shift_right_logical", word, word.number(12)), dtype) * 0x1p-52;
}
hlo::Value uniform(const Words& key, DType dtype) {
  return uniform(key, {key.first.number(0), key.first.number(0)}, dtype);
}

// ---- gamma numbers

Value normal(const Words& key, DType dtype) {
  const double low = dtype == DType::F64 ? std::nextafter(-1.0, 0.0) : std::nextafter(-1.0F, 0.0F);
  const Value drawn = uniform(key, dtype), least = drawn.number(low);
  const Value u = hlo::binary("maximum", least, drawn * (drawn.number(1) - least) + least);
  const Value of[] = {u};
  return hlo::of_code(runtime::Code::ErfInv, of, dtype) * 1.4142135623730951;
}

// Normal numbers until 1 + c x is positive: x and that. Gives v = 1 where not `active`.
struct Positive {
  Value x, v;
};
Positive positive_normal(const Words& key, const Value& c, const Value& active) {
  const Values start{key.first, key.second, c.number(0), hlo::select(active, c.number(-1), c.number(1))};
  const auto open = [](const Values& now) { return hlo::compare(now[3], now[3].number(0), "LE"); };
  const Values made = hlo::repeated(
      *c.to, start, [&](const Values& now) { return hlo::any(open(now)); },
      [&](const Values& now) {
        const Words at{now[0], now[1]}, next = hashed(at, 0);
        const Value x = normal(hashed(at, 1), c.dtype);
        return hlo::where(open(now), {next.first, next.second, x, x * c + 1}, now);
      });
  return {made[2], made[3]};
}

// The volume that is accepted (runtime/kernels/draws.cpp).
Value volume_accepted(const Words& keys, const runtime::drawing::Gamma<Value>& gamma) {
  const Value& d = gamma.d;
  const Words first = hashed(keys, 0);
  const Values start{
      d.to->constant(DType::I32, {}, 0), first.first, first.second, d.number(0), d.number(1), d.number(2)};
  // turn, key (2), x * x, volume, u
  const auto open = [&](const Values& now) { return gamma.open(now[3], now[4], now[5]); };
  const Values made = hlo::repeated(
      *d.to, start, [&](const Values& now) { return hlo::both(hlo::any(open(now)), hlo::less(now[0], kMostTurns)); },
      [&](const Values& now) {
        const Words key{now[1], now[2]}, next = hashed(key, 0);
        const Value active = open(now);
        const auto [x, v] = positive_normal(hashed(key, 1), gamma.c, active);
        Values after = hlo::where(active, {next.first, next.second, x * x, v * v * v, uniform(hashed(key, 2), d.dtype)},
                                  {now.begin() + 1, now.end()});
        after.insert(after.begin(), now[0] + 1);
        return after;
      });
  return made[4];
}

}  // namespace

hlo::Values gamma_hlo(const hlo::Use& u) {
  const Shape& shape = u.out[0].shape;
  const Words keys = keys_over(u.in[0], shape);
  const runtime::drawing::Gamma<Value> gamma(hlo::broadcast(u.in[1], shape));
  const Value volume = volume_accepted(keys, gamma);
  return {gamma.made(volume, flag_or(u.attrs, "log", false), [&] { return uniform(hashed(keys, 1), u.out[0].dtype); })};
}

// In f64, as the kernel computes it. Where an element goes another way it goes along with numbers that end at once.
hlo::Values gamma_slope_hlo(const hlo::Use& u) {
  const Shape& shape = u.out[0].shape;
  const DType t = u.out[0].dtype;
  const bool logarithm = flag_or(u.attrs, "log", false);
  const Value a = hlo::convert(hlo::broadcast(u.in[0], shape), DType::F64),
              given = hlo::convert(hlo::broadcast(u.in[1], shape), DType::F64);
  const double least = t == DType::F64 ? std::numeric_limits<double>::min() : std::numeric_limits<float>::min();
  const Value x = logarithm ? hlo::binary("maximum", hlo::unary("exponential", given), given.number(least)) : given;
  const Value valid = hlo::both(hlo::at_most(x.number(0), x), hlo::less(a.number(0), a));
  const Value far = hlo::both(hlo::both(hlo::less(x.number(1), x), hlo::less(a, x)), valid),
              near = hlo::both(hlo::both(hlo::inverted(far), hlo::less(x.number(0), x)), valid);
  const auto safe = [](const Value& chosen, const Value& v, double otherwise) {
    return hlo::select(chosen, v, v.number(otherwise));
  };
  const Value by_fraction = runtime::drawing::slope_by_fraction(safe(far, a, 1), safe(far, x, 2), far),
              by_series = runtime::drawing::slope_by_series(safe(near, a, 1), safe(near, x, 0.5), near);
  Value slope = hlo::select(far, by_fraction, hlo::select(near, by_series, x.number(0)));
  slope = hlo::select(valid, slope, x.number(std::nan("")));
  return {hlo::convert(logarithm ? slope / x : slope, t)};
}

// ---- Poisson and binomial numbers

namespace {

using PoissonTrial = runtime::drawing::PoissonTrial<Value>;
using Binomial = runtime::drawing::Binomial<Value>;
using Trial = runtime::drawing::Trial<Value>;

// The number of an element in its array, as the counter of its bits.
Words counter_of(const Value& index, const Shape& shape) {
  const Value i = hlo::convert(hlo::broadcast(index, shape), DType::U64);
  return {hlo::convert(hlo::binary("shift_right_logical", i, i.number(32)), DType::U32),
          hlo::convert(hlo::binary("and", i, i.number(0xFFFFFFFF)), DType::U32)};
}

// How often a trial is made until it is accepted, i32: parts 1 and 2 of the key of a turn, the next one is part 0.
template <class Of>
Value turns_of(const Words& keys, const Words& counter, DType t, const Of& trial) {
  hlo::Writer& to = *keys.first.to;
  const Value none = to.constant(DType::I32, keys.first.shape, 0);
  const Values start{to.constant(DType::I32, {}, 0), keys.first, keys.second, hlo::compare(none, none, "EQ"), none};
  const Values made = hlo::repeated(
      to, start, [&](const Values& now) { return hlo::both(hlo::any(now[3]), hlo::less(now[0], kMostTurns)); },
      [&](const Values& now) -> Values {
        const Words key{now[1], now[2]}, next = hashed(key, 0);
        const Trial tried = trial.at(uniform(hashed(key, 1), counter, t), uniform(hashed(key, 2), counter, t));
        const Value counted = hlo::select(now[3], now[4] + 1, now[4]);
        return {now[0] + 1, next.first, next.second, hlo::both(now[3], hlo::inverted(tried.accepted)), counted};
      });
  return made[4];
}

// The last number that was accepted in so many turns; -1 where none was.
template <class Of>
Value last_of(const Words& keys, const Words& counter, const Value& turns, DType t, const Of& trial) {
  hlo::Writer& to = *keys.first.to;
  const Value first = to.constant(DType::I32, {}, 0);
  const Values start{first, keys.first, keys.second, to.constant(t, keys.first.shape, -1)};
  const auto open = [&](const Values& now) { return hlo::compare(hlo::broadcast(now[0], turns.shape), turns, "LT"); };
  const Values made = hlo::repeated(
      to, start, [&](const Values& now) { return hlo::any(open(now)); },
      [&](const Values& now) -> Values {
        const Words key{now[1], now[2]}, next = hashed(key, 0);
        const Trial tried = trial.at(uniform(hashed(key, 1), counter, t), uniform(hashed(key, 2), counter, t));
        return {now[0] + 1, next.first, next.second,
                hlo::select(hlo::both(open(now), tried.accepted), tried.number, now[3])};
      });
  return made[3];
}

// Adds `term` of a uniform number turn after turn while what was added says `open`; gives how often, less one. Of a
// turn's key `drawn` is the part with the number and `next` that of the next turn.
template <class Open, class Term>
Value counted(const Words& keys, const Words& counter, const Value& like, int drawn, int next, Open open, Term term) {
  hlo::Writer& to = *like.to;
  const Values start{to.constant(DType::I32, {}, 0), keys.first, keys.second, like.number(0), like.number(0)};
  const Values made = hlo::repeated(
      to, start, [&](const Values& now) { return hlo::both(hlo::any(open(now[3])), hlo::less(now[0], kMostTurns)); },
      [&](const Values& now) -> Values {
        const Words key{now[1], now[2]}, after = hashed(key, next);
        const Values here =
            hlo::where(open(now[3]), {now[3] + term(uniform(hashed(key, drawn), counter, like.dtype)), now[4] + 1},
                       {now[3], now[4]});
        return {now[0] + 1, after.first, after.second, here[0], here[1]};
      });
  return made[4] - 1;
}

struct Rate {
  Value rate, small;  // f32; by products of uniform numbers (Knuth), or nan
  Value tried() const { return hlo::select(small, rate.number(1e5), rate); }
};
Rate rate_of(const Value& given, const Shape& shape) {
  const Value rate = hlo::convert(hlo::broadcast(given, shape), DType::F32);
  return {rate, hlo::inverted(hlo::at_most(rate.number(10), rate))};
}

Value count_of(const Value& turns, const Shape& shape) {
  const Value all = hlo::broadcast(turns, shape);
  return hlo::convert(hlo::binary("minimum", all, all.to->integer(all.dtype, shape, INT32_MAX)), DType::I32);
}

}  // namespace

hlo::Values poisson_turns_hlo(const hlo::Use& u) {
  const Shape& shape = u.out[0].shape;
  const Rate rate = rate_of(u.in[2], shape);
  return {turns_of(keys_over(u.in[0], shape), counter_of(u.in[1], shape), DType::F32, PoissonTrial(rate.tried()))};
}

hlo::Values poisson_hlo(const hlo::Use& u) {
  const Shape& shape = u.out[0].shape;
  const Rate rate = rate_of(u.in[3], shape);
  const Words keys = keys_over(u.in[0], shape), counter = counter_of(u.in[1], shape);
  const Value turns = hlo::select(rate.small, u.to.constant(DType::I32, shape, 0), count_of(u.in[2], shape));
  const Value drawn = last_of(keys, counter, turns, DType::F32, PoissonTrial(rate.tried()));
  const Value least = hlo::select(rate.small, hlo::unary("negate", rate.rate), rate.rate.number(1));
  const Value few = counted(
      keys, counter, rate.rate, 1, 0, [&](const Value& sum) { return hlo::less(least, sum); }, hlo::log_of);
  const Value k = hlo::select(rate.small, few, drawn);
  const auto whole = [&](std::int64_t n) { return u.to.integer(DType::I32, shape, n); };
  Value out = hlo::select(hlo::at_most(k.number(0x1p31), k), whole(INT32_MAX),
                          hlo::convert(hlo::select(hlo::less(k, 0x1p31), k, k.number(0)), DType::I32));
  return {hlo::select(hlo::compare(rate.rate, rate.rate.number(0), "EQ"), whole(0), out)};
}

hlo::Values binomial_turns_hlo(const hlo::Use& u) {
  const Shape& shape = u.out[0].shape;
  const Binomial how(hlo::broadcast(u.in[2], shape), hlo::broadcast(u.in[3], shape));
  return {turns_of(keys_over(u.in[0], shape), counter_of(u.in[1], shape), how.n.dtype, how.trial())};
}

hlo::Values binomial_hlo(const hlo::Use& u) {
  const Shape& shape = u.out[0].shape;
  const Value given = hlo::broadcast(u.in[3], shape), chance = hlo::broadcast(u.in[4], shape);
  const Binomial how(given, chance);
  const Words keys = keys_over(u.in[0], shape), counter = counter_of(u.in[1], shape);
  const Value endless = hlo::compare(given, given.number(HUGE_VAL), "EQ");
  const Value turns = hlo::select(how.few, u.to.constant(DType::I32, shape, 0), count_of(u.in[2], shape));
  const Value tried = last_of(keys, counter, turns, given.dtype, how.trial());
  const Value log_rest = hlo::log1p_of(hlo::unary("negate", how.p));
  const Value most =
      hlo::select(hlo::both(how.few, hlo::both(how.valid, hlo::inverted(endless))), how.n, how.n.number(-1));
  const Value few = counted(  // sums of geometric numbers
      keys, counter, given, 0, 1, [&](const Value& sum) { return hlo::compare(sum, most, "LE"); },
      [&](const Value& drawn) { return hlo::unary("ceil", hlo::log_of(drawn) / log_rest); });
  const Value drawn = hlo::select(how.few, few, tried);
  const Value out = hlo::select(endless, given, hlo::select(how.low, drawn, how.n - drawn));
  return {hlo::select(how.valid, out, given.number(std::numeric_limits<double>::quiet_NaN()))};
}

}  // namespace shard::stdlib::drawing
