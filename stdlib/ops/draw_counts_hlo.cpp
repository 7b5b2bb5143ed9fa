// Poisson and binomial numbers as StableHLO: the loops of runtime/kernels/draws_counts.cpp over all elements at once.
// The keys of the turns are split off one after the other, equal for all elements of an array.
#include <cmath>
#include <limits>

#include "stdlib/ops/draws_hlo.h"

namespace shard::stdlib::drawing {
namespace {

Value f_log(const Value& x) { return hlo::unary("log", x); }
Value f_log1p(const Value& x) { return hlo::unary("log_plus_one", x); }
Value f_floor(const Value& x) { return hlo::unary("floor", x); }
Value f_abs(const Value& x) { return hlo::unary("abs", x); }
Value f_sqrt(const Value& x) { return hlo::unary("sqrt", x); }

// As it is in the type of the numbers.
double rounded(DType t, double x) { return t == DType::F64 ? x : static_cast<double>(static_cast<float>(x)); }

// The number of an element in its array, as the counter of its bits.
Words counter_of(const Value& index, const Shape& shape) {
  const Value i = hlo::convert(hlo::broadcast(index, shape), DType::U64);
  return {hlo::convert(hlo::binary("shift_right_logical", i, i.number(32)), DType::U32),
          hlo::convert(hlo::binary("and", i, i.number(0xFFFFFFFF)), DType::U32)};
}

// What a trial with u and v gives, and whether it is accepted.
struct Trial {
  Value number, accepted;
};

// Hörmann, "The transformed rejection method for generating Poisson random variables", 1993.
class PoissonTrial {
 public:
  explicit PoissonTrial(const Value& rate)
      : rate_(rate),
        log_rate_(f_log(rate)),
        b_(f_sqrt(rate) * 2.53F + 0.931F),
        a_(b_ * 0.02483F + -0.059F),
        inverse_(rate.number(1.1328F) / (b_ - 3.4F) + 1.1239F),
        bound_(rate.number(0.9277F) - rate.number(3.6224F) / (b_ - 2)) {}
  Trial at(const Value& given_u, const Value& v) const {
    const Value u = given_u - 0.5, us = u.number(0.5) - f_abs(u);
    const Value k = f_floor((a_ * 2 / us + b_) * u + rate_ + 0.43F);
    const Value at_once = hlo::both(at_least(us, us.number(0.07F)), hlo::compare(v, bound_, "LE"));
    const Value never = hlo::either(hlo::less(k, 0), hlo::both(hlo::less(us, 0.013F), above(v, us)));
    const Value have = f_log(v * inverse_ / (a_ / (us * us) + b_)),
                most = hlo::unary("negate", rate_) + k * log_rate_ - lgamma_rounded(k + 1);
    return {k, hlo::either(at_once, hlo::both(inverted(never), hlo::compare(have, most, "LE")))};
  }

 private:
  // log(gamma(x)), x > 0, by Lanczos' approximation in f32: for large rates its rounding decides what is accepted.
  static Value lgamma_rounded(const Value& x) {
    constexpr float kShares[] = {676.520368121885098567f,    -1259.13921672240287047f,  771.323428777653078849f,
                                 -176.615029162140599066f,   12.5073432786869048145f,   -0.138571095265720116896f,
                                 9.98436957801957085956e-6f, 1.50563273514931155834e-7f};
    const Value z = x - 1;
    Value sum = x.number(0.99999999999980993F);
    for (int i = 0; i < 8; ++i) sum = sum + x.number(kShares[i]) / (z + (i + 1));
    const Value t = z + 7.5, log_t = f_log1p(z / 7.5) + 2.0149030205422647F;
    return (z + 0.5 - t / log_t) * log_t + 0.91893853320467274F + f_log(sum);
  }
  Value rate_, log_rate_, b_, a_, inverse_, bound_;
};

// Hörmann, "The generation of binomial random variates", 1993.
class BinomialTrial {
 public:
  BinomialTrial(const Value& n, const Value& p)
      : n_(n),
        deviation_(f_sqrt(n * p * (p.number(1) - p))),
        b_(deviation_ * of(2.53) + of(1.15)),
        a_(b_ * of(0.0248) + of(-0.0873) + p * of(0.01)),
        c_(n * p + 0.5),
        bound_(n.number(of(0.92)) - n.number(of(4.2)) / b_),
        r_(p / (p.number(1) - p)),
        alpha_((n.number(of(5.1)) / b_ + of(2.83)) * deviation_),
        m_(f_floor((n + 1) * p)) {}
  Trial at(const Value& given_u, const Value& v) const {
    const Value u = given_u - 0.5, us = u.number(0.5) - f_abs(u), k = f_floor((a_ * 2 / us + b_) * u + c_);
    const Value at_once = hlo::both(at_least(us, us.number(of(0.07))), hlo::compare(v, bound_, "LE"));
    const Value never = hlo::either(hlo::less(k, 0), above(k, n_));
    const Value have = f_log(v * alpha_ / (a_ / (us * us) + b_));
    const Value rest = n_ - k + 1, most_rest = n_ - m_ + 1;
    const Value most = (m_ + 0.5) * f_log((m_ + 1) / (r_ * most_rest)) + (n_ + 1) * f_log(most_rest / rest) +
                       (k + 0.5) * f_log(r_ * rest / (k + 1)) + tail(m_) + tail(n_ - m_) - tail(k) - tail(n_ - k);
    return {k, hlo::either(at_once, hlo::both(inverted(never), hlo::compare(have, most, "LE")))};
  }

