// Gamma numbers and their derivative by alpha as StableHLO: the loops of runtime/kernels/draws_gamma.cpp over all
// elements at once.
#include <cmath>
#include <limits>

#include "stdlib/ops/draws_hlo.h"

namespace shard::stdlib::drawing {
namespace {

Value squared(const Value& x) { return x * x; }
Value log_of(const Value& x) { return hlo::unary("log", x); }

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
      *c.to, start, [&](const Values& now) { return any(open(now)); },
      [&](const Values& now) {
        const Words at{now[0], now[1]}, next = hashed(at, 0);
        const Value x = normal(hashed(at, 1), c.dtype);
        return where(open(now), {next.first, next.second, x, x * c + 1}, now);
      });
  return {made[2], made[3]};
}

// The numbers of one kind, and where they come from.
struct Drawn {
  Value alpha, d, volume;
  Words boost;
};

// Marsaglia and Tsang, "A simple method for generating gamma variables", 2000; of alpha + 1 where alpha is below 1.
Drawn gamma_drawn(const Words& keys, const Value& given) {
  const DType t = given.dtype;
  const Value large = at_least(given, given.number(1)), alpha = hlo::select(large, given, given + 1),
              third = alpha.number(t == DType::F64 ? 1.0 / 3 : static_cast<double>(static_cast<float>(1.0 / 3))),
              d = alpha - third, c = third / hlo::unary("sqrt", d);
  const Words first = hashed(keys, 0);
  const Value turn = d.to->constant(DType::I32, {}, 0);
  const Values start{turn, first.first, first.second, d.number(0), d.number(1), d.number(2)};
  const auto open = [&](const Values& now) {  // key (2), x * x, volume, u
    const Value &square = now[3], &volume = now[4], &u = now[5];
    const Value far = at_least(u, u.number(1) - squared(square) * 0.0331);
    const Value high = at_least(log_of(u), square * 0.5 + d * ((volume.number(1) - volume) + log_of(volume)));
    return hlo::both(far, high);
  };
  const Values made = hlo::repeated(
      *d.to, start, [&](const Values& now) { return hlo::both(any(open(now)), hlo::less(now[0], kMostTurns)); },
      [&](const Values& now) {
        const Words key{now[1], now[2]}, next = hashed(key, 0);
        const Value active = open(now);
        const auto [x, v] = positive_normal(hashed(key, 1), c, active);
        Values after = where(active, {next.first, next.second, squared(x), v * v * v, uniform(hashed(key, 2), t)},
                             {now.begin() + 1, now.end()});
        after.insert(after.begin(), now[0] + 1);
        return after;
      });
  return {given, d, made[4], hashed(keys, 1)};
}

}  // namespace

hlo::Values gamma_hlo(const hlo::Use& u) {
  const Shape& shape = u.out[0].shape;
  const Drawn g = gamma_drawn(keys_over(u.in[0], shape), hlo::broadcast(u.in[1], shape));
  const Value share = uniform(g.boost, u.out[0].dtype), large = at_least(g.alpha, g.alpha.number(1)),
              power = g.alpha.number(1) / g.alpha;
  if (!flag_or(u.attrs, "log", false)) {
    const Value boost = hlo::binary("power", share.number(1) - share, power);
    return {g.d * g.volume * hlo::select(large, share.number(1), boost)};
  }
  const Value drawn = hlo::unary("log_plus_one", hlo::unary("negate", share));
  const Value none = hlo::either(large, hlo::compare(drawn, drawn.number(0), "EQ"));
  return {(log_of(g.d) + log_of(g.volume)) + hlo::select(none, drawn.number(0), drawn * power)};
}

