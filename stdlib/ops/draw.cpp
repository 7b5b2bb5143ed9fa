// Distributions beyond sample.cpp's, the same numbers as jax.random's: those that are formulas of uniform or normal
// numbers (exponential, laplace, multivariate_normal), and those that draw until something is accepted (gamma, beta,
// dirichlet, poisson, binomial). The latter are drawn element by element: each has a key or a number of its own (and
// the turns of its array), so layouts change nothing. The derivative of a gamma number by alpha is the implicit one
// (Figurnov, Mohamed and Mnih, "Implicit reparameterization gradients", 2018).
#include <cmath>

#include "runtime/kernels/draws.h"
#include "stdlib/ops/hlo.h"
#include "stdlib/ops/moving/moving_steps.h"
#include "stdlib/ops/ops.h"

namespace shard::stdlib {
namespace {

// ---- rows: operands broadcast against each other, keys among them

using Draw = void (*)(runtime::Views in, const View& out, bool logarithm, const runtime::Stop* stop);

// Keys, i32 and i64 beside them, and last f32 or f64, all of one type.
void check_drawn(const OpCall& call) {
  for (const Type& t : call.in) {
    const bool number = t.dtype == DType::F32 || t.dtype == DType::F64;
    const bool beside = t.dtype == DType::Key || t.dtype == DType::I32 || t.dtype == DType::I64;
    if (&t == &call.in.back() ? !number : !beside && (!number || t.dtype != call.in.back().dtype))
      fail("type", std::string(call.op.name) + " takes numbers of one type, f32 or f64, got " + runtime::to_string(t));
  }
}

OpDef draw_row(std::string_view signature, std::string_view doc, ir::HloFn written, Draw draw) {
  OpDef row = internal_row(signature, doc, broadcast_factors);
  row.dtype.result = [](const OpCall& call) {
    check_drawn(call);
    return std::vector<Kind>{{call.in.back().dtype, false}};
  };
  row.derivative = ir::Zero{};
  row.hlo = std::move(written);
  row.kernel = [draw](const KernelCall& c) -> BoundKernel {
    std::vector<View> views;
    for (const View& v : c.in) views.push_back(over_result(v, c));
    View out = c.out[0];
    const bool logarithm = flag_or(c.attrs, "log", false);
    const runtime::Stop* stop = &c.pool.stop();
    return [=](void* const* in, void* const* o) mutable {
      std::vector<View> now = views;
      for (std::size_t i = 0; i < now.size(); ++i) now[i].data = in[i];
      draw(now, at(out, o[0]), logarithm, stop);
    };
  };
  row.flops = 200;
  return row;
}

// Poisson and binomial numbers, in two rows each: how many turns an element takes, and what it is when its array takes
// so many.
void register_accepted(OpTable& t) {
  const auto counts = [](OpDef row, ir::Samples samples) {
    row.dtype.result = [](const OpCall& call) {
      check_drawn(call);
      return std::vector<Kind>{{DType::I32, false}};
    };
    row.samples = samples;
    return row;
  };
  t.add(counts(draw_row("poisson_turns(key, index, rate)",
                        "How often numbers are drawn for these places of an array until one is accepted.",
                        drawing::poisson_turns_hlo, runtime::poisson_turns),
               "key i32[4, 6] 0..24 [4, 6] 0..20"));
  t.add(counts(draw_row("poisson_numbers(key, index, turns, rate)",
                        "The Poisson numbers at these places of an array drawn with a key, in so many turns.",
                        drawing::poisson_hlo, runtime::draw_poisson),
               "key i32[4, 6] 0..24 i32[] 9..10 [4, 6] 0..20; key[4] i32[4] 0..4 i32[4] 9..12 [] 0..30"));
  t.add(counts(draw_row("binomial_turns(key, index, trials, chance)",
                        "How often numbers are drawn for these places of an array until one is accepted.",
                        drawing::binomial_turns_hlo, runtime::binomial_turns),
               "key i32[4, 6] 0..24 [4, 6] 0..60 [4, 6] 0..1"));
  OpDef binomial = draw_row("binomial_numbers(key, index, turns, trials, chance)",
                            "The binomial numbers at these places of an array drawn with a key, in so many turns.",
                            drawing::binomial_hlo, runtime::draw_binomial);
  binomial.samples =
      "key i32[4, 6] 0..24 i32[] 9..10 [4, 6] 0..60 [4, 6] 0..1; "
      "key[4] i32[4] 0..4 i32[4] 9..12 [4] 0..9 [] 0..1";
  t.add(std::move(binomial));
}

void register_draws(OpTable& t) {
  OpDef slope = draw_row("gamma_slope(alpha, sample, log: bool = false)", "The derivative of gamma numbers by alpha.",
                         drawing::gamma_slope_hlo, runtime::gamma_derivative);
  slope.derivative = ir::NotDifferentiable{"gamma numbers have a first derivative only"};
  slope.samples = "[4, 6] 0.3..5 [4, 6] 0.1..9; [] 0.3..5 [4] -5..2 log=true";
  t.add(std::move(slope));

  OpDef gamma = draw_row("gamma_numbers(keys, alpha, log: bool = false)",
                         "A gamma number (or its logarithm) for each key.", drawing::gamma_hlo, runtime::draw_gamma);
  gamma.derivative = ir::Custom{[](Builder& b, const NodeView& n, std::span<const Var> tangents) -> Vars {
                                  if (!tangents[1].valid()) return {Var{}};
                                  Var by_alpha = b.call("gamma_slope", {n.in[1], n.out[0]}, n.call.attrs);
                                  return {ir::mul(b, by_alpha, tangents[1])};
                                },
                                {}};
  gamma.samples = "key[4] [4] 0.3..5; key[4, 6] [6] 0.1..2 log=true";
  t.add(std::move(gamma));

  register_accepted(t);
}

// ---- what samplers share

Shape sizes_drawn(const Attrs& attrs, std::string_view op, const Shape& parameters) {
  const Shape shape = shape_of(ints_if(attrs, "shape").value_or(parameters), op);
  const auto joined = runtime::broadcast(parameters, shape);
  if (!joined || *joined != shape)
    fail("shape", std::string(op) + ": parameters of shape " + runtime::to_string(parameters) +
                      " do not fit the shape " + runtime::to_string(shape));
  return shape;
}

Shape broadcast_of(const Builder& b, std::string_view op, Var x, Var y) {
  const auto shape = runtime::broadcast(b.type(x).shape, b.type(y).shape);
  if (!shape)
    fail("shape", std::string(op) + ": parameters " + runtime::to_string(b.type(x)) + " and " +
                      runtime::to_string(b.type(y)) + " do not fit together");
  return *shape;
}

DType float_drawn(const Attrs& attrs, std::string_view op, bool narrow_too) {
  const DType t = float_asked(attrs, op);
  if (!narrow_too && t != DType::F32 && t != DType::F64)
    fail("type", std::string(op) + " draws f32 or f64, not " + std::string(runtime::name(t)) +
                     ": cast what it gives, `cast(" + std::string(op) + "(...), " + std::string(runtime::name(t)) +
                     ")`");
  return t;
}

Expr uniform_drawn(Builder& b, Var key, const Shape& shape, DType dtype, std::optional<double> low = {}) {
  Attrs attrs{{"shape", shape}, {"dtype", dtype}};
  if (!low) return {b, b.call("uniform", {key}, attrs)};
  attrs.set("has_minval", true), attrs.set("has_maxval", true);
  return {b, b.call("uniform", {key, ir::constant(b, *low, dtype), ir::constant(b, 1, dtype)}, attrs)};
}

// A key for each element of `shape`, under the dimensions of the keys that are given.
Var key_each(Builder& b, Var key, const Shape& shape) {
  Var keys = b.call("split_keys", {key}, {{"shape", under_keys(b, key, {runtime::numel(shape)})}});
  return expand(b, keys, under_keys(b, key, shape));
}
// One key for all elements of `shape`, and the number of each.
Var key_beside(Builder& b, Var key, const Shape& shape) {
  return expand(b, key, under_keys(b, key, Shape(shape.size(), 1)));
}
Var numbers_of(Builder& b, const Shape& shape) {
  const std::int64_t n = runtime::numel(shape);
  return expand(b, positions_along(b, n, 1, -1, n > INT32_MAX ? DType::I64 : DType::I32), shape);
}

// The most turns that an element of `shape` takes: those of the array.
Var turns_of_all(Builder& b, Var turns, const Shape& shape) {
  if (shape.empty() || runtime::numel(shape) == 0) return turns;
  return b.call("max", {turns}, {{"axis", last(static_cast<std::int64_t>(shape.size()))}, {"keepdims", true}});
}

// ---- distributions

Vars exponential(Builder& b, std::span<const Var> in, const Attrs& attrs) {
  const DType dtype = float_drawn(attrs, "exponential", true);
  return {-call("log1p", {-uniform_drawn(b, in[0], sizes_drawn(attrs, "exponential", {}), dtype)})};
}

Vars laplace(Builder& b, std::span<const Var> in, const Attrs& attrs) {
  const DType dtype = float_drawn(attrs, "laplace", true);
  const int digits = runtime::float_form(dtype)->fraction + 1;
  Expr u = uniform_drawn(b, in[0], sizes_drawn(attrs, "laplace", {}), dtype, -1 + std::ldexp(1.0, -digits));
  return {call("sign", {u}) * call("log1p", {-call("abs", {u})})};
}

Expr gamma_numbers(Builder& b, Var key, Var alpha, const Shape& shape, DType dtype, bool log) {
  Var a = ir::broadcast_to(b, ir::convert(b, alpha, dtype), shape);
  return {b, b.call("gamma_numbers", {key_each(b, key, shape), a}, {{"log", log}})};
}

ir::Compose gamma(std::string_view op, bool log) {
  return [op, log](Builder& b, std::span<const Var> in, const Attrs& attrs) -> Vars {
    const DType dtype = float_drawn(attrs, op, false);
    return {gamma_numbers(b, in[0], in[1], sizes_drawn(attrs, op, b.type(in[1]).shape), dtype, log)};
  };
}

// Of the logarithms of two gamma numbers, so that small ones are not lost.
Vars beta(Builder& b, std::span<const Var> in, const Attrs& attrs) {
  const DType dtype = float_drawn(attrs, "beta", false);
  const Shape shape = sizes_drawn(attrs, "beta", broadcast_of(b, "beta", in[1], in[2]));
  const auto [key_a, key_b] = two_keys(b, in[0]);
  Expr x = gamma_numbers(b, key_a, in[1], shape, dtype, true), y = gamma_numbers(b, key_b, in[2], shape, dtype, true);
  Expr most = maximum(x, y), p = call("exp", {x - most}), q = call("exp", {y - most});
  return {p / (p + q)};
}

Vars dirichlet(Builder& b, std::span<const Var> in, const Attrs& attrs) {
  const DType dtype = float_drawn(attrs, "dirichlet", false);
  Shape batch = b.type(in[1]).shape;
  if (batch.empty()) fail("shape", "dirichlet takes a vector of alphas, got " + runtime::to_string(b.type(in[1])));
  const std::int64_t n = batch.back();
  batch.pop_back();
  Shape shape = sizes_drawn(attrs, "dirichlet", batch);
  shape.push_back(n);
  return {b.call("softmax", {gamma_numbers(b, in[0], in[1], shape, dtype, true)}, {{"axis", Ints{-1}}})};
}

Vars poisson(Builder& b, std::span<const Var> in, const Attrs& attrs) {
  const DType dtype = dtype_if(attrs, "dtype").value_or(DType::I32);
  if (!runtime::is_integer(dtype))
    fail("type", "poisson gives an integer type, not " + std::string(runtime::name(dtype)));
  const Shape shape = sizes_drawn(attrs, "poisson", b.type(in[1]).shape);
  Var rate = ir::broadcast_to(b, ir::convert(b, in[1], DType::F32), shape);
  Var key = key_beside(b, in[0], shape), numbers = numbers_of(b, shape);
  Var turns = turns_of_all(b, b.call("poisson_turns", {key, numbers, rate}), shape);
  Var drawn = b.call("poisson_numbers", {key, numbers, turns, rate});
  return {ir::convert(b, drawn, dtype)};
}

Vars binomial(Builder& b, std::span<const Var> in, const Attrs& attrs) {
  const DType dtype = float_drawn(attrs, "binomial", false);
  const Shape shape = sizes_drawn(attrs, "binomial", broadcast_of(b, "binomial", in[1], in[2]));
  const DType wide = b.type(in[2]).dtype == DType::F64 ? DType::F64 : DType::F32;
  Var trials = ir::broadcast_to(b, ir::convert(b, in[1], wide), shape),
      chance = ir::broadcast_to(b, ir::convert(b, in[2], wide), shape);
  Var key = key_beside(b, in[0], shape), numbers = numbers_of(b, shape);
  Var turns = turns_of_all(b, b.call("binomial_turns", {key, numbers, trials, chance}), shape);
  Var drawn = b.call("binomial_numbers", {key, numbers, turns, trials, chance});
  return {ir::convert(b, drawn, dtype)};
}

Vars multivariate_normal(Builder& b, std::span<const Var> in, const Attrs& attrs) {
  const auto [mean, cov] = inexact_pair(b, in.subspan(1));
  const DType dtype = attrs.has("dtype") ? float_drawn(attrs, "multivariate_normal", true) : mean.type().dtype;
  const Shape m = mean.type().shape, c = cov.type().shape;
  if (m.empty() || c.size() < 2 || c.back() != m.back() || c[c.size() - 2] != m.back())
    fail("shape", "multivariate_normal takes a mean [..., n] and a covariance [..., n, n], got " +
                      runtime::to_string(b.type(in[1])) + " and " + runtime::to_string(b.type(in[2])));
  const auto batch = runtime::broadcast({m.begin(), m.end() - 1}, {c.begin(), c.end() - 2});
  if (!batch)
    fail("shape", "multivariate_normal: " + runtime::to_string(b.type(in[1])) + " and " +
                      runtime::to_string(b.type(in[2])) + " do not fit together");
  Shape shape = sizes_drawn(attrs, "multivariate_normal", *batch);
  shape.push_back(m.back());
  const std::string method = text_or(attrs, "method", "cholesky");
  if (method != "cholesky" && method != "eigh" && method != "svd")
    fail("value", "multivariate_normal: method is \"cholesky\", \"eigh\" or \"svd\", got \"" + method + "\"");
  std::optional<Expr> factor;
  if (method == "cholesky") {
    factor = Expr{b, b.call("cholesky", {cov})};
  } else {
    const Vars parts = b.emit(b.table().at(method), {cov.var()}, {});
    Expr vectors{b, parts[method == "svd" ? 0 : 1]}, values{b, parts[method == "svd" ? 1 : 0]};
    Shape row = values.type().shape;
    row.insert(row.end() - 1, 1);
    factor = vectors * call("sqrt", {Expr{b, expand(b, values, row)}});
  }
  Expr drawn{b, b.call("normal", {in[0]}, {{"shape", shape}, {"dtype", dtype}})};
  return {mean + Expr{b, b.call("einsum", {*factor, drawn}, {{"spec", std::string("...ij,...j->...i")}})}};
}

}  // namespace

void register_draw(OpTable& t) {
  register_draws(t);
  auto add = [&](std::string_view signature, std::string_view doc, ir::Compose compose, ir::Samples samples) {
    add_composite(t, signature, doc, samples, laid_out_last(std::move(compose)));
  };
  add("exponential(key, shape: ints = [], dtype: dtype? = none, out: spec? = none)",
      "Numbers of the exponential distribution of mean 1.", exponential, "key shape=[4, 6]; key");
  add("laplace(key, shape: ints = [], dtype: dtype? = none, out: spec? = none)",
      "Numbers of the Laplace distribution of mean 0 and scale 1.", laplace, "key shape=[4, 6]");
  add("gamma(key, a, shape: ints? = none, dtype: dtype? = none, out: spec? = none)",
      "Numbers of the gamma distribution of shape a and scale 1.", gamma("gamma", false),
      "key [] 0.3..5 shape=[4, 6]; key [4, 6] 0.3..5");
  add("loggamma(key, a, shape: ints? = none, dtype: dtype? = none, out: spec? = none)",
      "Logarithms of gamma numbers, right for small a too.", gamma("loggamma", true), "key [6] 0.1..2 shape=[4, 6]");
  add("beta(key, a, b, shape: ints? = none, dtype: dtype? = none, out: spec? = none)",
      "Numbers of the beta distribution: between 0 and 1.", beta, "key [] 0.3..5 [6] 0.3..5 shape=[4, 6]");
  add("dirichlet(key, alpha, shape: ints? = none, dtype: dtype? = none, out: spec? = none)",
      "Shares that sum to 1 along the last dimension.", dirichlet, "key [6] 0.3..5 shape=[4]");
  add("poisson(key, lam, shape: ints? = none, dtype: dtype? = none, out: spec? = none)",
      "How many events come where lam are expected.", poisson, "key [] 0..20 shape=[4, 6]; key [4, 6] 0..20");
  add("binomial(key, n, p, shape: ints? = none, dtype: dtype? = none, out: spec? = none)",
      "How many of n trials succeed, each with probability p.", binomial,
      "key [] 1..60 [6] 0..1 shape=[4, 6]; key [4] 1..60 [4] 0..1");
  add("multivariate_normal(key, mean, cov, shape: ints? = none, dtype: dtype? = none, method: str = \"cholesky\", out: "
      "spec? = none)",
      "Vectors of the normal distribution of this mean and covariance.", multivariate_normal,
      "key [1] [1, 1] 1..2 shape=[4]");
}

}  // namespace shard::stdlib