 private:
  double of(double x) const { return rounded(n_.dtype, x); }
  static Value tail(const Value& k) {  // of Stirling's formula
    constexpr double kTail[] = {0.0810614667953272,  0.0413406959554092, 0.0276779256849983, 0.02079067210376509,
                                0.0166446911898211,  0.0138761288230707, 0.0118967099458917, 0.0104112652619720,
                                0.00925546218271273, 0.00833056343336287};
    const Value next = k + 1, square = next * next;
    const auto number = [&](double x) { return k.number(rounded(k.dtype, x)); };
    Value out = (number(1.0 / 12) - (number(1.0 / 360) - number(1.0 / 1260) / square) / square) / next;
    for (int i = 9; i >= 0; --i)
      out = hlo::select(i == 9 ? hlo::compare(k, k.number(9), "LE") : hlo::less(k, i + 1), number(kTail[i]), out);
    return out;
  }
  Value n_, deviation_, b_, a_, c_, bound_, r_, alpha_, m_;
};

// How often a trial is made until it is accepted, i32: parts 1 and 2 of the key of a turn, the next one is part 0.
template <class Of>
Value turns_of(const Words& keys, const Words& counter, DType t, const Of& trial) {
  hlo::Writer& to = *keys.first.to;
  const Value none = to.constant(DType::I32, keys.first.shape, 0);
  const Values start{to.constant(DType::I32, {}, 0), keys.first, keys.second, hlo::compare(none, none, "EQ"), none};
  const Values made = hlo::repeated(
      to, start, [&](const Values& now) { return hlo::both(any(now[3]), hlo::less(now[0], kMostTurns)); },
      [&](const Values& now) -> Values {
        const Words key{now[1], now[2]}, next = hashed(key, 0);
        const Trial tried = trial.at(uniform(hashed(key, 1), counter, t), uniform(hashed(key, 2), counter, t));
        const Value counted = hlo::select(now[3], now[4] + 1, now[4]);
        return {now[0] + 1, next.first, next.second, hlo::both(now[3], inverted(tried.accepted)), counted};
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
      to, start, [&](const Values& now) { return any(open(now)); },
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
      to, start, [&](const Values& now) { return hlo::both(any(open(now[3])), hlo::less(now[0], kMostTurns)); },
      [&](const Values& now) -> Values {
        const Words key{now[1], now[2]}, after = hashed(key, next);
        const Values here =
            where(open(now[3]), {now[3] + term(uniform(hashed(key, drawn), counter, like.dtype)), now[4] + 1},
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
  return {rate, inverted(at_least(rate, rate.number(10)))};
}

Value count_of(const Value& turns, const Shape& shape) {
  const Value all = hlo::broadcast(turns, shape);
  return hlo::convert(hlo::binary("minimum", all, all.to->integer(all.dtype, shape, INT32_MAX)), DType::I32);
}

// How a binomial number is drawn: of the rarer outcome.
struct Binomial {
  Value low, valid, n, p, few;
  Binomial(const Value& trials, const Value& chance)
      : low(hlo::less(chance, 0.5)), n(f_floor(trials)), p(hlo::select(low, chance, chance.number(1) - chance)) {
    const Value counts = at_least(trials, trials.number(0)), odds = at_least(p, p.number(0));
    valid = hlo::both(counts, odds);
    p = hlo::select(odds, p, p.number(rounded(p.dtype, 0.01)));
    few = hlo::either(inverted(counts), hlo::compare(trials * p, p.number(10), "LE"));
  }
  BinomialTrial trial() const { return {hlo::select(few, n.number(10000), n), hlo::select(few, p.number(0.5), p)}; }
};

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
      keys, counter, rate.rate, 1, 0, [&](const Value& sum) { return above(sum, least); }, f_log);
  const Value k = hlo::select(rate.small, few, drawn);
  const auto whole = [&](std::int64_t n) { return u.to.integer(DType::I32, shape, n); };
  Value out = hlo::select(at_least(k, k.number(0x1p31)), whole(INT32_MAX),
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
  const Value log_rest = f_log1p(hlo::unary("negate", how.p));
  const Value most = hlo::select(hlo::both(how.few, hlo::both(how.valid, inverted(endless))), how.n, how.n.number(-1));
  const Value few = counted(  // sums of geometric numbers
      keys, counter, given, 0, 1, [&](const Value& sum) { return hlo::compare(sum, most, "LE"); },
      [&](const Value& drawn) { return hlo::unary("ceil", f_log(drawn) / log_rest); });
  const Value drawn = hlo::select(how.few, few, tried);
  const Value out = hlo::select(endless, given, hlo::select(how.low, drawn, how.n - drawn));
  return {hlo::select(how.valid, out, given.number(std::numeric_limits<double>::quiet_NaN()))};
}

}  // namespace shard::stdlib::drawing