namespace {

Value digamma(const Value& x) {
  const Value of[] = {x};
  return hlo::of_code(runtime::Code::Digamma, of, x.dtype);
}
Value size_of(const Value& x) { return hlo::unary("abs", x); }

// By the series of the incomplete gamma function, differentiated term by term.
Value slope_by_series(const Value& a, const Value& x, const Value& wanted) {
  const Value none = a.number(0), one = a.number(1);
  const Values start{a.to->constant(DType::I32, {}, 0), wanted, a, one, one, none, none};
  const Values made = hlo::repeated(
      *a.to, start, [&](const Values& now) { return hlo::both(any(now[1]), hlo::less(now[0], 10000)); },
      [&](const Values& now) {
        const Value r = now[2] + 1, step = x / r, d_term = now[5] * step - now[3] * x / (r * r),
                    d_sum = now[6] + d_term, term = now[3] * step;
        const Value more = hlo::compare(size_of(d_term), size_of(d_sum) * 1e-17, "GT");
        Values next = where(now[1], {hlo::both(now[1], more), r, term, now[4] + term, d_term, d_sum},
                            {now.begin() + 1, now.end()});
        next.insert(next.begin(), now[0] + 1);
        return next;
      });
  const Value sum = made[4], d_sum = made[6];
  return hlo::unary("negate", d_sum + sum * (log_of(x) - digamma(a + 1))) * x / a;
}

// By the continued fraction of its complement.
Value slope_by_fraction(const Value& a, const Value& x, const Value& wanted) {
  const Value none = a.number(0), one = a.number(1), y0 = one - a, z0 = x + y0 + 1, p0 = x + 1, q0 = z0 * x;
  const Value value0 = p0 / q0, d_q0 = hlo::unary("negate", x);
  // turns, wanted, y, z, p2, q2, p1, q1, d_p2, d_q2, d_p1, d_q1, value, slope
  const Values start{a.to->constant(DType::I32, {}, 0), wanted, y0, z0, one, x, p0, q0, none, none, none, d_q0, value0,
                     (none - value0 * d_q0) / q0};
  const Values made = hlo::repeated(
      *a.to, start, [&](const Values& now) { return hlo::both(any(now[1]), hlo::less(now[0], 2000)); },
      [&](const Values& now) {
        const Value c = hlo::spread(hlo::convert(now[0] + 1, a.dtype), a.shape, Ints{}), y = now[2] + 1, z = now[3] + 2,
                    yc = y * c;
        const Value p = now[6] * z - now[4] * yc, q = now[7] * z - now[5] * yc;
        const Value d_p = now[10] * z - now[6] - now[8] * yc + now[4] * c,
                    d_q = now[11] * z - now[7] - now[9] * yc + now[5] * c;
        const Value real = hlo::compare(q, none, "NE"), by = hlo::select(real, q, one);
        const Value value = hlo::select(real, p / by, now[12]),
                    slope = hlo::select(real, (d_p - value * d_q) / by, now[13]);
        const Value change = hlo::select(real, size_of(slope - now[13]), one);
        const Value scale = hlo::select(hlo::less(size_of(p), 1e15), one, a.number(1e-15));
        Values next{hlo::both(now[1], above(change, a.number(1e-16))), y, z};
        for (const Value& v : {now[6], now[7], p, q, now[10], now[11], d_p, d_q}) next.push_back(v * scale);
        next.push_back(value), next.push_back(slope);
        next = where(now[1], next, {now.begin() + 1, now.end()});
        next.insert(next.begin(), now[0] + 1);
        return next;
      });
  return (made[13] + made[12] * (log_of(x) - digamma(a))) * x;
}

}  // namespace

// In f64, as the kernel computes it. Where an element goes another way it goes along with numbers that end at once.
hlo::Values gamma_slope_hlo(const hlo::Use& u) {
  const Shape& shape = u.out[0].shape;
  const DType t = u.out[0].dtype;
  const bool logarithm = flag_or(u.attrs, "log", false);
  const Value a = hlo::convert(hlo::broadcast(u.in[0], shape), DType::F64),
              given = hlo::convert(hlo::broadcast(u.in[1], shape), DType::F64);
  const double least = t == DType::F64 ? std::numeric_limits<double>::min() : std::numeric_limits<float>::min();
  const Value x = logarithm ? hlo::binary("maximum", hlo::unary("exponential", given), given.number(least)) : given;
  const Value valid = hlo::both(at_least(x, x.number(0)), above(a, a.number(0)));
  const Value far = hlo::both(hlo::both(above(x, x.number(1)), above(x, a)), valid),
              near = hlo::both(hlo::both(inverted(far), above(x, x.number(0))), valid);
  const auto safe = [](const Value& chosen, const Value& v, double otherwise) {
    return hlo::select(chosen, v, v.number(otherwise));
  };
  const Value by_fraction = slope_by_fraction(safe(far, a, 1), safe(far, x, 2), far),
              by_series = slope_by_series(safe(near, a, 1), safe(near, x, 0.5), near);
  Value slope = hlo::select(far, by_fraction, hlo::select(near, by_series, x.number(0)));
  slope = hlo::select(valid, slope, x.number(std::nan("")));
  return {hlo::convert(logarithm ? slope / x : slope, t)};
}

}  // namespace shard::stdlib::drawing
