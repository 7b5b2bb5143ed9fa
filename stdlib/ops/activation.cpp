// Elementwise functions made of others: activations, clipping, choosing, casting. The fuser joins their parts into one
// pass.
#include <cmath>
#include <numbers>

#include "stdlib/ops/elementwise.h"
#include "stdlib/ops/ops.h"

namespace shard::stdlib {
namespace {

// The value as a float, as float functions of integers take it.
Expr inexact(Builder& b, Var x) {
  const Type& t = b.type(x);
  return {b, ir::convert(b, x, runtime::to_inexact(t.dtype), t.weak)};
}

// log(exp(x) + exp(y)) without overflow. -|d| is written as a minimum, whose derivative at a tie is 0 (JAX's is then
// right). Where both are the same infinity their difference is nan: the sum stands in.
Expr log_add_exp(const Expr& x, const Expr& y) {
  Expr d = x - y;
  return select(call("isnan", {d}), x + y, maximum(x, y) + call("log1p", {call("exp", {minimum(d, -d)})}));
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

}  // namespace

void register_activation(OpTable& t) {
  std::vector<Sample> one = {{{f32({4, 6}, -3, 3)}, {}}, {{f32({}, -3, 3)}, {}}, {{of(DType::BF16, {4}, -3, 3)}, {}}};
  // As jax.nn.relu: nan stays nan, and the derivative is 0 wherever x is not positive, at nan too.
  t.add(composite_row(
      "relu", "relu(x)", "x where it is positive, else 0; its derivative at 0 is 0.",
      [](Builder& b, std::span<const Var> in, const Attrs&) -> Vars {
        const bool truth = b.type(in[0]).dtype == DType::Bool;  // counts as 0 or 1
        Expr x{b, truth ? ir::convert(b, in[0], DType::I32, true) : in[0]};
        return {select(gt(x, 0.0), x, call("stop_gradient", {maximum(x, x.number(0))}))};
      },
      one));
  t.add(composite_row(
            "silu", "silu(x)", "x * sigmoid(x).",
            [](Builder& b, std::span<const Var> in, const Attrs&) -> Vars {
              Expr x = inexact(b, in[0]);
              return {x * call("sigmoid", {x})};
            },
            one))
      .aliases = {"swish"};
  // Hendrycks and Gimpel, "Gaussian Error Linear Units", 2016: the form with tanh.
  t.add(composite_row(
      "gelu", "gelu(x)", "x times the normal distribution's share below x, by its form with tanh.",
      [](Builder& b, std::span<const Var> in, const Attrs&) -> Vars {
        Expr x = inexact(b, in[0]);
        Expr inner = std::sqrt(2 / std::numbers::pi) * (x + 0.044715 * (x * x * x));
        return {x * (0.5 * (1.0 + call("tanh", {inner})))};
      },
      one));
  t.add(composite_row(
      "softplus", "softplus(x)", "log(1 + exp(x)).",
      [](Builder& b, std::span<const Var> in, const Attrs&) -> Vars {
        Expr x = inexact(b, in[0]);
        return {log_add_exp(x, x.number(0))};
      },
      one));
  t.add(composite_row(
      "logaddexp", "logaddexp(x, y)", "log(exp(x) + exp(y)) without overflow.",
      [](Builder& b, std::span<const Var> in, const Attrs&) -> Vars {
        Kind kind = promoted(b, in);
        kind.dtype = runtime::to_inexact(kind.dtype);
        return {log_add_exp({b, promote_to(b, in[0], kind)}, {b, promote_to(b, in[1], kind)})};
      },
      binary_samples({-3, 3})));
  t.add(composite_row("clip", "clip(x, lo: array? = none, hi: array? = none)",
                      "x, no smaller than lo and no larger than hi.", clip,
                      {{{f32({4, 6}, -3, 3), f32({}, -1, 0), f32({}, 0, 1)}, {{"has_lo", true}, {"has_hi", true}}},
                       {{f32({4, 6}, -3, 3), f32({6}, 0, 1)}, {{"has_lo", false}, {"has_hi", true}}},
                       {{i32({4}), i32({}, -1, 0), i32({}, 1, 2)}, {{"has_lo", true}, {"has_hi", true}}}}))
      .aliases = {"clamp"};
  t.add(composite_row("where", "where(c, x, y)", "x where c is true, else y.", where,
                      {{{of(DType::Bool, {4, 6}, 0, 2), f32({4, 6}), f32({4, 6})}, {}},
                       {{of(DType::Bool, {4, 1}, 0, 2), f32({6}), i32({})}, {}},
                       {{i32({4}, 0, 2), i32({4}), f32({})}, {}}}));
  t.add(composite_row("cast", "cast(x, dtype: dtype)",
                      "Another element type; from float to integer the fraction is cut off.",
                      [](Builder& b, std::span<const Var> in, const Attrs& attrs) -> Vars {
                        return {ir::convert(b, in[0], attrs.dtype("dtype"))};
                      },
                      {{{f32({4, 6}, -3, 3)}, {{"dtype", DType::I32}}},
                       {{i32({4})}, {{"dtype", DType::F32}}},
                       {{f32({4}, -1, 1)}, {{"dtype", DType::Bool}}}}))
      .aliases = {"astype",
                  {"to", "another element type is `cast(x, f16)` or `f16(x)`, another layout `shard x as P(@X)`"}};
}

}  // namespace shard::stdlib
