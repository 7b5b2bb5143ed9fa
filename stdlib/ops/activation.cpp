// Elementwise functions made of others: activations, clipping, choosing, casting. The fuser joins their parts into one
// pass.
#include <cmath>
#include <limits>
#include <numbers>

#include "interpreter/ir/complex_parts.h"
#include "stdlib/ops/moving/moving_steps.h"
#include "stdlib/ops/ops.h"

namespace shard::stdlib {
namespace {

// log(exp(x) + exp(y)) without overflow. -|d| is written as a minimum, whose derivative at a tie is 0 (JAX's is then
// right). Where both are the same infinity their difference is nan: the sum stands in.
Expr log_add_exp(const Expr& x, const Expr& y) {
  Expr d = x - y;
  return select(call("isnan", {d}), x + y, maximum(x, y) + call("log1p", {call("exp", {minimum(d, -d)})}));
}

// Hendrycks and Gimpel, "Gaussian Error Linear Units", 2016.
Vars gelu(Builder& b, std::span<const Var> in, const Attrs& attrs) {
  Expr x = as_inexact(b, in[0]);
  if (!flag_or(attrs, "approximate", true)) return {0.5 * x * call("erfc", {-x * std::sqrt(0.5)})};
  Expr inner = std::sqrt(2 / std::numbers::pi) * (x + 0.044715 * (x * x * x));
  return {x * (0.5 * (1.0 + call("tanh", {inner})))};
}

// The number that an activation takes beside x: as given, or this one.
Expr parameter(Builder& b, std::span<const Var> in, const Expr& x, double otherwise) {
  if (in.size() > 1) return {b, in[1]};
  return {b, ir::constant(b, otherwise, runtime::to_inexact(x.type().dtype), true)};
}
Expr elu_of(const Expr& x, const Expr& alpha) {
  Expr positive = gt(x, 0.0);
  return chosen(positive, x, alpha * call("expm1", {select(positive, 0.0, x)}));
}

Vars celu(Builder& b, std::span<const Var> in, const Attrs&) {
  Expr x = as_inexact(b, in[0]), alpha = parameter(b, in, x, 1);
  return {maximum(x, x.number(0)) + alpha * call("expm1", {minimum(x, x.number(0)) / alpha})};
}

Vars glu(Builder& b, std::span<const Var> in, const Attrs& attrs) {
  const Type& t = b.type(in[0]);
  const std::int64_t axis = from_end(integer_or(attrs, "axis", -1), t.rank(), "glu"),
                     size = t.shape[static_cast<std::size_t>(from_front(axis, t.rank()))];
  if (size % 2 != 0)
    fail("shape", "glu takes two equal halves, and dimension " + std::to_string(from_front(axis, t.rank())) + " of " +
                      runtime::to_string(t) + " has the size " + std::to_string(size));
  return {part_of(b, in[0], axis, 0, size / 2) * call("sigmoid", {part_of(b, in[0], axis, size / 2, size)})};
}

// The larger side is taken out of the root (JAX).
Vars hypotenuse(Builder& b, std::span<const Var> in, const Attrs&) {
  const auto [given_x, given_y] = inexact_pair(b, in);
  if (ir::is_complex(b, given_x)) fail("type", "hypot is for real numbers: of complex ones take `abs(x)` first");
  constexpr double inf = std::numeric_limits<double>::infinity();
  Expr x = call("abs", {given_x}), y = call("abs", {given_y});
  Expr endless = call("logical_or", {eq(x, inf), eq(y, inf)}), large = maximum(x, y), small = minimum(x, y);
  Expr none = eq(large, 0.0), ratio = small / select(none, 1.0, large);
  Expr length = large * call("sqrt", {1.0 + ratio * ratio});
  return {select(endless, inf, select(none, large, length))};
}

Vars nan_to_num(Builder& b, std::span<const Var> in, const Attrs& attrs) {
  Expr x{b, in[0]};
  if (ir::is_complex(b, x)) {
    Vars re(in.begin(), in.end()), im = re;
    re[0] = ir::real_part(b, x), im[0] = ir::imag_part(b, x);
    return {ir::complex_of(b, nan_to_num(b, re, attrs)[0], nan_to_num(b, im, attrs)[0])};
  }
  const DType dtype = x.type().dtype;
  if (!runtime::is_float(dtype)) return {x};
  std::size_t next = 1;
  const auto stand_in = [&](std::string_view name, double otherwise) {
    const bool given = flag_or(attrs, "has_" + std::string(name), in.size() > next);
    return given ? cast_to({b, in[next++]}, dtype) : Expr{b, ir::constant(b, otherwise, dtype)};
  };
  const double largest = runtime::float_form(dtype)->largest;
  Expr none = stand_in("nan", 0), above = stand_in("posinf", largest), below = stand_in("neginf", -largest);
  Expr infinite = x.number(std::numeric_limits<double>::infinity());
  x = chosen(call("isnan", {x}), none, x);
  x = chosen(eq(x, infinite), above, x);
  return {chosen(eq(x, -infinite), below, x)};
}

Vars clip(Builder& b, std::span<const Var> in, const Attrs& attrs) {
  bool has_lo = flag_or(attrs, "has_lo", in.size() > 1), has_hi = flag_or(attrs, "has_hi", in.size() > 2);
  Expr x{b, in[0]};
  std::size_t next = 1;
  if (has_lo) x = maximum({b, in[next++]}, x);
  if (has_hi) x = minimum({b, in[next]}, x);
  return {x};
}

Vars where(Builder& b, std::span<const Var> in, const Attrs&) {
  Var c = in[0];
  if (b.type(c).dtype != DType::Bool) c = b.call("ne", {c, ir::constant(b, 0, b.type(c).dtype)});
  Kind kind = promoted(b, in.subspan(1, 2));
  return {ir::select(b, c, promote_to(b, in[1], kind), promote_to(b, in[2], kind))};
}

// As jax.nn.relu6: the derivative is 0 at both corners, and at nan.
Expr relu6_of(const Expr& x) {
  return select(both(gt(x, 0.0), lt(x, 6.0)), x,
                call("stop_gradient", {minimum(maximum(x, x.number(0)), x.number(6))}));
}

// x times the logarithm of y, or of 1 + y. Where x is 0 and there is no finite logarithm, both it and its derivatives
// are 0; nan stays nan.
ir::Compose times_log(std::string_view log, double least) {
  return [log, least](Builder& b, std::span<const Var> in, const Attrs&) -> Vars {
    const auto [x, y] = inexact_pair(b, in);
    Expr without = call("logical_or", {call("le", {y, y.number(least)}), call("isinf", {y})});
    return {x * call(log, {select(both(eq(x, 0.0), without), 1.0, y)})};
  };
}

// As jax.numpy.isclose: infinities are close to themselves alone.
Vars isclose(Builder& b, std::span<const Var> in, const Attrs& attrs) {
  const auto [x, y] = inexact_pair(b, in);
  const double rtol = number_if(attrs, "rtol").value_or(1e-5), atol = number_if(attrs, "atol").value_or(1e-8);
  Expr within = call("le", {call("abs", {x - y}), atol + rtol * call("abs", {y})});
  Expr close = call("logical_or", {eq(x, y), both(call("isfinite", {y}), within)});
  if (flag_or(attrs, "equal_nan", false))
    close = call("logical_or", {close, both(call("isnan", {x}), call("isnan", {y}))});
  return {close};
}

// Of one number, a float.
struct Activation {
  std::string_view signature, doc;
  Expr (*formula)(const Expr& x);
  std::vector<ir::Alias> aliases = {};
};

void register_formulas(OpTable& t, ir::Samples samples, std::initializer_list<Activation> activations) {
  for (const Activation& a : activations) {
    const auto compose = [formula = a.formula](Builder& b, std::span<const Var> in, const Attrs&) -> Vars {
      return {formula(as_inexact(b, in[0]))};
    };
    add_composite(t, a.signature, a.doc, samples, compose).aliases = a.aliases;
  }
}

// One operand, and of some a number beside it.
void register_rectifiers(OpTable& t) {
  constexpr const char* one = "[4, 6] -3..3";
  const ir::Samples with_number{one, {}, "[4, 6] -3..3 [] 0.3..2"};
  register_formulas(
      t, one,
      {{"log_sigmoid(x)", "The logarithm of sigmoid(x).", [](const Expr& x) { return -call("softplus", {-x}); }},
       {"selu(x)", "elu, scaled so that layers keep mean 0 and variance 1.",
        [](const Expr& x) {
          return 1.0507009873554804934193349852946 * elu_of(x, x.number(1.6732632423543772848170429916717));
        }},
       {"relu6(x)", "x, no smaller than 0 and no larger than 6.", relu6_of},
       {"hard_sigmoid(x)", "relu6(x + 3) / 6: sigmoid in three straight lines.",
        [](const Expr& x) { return relu6_of(x + 3.0) / 6.0; }},
       {"hard_silu(x)",
        "x * hard_sigmoid(x).",
        [](const Expr& x) { return x * (relu6_of(x + 3.0) / 6.0); },
        {"hard_swish"}},
       {"squareplus(x)", "(x + sqrt(x * x + 4)) / 2, a smooth relu without exponentials.",
        [](const Expr& x) { return (x + call("sqrt", {x * x + 4.0})) / 2.0; }},
       {"mish(x)", "x times tanh(softplus(x)).",
        [](const Expr& x) { return x * call("tanh", {call("softplus", {x})}); }}});
  add_composite(t, "leaky_relu(x, negative_slope: array? = none)",
                "x where it is not negative, else x times a slope (0.01).", with_number,
                [](Builder& b, std::span<const Var> in, const Attrs&) -> Vars {
                  Expr x{b, in[0]};
                  return {chosen(ge(x, 0.0), x, parameter(b, in, x, 0.01) * x)};
                });
  add_composite(t, "elu(x, alpha: array? = none)", "x where it is positive, else alpha (1) times exp(x) - 1.",
                with_number, [](Builder& b, std::span<const Var> in, const Attrs&) -> Vars {
                  Expr x = as_inexact(b, in[0]);
                  return {elu_of(x, parameter(b, in, x, 1))};
                });
  add_composite(t, "celu(x, alpha: array? = none)", "x where it is positive, else alpha (1) times exp(x / alpha) - 1.",
                with_number, celu);
  add_composite(t, "hard_tanh(x)", "x, no smaller than -1 and no larger than 1.", one,
                [](Builder& b, std::span<const Var> in, const Attrs&) -> Vars {
                  Expr x{b, in[0]};
                  return {select(gt(x, 1.0), 1.0, select(lt(x, -1.0), -1.0, x))};
                });
}

// To another float also the terms of an unreduced sum: the script says itself that each is rounded.
Vars cast(Builder& b, std::span<const Var> in, const Attrs& attrs) {
  const DType dtype = attrs.dtype("dtype");
  if (b.type(in[0]).sharding.unreduced.empty() || !runtime::is_float(dtype)) return {ir::convert(b, in[0], dtype)};
  return {b.emit1(*b.core().convert, {in[0]}, {{"dtype", dtype}, {"weak", false}, {"rounds", true}})};
}

}  // namespace

void register_activation(OpTable& t) {
  constexpr const char* one = "[4, 6] -3..3; [] -3..3; bf16[4] -3..3";
  // As jax.nn.relu: nan stays nan, and the derivative is 0 wherever x is not positive, at nan too.
  add_composite(t, "relu(x)", "x where it is positive, else 0; its derivative at 0 is 0.", one,
                [](Builder& b, std::span<const Var> in, const Attrs&) -> Vars {
                  const bool truth = b.type(in[0]).dtype == DType::Bool;  // counts as 0 or 1
                  Expr x{b, truth ? ir::convert(b, in[0], DType::I32, true) : in[0]};
                  return {select(gt(x, 0.0), x, call("stop_gradient", {maximum(x, x.number(0))}))};
                });
  add_composite(t, "gelu(x, approximate: bool = true)",
                "x times the normal distribution's share below x, by its form with tanh, or exactly.",
                {one, {}, "[4, 6] -3..3 approximate=false"}, gelu);
  register_formulas(t, one,
                    {{"silu(x)", "x * sigmoid(x).", [](const Expr& x) { return x * call("sigmoid", {x}); }, {"swish"}},
                     {"softplus(x)", "log(1 + exp(x)).", [](const Expr& x) { return log_add_exp(x, x.number(0)); }}});
  add_composite(t, "logaddexp(x, y)", "log(exp(x) + exp(y)) without overflow.", binary_samples({-3, 3}),
                [](Builder& b, std::span<const Var> in, const Attrs&) -> Vars {
                  const auto [x, y] = inexact_pair(b, in);
                  return {log_add_exp(x, y)};
                });
  add_composite(t, "hypot(x, y)", "sqrt(x * x + y * y) without overflow.", binary_samples({0.3, 3}), hypotenuse);
  add_composite(t, "xlogy(x, y)", "x * log(y), and 0 where x is 0 and y has no finite logarithm.",
                binary_samples({0.3, 3}), times_log("log", 0));
  add_composite(t, "xlog1py(x, y)", "x * log(1 + y), and 0 where x is 0 and y has no finite logarithm.",
                binary_samples({0.3, 3}), times_log("log1p", -1));
  register_rectifiers(t);
  add_composite(t, "glu(x, axis: int = -1)", "The first half of an axis times sigmoid of the second.",
                "[4, 8] -3..3; [4, 6] -3..3 axis=0", glu);
  add_composite(t, "nan_to_num(x, nan: array? = none, posinf: array? = none, neginf: array? = none)",
                "Numbers in place of nan (0) and of infinities (the largest and smallest of the type).",
                "[4, 6]; [4] [] has_nan=true; i32[4]", nan_to_num);
  add_composite(t, "clip(x, lo: array? = none, hi: array? = none)", "x, no smaller than lo and no larger than hi.",
                "[4, 6] -3..3 [] -1..0 [] 0..1 has_lo=true has_hi=true; "
                "[4, 6] -3..3 [6] 0..1 has_lo=false has_hi=true; "
                "i32[4] i32[] -1..0 i32[] 1..2 has_lo=true has_hi=true",
                clip)
      .aliases = {"clamp"};
  constexpr const char* near = "[4, 6] [4, 6] rtol=0.1 atol=0.5; [4, 6] i32[] 0..2; [4] [4] equal_nan=true";
  add_composite(t, "isclose(x, y, rtol: number = 1e-5, atol: number = 1e-8, equal_nan: bool = false)",
                "Whether x and y differ by no more than atol + rtol * abs(y), element by element.", near, isclose);
  add_composite(t, "allclose(x, y, rtol: number = 1e-5, atol: number = 1e-8, equal_nan: bool = false)",
                "Whether all elements of x and y differ by no more than atol + rtol * abs(y).", near,
                [](Builder& b, std::span<const Var> in, const Attrs& attrs) -> Vars {
                  return {b.call("all", {isclose(b, in, attrs)[0]})};
                });
  add_composite(t, "where(c, x, y)", "x where c is true, else y.",
                "bool[4, 6] 0..2 [4, 6] [4, 6]; bool[4, 1] 0..2 [6] i32[]; i32[4] 0..2 i32[4] []", where);
  OpDef& row =
      add_composite(t, "cast(x, dtype: dtype)",
                    "Another element type (of a tree, of each array); from float to integer the fraction is cut off.",
                    "[4, 6] -3..3 dtype=i32; i32[4] dtype=f32; [4] dtype=bool", cast);
  row.of_trees = true;
  row.aliases = {"astype",
                 {"to", "another element type is `cast(x, f16)` or `f16(x)`, another layout `shard x as P(@X)`"}};
}

}  // namespace shard::stdlib
