// Random numbers by distribution, the same as jax.random's (its source gives the formulas): all are functions of random
// bits, so they do not depend on layouts. Keys with dimensions draw for each key.
#include <cmath>
#include <limits>
#include <numbers>

#include "interpreter/ir/complex_parts.h"
#include "stdlib/ops/elementwise.h"
#include "stdlib/ops/moving/moving_steps.h"
#include "stdlib/ops/ops.h"

namespace shard::stdlib {
namespace {

Shape asked(const Attrs& attrs, std::string_view op, Shape otherwise = {}) {
  return shape_of(ints_if(attrs, "shape").value_or(std::move(otherwise)), op);
}

Expr raw_bits(Builder& b, Var key, const Shape& shape, DType dtype, const Attrs& from) {
  const Shape full = under_keys(b, key, shape);
  return {b, b.call("random_bits", {key}, with_out({{"shape", full}, {"whole", shape}, {"dtype", dtype}}, from))};
}

// Multiples of 2^-m in [0, 1), m the bits of the type's fraction. JAX puts the bits behind the exponent of 1 and
// subtracts 1: the same.
Expr fractions(Builder& b, Var key, const Shape& shape, DType dtype, const Attrs& from) {
  struct Form {
    DType bits, whole;
    int drop, keep;
  };
  Form f = dtype == DType::F64    ? Form{DType::U64, DType::I64, 12, 52}
           : dtype == DType::F16  ? Form{DType::U16, DType::I32, 6, 10}
           : dtype == DType::BF16 ? Form{DType::U8, DType::I32, 1, 7}
                                  : Form{DType::U32, DType::I32, 9, 23};
  Expr bits = raw_bits(b, key, shape, f.bits, from);
  Expr kept = cast_to(call("shift_right", {bits, bits.number(f.drop)}), f.whole);
  return cast_to(kept, dtype) * std::ldexp(1.0, -f.keep);
}

// In [low, high); the bounds may be arrays that broadcast to the shape.
Expr uniform_between(Builder& b, Var key, const Shape& shape, DType dtype, const Expr& low, const Expr& high,
                     const Attrs& from) {
  Expr f = fractions(b, key, shape, dtype, from), lo = cast_to(low, dtype), hi = cast_to(high, dtype);
  return maximum(lo, f * (hi - lo) + lo);
}

Expr scalar(Builder& b, double value, DType dtype) { return {b, ir::constant(b, value, dtype)}; }

double smallest_normal(DType t) { return std::ldexp(1.0, runtime::float_form(t)->low); }
// The number next to -1 towards 0.
double above_minus_one(DType t) { return -1 + std::ldexp(1.0, -1 - runtime::float_form(t)->fraction); }

Expr normal_of(Builder& b, Var key, const Shape& shape, DType dtype, const Attrs& from) {
  Expr u = uniform_between(b, key, shape, dtype, scalar(b, above_minus_one(dtype), dtype), scalar(b, 1, dtype), from);
  return scalar(b, std::numbers::sqrt2, dtype) * call("erf_inv", {u});
}

Expr gumbel_of(Builder& b, Var key, const Shape& shape, DType dtype, const Attrs& from) {
  Expr u = uniform_between(b, key, shape, dtype, scalar(b, smallest_normal(dtype), dtype), scalar(b, 1, dtype), from);
  return -call("log", {-call("log", {u})});
}

Vars uniform(Builder& b, std::span<const Var> in, const Attrs& attrs) {
  DType dtype = float_asked(attrs, "uniform");
  bool low = flag_or(attrs, "has_minval", in.size() > 1), high = flag_or(attrs, "has_maxval", in.size() > 2);
  Shape shape = asked(attrs, "uniform");
  if (!low && !high) return {fractions(b, in[0], shape, dtype, attrs)};
  Expr lo = low ? Expr{b, in[1]} : scalar(b, 0, dtype), hi = high ? Expr{b, in.back()} : scalar(b, 1, dtype);
  return {uniform_between(b, in[0], shape, dtype, lo, hi, attrs)};
}

Vars truncated_normal(Builder& b, std::span<const Var> in, const Attrs& attrs) {
  DType dtype = float_asked(attrs, "truncated_normal");
  Expr lower = cast_to({b, in[1]}, dtype), upper = cast_to({b, in[2]}, dtype),
       root = scalar(b, std::numbers::sqrt2, dtype);
  Shape shape = asked(attrs, "truncated_normal", *runtime::broadcast(b.type(in[1]).shape, b.type(in[2]).shape));
  Expr u = uniform_between(b, in[0], shape, dtype, call("erf", {lower / root}), call("erf", {upper / root}), attrs);
  Expr x = root * call("erf_inv", {u});
  // Rounding may put x on a bound, which is outside: the neighbours inside, a step that rounds to one unit in the last
  // place.
  const double unit = std::ldexp(0.75, -runtime::float_form(dtype)->fraction);
  auto step = [&](const Expr& v) { return maximum(call("abs", {v}) * unit, v.number(smallest_normal(dtype))); };
  return {minimum(maximum(x, lower + step(lower)), upper - step(upper))};
}

Vars bernoulli(Builder& b, std::span<const Var> in, const Attrs& attrs) {
  bool given = flag_or(attrs, "has_p", in.size() > 1);
  Expr p = given ? Expr{b, in[1]} : scalar(b, 0.5, DType::F32);
  DType dtype = runtime::to_inexact(p.type().dtype);
  Shape shape = asked(attrs, "bernoulli", p.type().shape);
  return {lt(fractions(b, in[0], shape, dtype, attrs), cast_to(p, dtype))};
}

// Two draws of 32 bits make one of 64, taken modulo the span: nearly without bias.
Expr randint_of(Builder& b, Var key, const Shape& shape, const Expr& minval, const Expr& maxval, const Attrs& from) {
  auto [k1, k2] = two_keys(b, key);
  Expr hi = raw_bits(b, k1, shape, DType::U32, from), lo = raw_bits(b, k2, shape, DType::U32, from);
  Expr low = cast_to(minval, DType::I32), high = cast_to(maxval, DType::I32);
  Expr span = cast_to(high - low, DType::U32);
  span = select(gt(high, low), span, span.number(1));
  auto mod = [](const Expr& x, const Expr& y) { return call("mod", {x, y}); };
  Expr m = mod(span.number(65536), span);
  m = mod(m * m, span);
  Expr offset = mod(mod(hi, span) * m + mod(lo, span), span);
  return low + cast_to(offset, DType::I32);
}

// A bound of numbers of a narrow type, no further than `beyond` above its largest.
Expr within(const Expr& bound, DType dtype, int beyond) {
  const int bits = 8 * static_cast<int>(runtime::size_of(dtype));
  if (bits >= 32) return bound;
  const bool is_signed = dtype == DType::I8 || dtype == DType::I16;
  const std::int64_t low = is_signed ? -(std::int64_t{1} << (bits - 1)) : 0,
                     high = (std::int64_t{1} << (is_signed ? bits - 1 : bits)) - 1 + beyond;
  Expr x = cast_to(bound, DType::I32);
  return minimum(maximum(x, x.number(static_cast<double>(low))), x.number(static_cast<double>(high)));
}

Vars randint(Builder& b, std::span<const Var> in, const Attrs& attrs) {
  DType dtype = dtype_if(attrs, "dtype").value_or(DType::I32);
  if (!runtime::is_integer(dtype) || runtime::size_of(dtype) > 4)
    fail("type", "randint gives an integer type of up to 32 bits");
  return {cast_to(
      randint_of(b, in[0], asked(attrs, "randint"), within({b, in[1]}, dtype, 0), within({b, in[2]}, dtype, 1), attrs),
      dtype)};
}

Vars categorical(Builder& b, std::span<const Var> in, const Attrs& attrs) {
  Var logits = in[1];
  DType dtype = runtime::to_inexact(b.type(logits).dtype);
  logits = ir::convert(b, logits, dtype);
  const Shape shape = b.type(logits).shape;
  auto rank = static_cast<std::int64_t>(shape.size());
  std::int64_t axis = from_end(integer_or(attrs, "axis", -1), rank, "categorical");
  Shape batch = erase_axes(shape, {axis}), want = asked(attrs, "categorical", batch);
  auto prefix = static_cast<std::ptrdiff_t>(want.size()) - static_cast<std::ptrdiff_t>(batch.size());
  if (prefix < 0 || !std::equal(batch.begin(), batch.end(), want.begin() + prefix))
    fail("shape", "categorical: the shape " + runtime::to_string(want) + " must end in " + runtime::to_string(batch) +
                      ", the batch of " + runtime::to_string(b.type(logits)));
  Shape noise(want.begin(), want.begin() + prefix);
  noise.insert(noise.end(), shape.begin(), shape.end());
  Expr scores = gumbel_of(b, in[0], noise, dtype, {}) + Expr{b, logits};
  Var picked = b.call("arg_max", {scores}, {{"axis", axis}});
  if (attrs.has("out")) picked = b.emit1(*b.core().shard, {picked}, {{"layout", attrs.layout("out")}});
  return {picked};
}

// How often n things are sorted by random bits: as often as makes ties unlikely.
int rounds_for(std::int64_t n) {
  const auto size = static_cast<double>(std::max<std::int64_t>(1, n));
  return static_cast<int>(std::ceil(3 * std::log(size) / std::log(4294967295.0)));
}

// 0 ... n-1 in random order.
Var shuffled(Builder& b, Var key, std::int64_t n) {
  Var order = positions_along(b, n, 1, -1);
  for (int i = 0; i < rounds_for(n); ++i) {
    auto [next, sub] = two_keys(b, key);
    key = next;
    Var by = b.call("argsort_last", {raw_bits(b, sub, {n}, DType::U32, {})});
    order = i == 0 ? by : b.call("take", {order, by}, rows_along(-1));
  }
  return order;
}

// Each line along the axis in an order of its own: sorted along with random bits.
Var shuffled_lines(Builder& b, Var key, Var x, std::int64_t axis) {
  const Shape shape = b.type(x).shape;
  for (int i = 0; i < rounds_for(runtime::numel(shape)); ++i) {
    auto [next, sub] = two_keys(b, key);
    key = next;
    Var by = b.call("argsort", {raw_bits(b, sub, shape, DType::U32, {})}, {{"axis", axis}});
    x = b.call("take_along_axis", {x, by}, {{"axis", axis}});
  }
  return x;
}

Vars permutation(Builder& b, std::span<const Var> in, const Attrs& attrs) {
  const Type x = b.type(in[1]);
  if (x.shape.empty()) fail("shape", "permutation takes an array of rank 1 or more, or a host integer");
  const std::int64_t axis = from_end(integer_or(attrs, "axis", 0), x.rank(), "permutation");
  if (flag_or(attrs, "independent", false)) return {shuffled_lines(b, in[0], in[1], axis)};
  // Picks along an axis may cross a split dimension in explicit mode: the result is laid out as x.
  Var front = move_axis(b, in[1], axis, -x.rank()), order = shuffled(b, in[0], b.type(front).shape[0]);
  Var picked = b.call("take", {front, order}, out_as(b, rows_along(-x.rank()), front));
  return {move_axis(b, picked, -x.rank(), axis)};
}

Vars choice(Builder& b, std::span<const Var> in, const Attrs& attrs) {
  const Type a = b.type(in[1]);
  if (a.shape.empty()) fail("shape", "choice takes an array of rank 1 or more, or a host integer");
  const std::int64_t axis = from_end(integer_or(attrs, "axis", 0), a.rank(), "choice");
  std::int64_t n = a.shape[a.shape.size() - static_cast<std::size_t>(-axis)];
  Shape shape = asked(attrs, "choice");
  std::int64_t count = runtime::numel(shape);
  bool replace = flag_or(attrs, "replace", true), weighted = flag_or(attrs, "has_p", in.size() > 2);
  if (n == 0 && count > 0) fail("shape", "choice from an empty array");
  if (!replace && count > n)
    fail("shape", "choice: " + std::to_string(count) + " of " + std::to_string(n) + " without replacement");
  auto first = [&](Var order) { return expand(b, part_of(b, order, -1, 0, count), shape); };
  Var index;
  if (!weighted) {
    index = replace ? randint_of(b, in[0], shape, scalar(b, 0, DType::I32),
                                 scalar(b, static_cast<double>(n), DType::I32), {})
                          .var()
                    : first(shuffled(b, in[0], n));
  } else {
    const Type pt = b.type(in[2]);
    if (pt.shape != Shape{n})
      fail("shape", "choice: the probabilities " + runtime::to_string(pt) + " do not match the " + std::to_string(n) +
                        " things to choose from");
    Expr p = cast_to({b, in[2]}, runtime::to_inexact(pt.dtype));
    if (replace) {  // where the running sum of the probabilities passes a random number
      Expr sums{b, b.call("scan_sum", {p})};
      Expr r = element_of(b, sums, -1, n - 1) * (1.0 - fractions(b, in[0], shape, p.type().dtype, {}));
      Shape grown = shape;
      grown.push_back(1);
      Var below = b.call("lt", {sums, expand(b, r, grown)});
      index = ir::reduce_sum(b, ir::convert(b, below, DType::I32), {-1});
    } else {
      Expr g = gumbel_of(b, in[0], {n}, p.type().dtype, {}) + call("log", {p});
      index = first(b.call("argsort_last", {g}, {{"descending", true}}));
    }
  }
  return {b.call("take", {in[1], index}, rows_along(axis))};
}

}  // namespace

void register_sample(OpTable& t) {
  auto add = [&](std::string_view signature, std::string_view doc, ir::Compose compose, ir::Samples samples) -> OpDef& {
    return add_composite(t, signature, doc, samples, placed_last(std::move(compose)));
  };
  add("uniform(key, shape: ints = [], minval: array? = none, maxval: array? = none, dtype: dtype? = none, out: spec? = "
      "none)",
      "Numbers equally likely everywhere in [minval, maxval), by default [0, 1).", uniform,
      "key shape=[4, 6]; key [] [] 2..3 shape=[4] has_minval=true has_maxval=true; "
      "key shape=[8] dtype=bf16")
      .aliases = {{"rand", "random numbers are drawn with a key: `uniform(key(0), [3])`"}};
  add(
      "normal(key, shape: ints = [], dtype: dtype? = none, out: spec? = none)",
      "Numbers of the normal distribution of mean 0 and variance 1, complex ones too.",
      [](Builder& b, std::span<const Var> in, const Attrs& a) -> Vars {
        const Shape shape = asked(a, "normal");
        const DType dtype = dtype_if(a, "dtype").value_or(DType::F32);
        if (!runtime::is_complex(dtype)) return {normal_of(b, in[0], shape, float_asked(a, "normal"), a)};
        const DType part = runtime::part_of(dtype);  // a variance of 1 is that of both parts together
        const auto [real, imaginary] = two_keys(b, in[0]);
        const Expr root = scalar(b, std::numbers::sqrt2, part);
        return {ir::complex_of(b, normal_of(b, real, shape, part, a) / root,
                               normal_of(b, imaginary, shape, part, a) / root)};
      },
      "key shape=[4, 6]; key")
      .aliases = {{"randn", "random numbers are drawn with a key: `normal(key(0), [3])`"}};
  add("truncated_normal(key, lower, upper, shape: ints? = none, dtype: dtype? = none, out: spec? = none)",
      "Numbers of the normal distribution between two bounds.", truncated_normal, "key [] -2..-1 [] 1..2 shape=[4, 6]");
  add("bernoulli(key, p: array? = none, shape: ints? = none, out: spec? = none)", "true with probability p (0.5).",
      bernoulli, "key [] 0..1 shape=[4, 6] has_p=true; key [4] 0..1 has_p=true");
  add("randint(key, shape: ints, minval, maxval, dtype: dtype? = none, out: spec? = none)",
      "Integers equally likely from minval up to maxval, which is left out.", randint,
      "key i32[] -5..0 i32[] 1..9 shape=[4, 6]");
  add(
      "gumbel(key, shape: ints = [], dtype: dtype? = none, out: spec? = none)", "Numbers of the Gumbel distribution.",
      [](Builder& b, std::span<const Var> in, const Attrs& a) -> Vars {
        return {gumbel_of(b, in[0], asked(a, "gumbel"), float_asked(a, "gumbel"), a)};
      },
      "key shape=[4, 6]");
  add("categorical(key, logits, axis: int = -1, shape: ints? = none, out: spec? = none)",
      "Classes with probabilities softmax(logits) along an axis.", categorical, "key [4, 6]; key [6] shape=[8]");
  add("permutation(key, x, axis: int = 0, independent: bool = false, out: spec? = none)",
      "The rows of x (of another axis too) in random order; independent: each line in its own.",
      laid_out_last(permutation),
      "key [8, 2]; key i32[8]; key [2, 8] axis=1; key [4, 2, 6] axis=1; "
      "key [2, 8] axis=1 independent=true");
  add("choice(key, a, shape: ints = [], replace: bool = true, p: array? = none, axis: int = 0, out: spec? = none)",
      "Rows of a (of another axis too) chosen at random.", laid_out_last(choice),
      "key [8] shape=[4]; key i32[8, 2] shape=[2, 2] replace=false; "
      "key [8] [8] 0..1 shape=[4] has_p=true; key [2, 8] shape=[3] axis=1");
}

}  // namespace shard::stdlib
