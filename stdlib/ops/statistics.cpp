// Reductions as users call them, `axis` (an integer, a list, none for all) and `keepdims`: made of those in reduce.cpp.
// Element types are JAX's: sums of small integers are i32 or u32, means and norms of integers are f32, f16 and bf16 are
// averaged in f32.
#include <cmath>
#include <limits>

#include "interpreter/ir/complex_parts.h"
#include "stdlib/ops/moving/moving_steps.h"
#include "stdlib/ops/ops.h"

namespace shard::stdlib {
namespace {

constexpr std::int64_t kLast = -1;

// The axes of a call, the shape of its result, and the pieces to get there.
struct Reduction {
  Builder& b;
  const Attrs& attrs;
  Shape full;
  Ints axes;
  bool keep;

  Reduction(Builder& builder, Var x, const Attrs& a, std::string_view op, std::optional<Ints> otherwise = std::nullopt)
      : b(builder), attrs(a), full(builder.type(x).shape), keep(flag_or(a, "keepdims", false)) {
    auto given = ints_if(a, "axis");
    axes = axes_from_end(given ? given : otherwise, static_cast<std::int64_t>(full.size()), op);
  }
  std::int64_t count() const {
    std::int64_t n = 1;
    for (auto a : axes) n *= full[static_cast<std::size_t>(from_front(a, static_cast<std::int64_t>(full.size())))];
    return n;
  }
  // `row` over the axes. With `out` the reduction itself is laid out so, where dimensions are not kept.
  Expr run(std::string_view row, Var x) const {
    if (axes.empty()) return {b, x};
    Attrs a{{"axes", axes}};
    return {b, b.call(row, {x}, keep ? a : with_out(a, attrs))};
  }
  Expr kept(std::string_view row, Var x) const { return {b, expand(b, run(row, x), ones_at(full, axes))}; }
  Var finish(Var reduced) const {
    if (!keep) return reduced;
    Shape shape = ones_at(full, axes);
    if (attrs.has("out")) return b.call("reshape", {reduced}, with_out({{"shape", shape}}, attrs));
    return expand(b, reduced, shape);
  }
};

void need_elements(const Reduction& r, std::string_view op) {
  if (r.count() == 0)
    fail("shape", std::string(op) + " of no elements is not defined: the shape is " + runtime::to_string(r.full));
}

DType summed(DType t) {
  if (t == DType::Bool || t == DType::I8 || t == DType::I16) return DType::I32;
  if (t == DType::U8 || t == DType::U16) return DType::U32;
  return t;
}

ir::Compose plain(std::string_view op, std::string_view row, bool promote, bool nonempty) {
  return [=](Builder& b, std::span<const Var> in, const Attrs& attrs) -> Vars {
    Reduction r{b, in[0], attrs, op};
    if (nonempty) need_elements(r, op);
    const Type& t = b.type(in[0]);
    Var x = promote ? ir::convert(b, in[0], summed(t.dtype), t.weak && summed(t.dtype) == t.dtype) : in[0];
    return {r.finish(r.run(row, x))};
  };
}

ir::Compose truth(std::string_view op, std::string_view row) {
  return [=](Builder& b, std::span<const Var> in, const Attrs& attrs) -> Vars {
    Var x = in[0];
    if (b.type(x).dtype != DType::Bool) x = b.call("ne", {x, ir::constant(b, 0, b.type(x).dtype)});
    Reduction r{b, x, attrs, op};
    return {r.finish(r.run(row, x))};
  };
}

Expr mean_of(const Reduction& r, const Expr& x) { return r.run("reduce_sum", x) / static_cast<double>(r.count()); }

Vars mean(Builder& b, std::span<const Var> in, const Attrs& attrs) {
  Reduction r{b, in[0], attrs, "mean"};
  Expr x = as_inexact(b, in[0]);
  return {r.finish(cast_to(mean_of(r, summed_in(x)), x.type().dtype, x.type().weak))};
}

// Weights have the shape of x, or are a vector along the one axis.
Vars average(Builder& b, std::span<const Var> in, const Attrs& attrs) {
  if (in.size() < 2) return mean(b, in, attrs);
  auto [x, by] = inexact_pair(b, in);
  const Reduction r{b, x, attrs, "average"};
  if (by.type().shape != r.full) {
    const bool along = attrs.has("axis") && r.axes.size() == 1 && by.type().shape == Shape{r.count()};
    if (!along)
      fail("shape", "average: weights have the shape of the array, or are a vector along its `axis:`; these are " +
                        runtime::to_string(b.type(in[1])) + " for " + runtime::to_string(b.type(in[0])));
    Shape shape(r.full.size(), 1);
    shape[static_cast<std::size_t>(from_front(r.axes[0], static_cast<std::int64_t>(shape.size())))] = r.count();
    by = {b, expand(b, by, shape)};
  }
  const Attrs how{{"axis", r.axes}, {"keepdims", r.keep}};
  return {call("sum", {x * by}, how) / call("sum", {by}, how)};
}

// |x| ** 2
Expr squared_size(const Expr& x) {
  Builder& b = x.builder();
  if (!ir::is_complex(b, x)) return call("square", {x});
  Expr re{b, ir::real_part(b, x)}, im{b, ir::imag_part(b, x)};
  return re * re + im * im;
}

// The mean squared distance from the mean; divides by the number of elements less `ddof`.
Expr variance(const Reduction& r, const Expr& x) {
  Expr w = summed_in(x);
  Expr centre{r.b, expand(r.b, mean_of(r, w), ones_at(r.full, r.axes))};
  Expr squares = squared_size(w - centre);
  const std::int64_t left = r.count() - integer_or(r.attrs, "ddof", 0);
  Expr sum = r.run("reduce_sum", squares);
  return left > 0 ? sum / static_cast<double>(left) : sum * 0.0 / 0.0;  // nan, as JAX has it
}

ir::Compose spread_of(bool root) {
  return [root](Builder& b, std::span<const Var> in, const Attrs& attrs) -> Vars {
    Reduction r{b, in[0], attrs, root ? "std" : "var"};
    Expr x = as_inexact(b, in[0]), v = variance(r, x);
    if (root) v = call("sqrt", {v});
    const DType own = x.type().dtype, back = runtime::is_complex(own) ? runtime::part_of(own) : own;
    return {r.finish(cast_to(v, back, x.type().weak))};
  };
}

Vars norm(Builder& b, std::span<const Var> in, const Attrs& attrs) {
  Reduction r{b, in[0], attrs, "norm"};
  Expr x = as_inexact(b, in[0]);
  const std::optional<double> ord = number_if(attrs, "ord");
  if (ord && *ord != 2) {  // of vectors: the largest, the smallest, how many are not 0, or a root of powers
    if (r.axes.size() != 1)
      fail("shape",
           "norm: `ord:` is for vectors, so `axis:` must name one dimension of " + runtime::to_string(b.type(in[0])));
    Expr size = call("abs", {x});
    if (std::isinf(*ord)) return {r.finish(r.run(*ord > 0 ? "reduce_max" : "reduce_min", size))};
    if (*ord == 0) return {r.finish(r.run("reduce_sum", cast_to(call("ne", {x, x.number(0)}), size.type().dtype)))};
    if (*ord == 1) return {r.finish(r.run("reduce_sum", size))};
    Expr sum = r.run("reduce_sum", call("pow", {size, size.number(*ord)}));
    return {r.finish(call("pow", {sum, sum.number(1 / *ord)}))};
  }
  return {r.finish(call("sqrt", {r.run("reduce_sum", squared_size(x))}))};
}

// The largest element, finite, and without a derivative: it only keeps exponentials in range.
Expr safe_peak(const Reduction& r, const Expr& x) {
  Expr peak = r.kept("reduce_max", ir::real_part(r.b, x));
  return call("stop_gradient", {select(call("isfinite", {peak}), peak, 0.0)});
}

// The logarithm of the sum of exp(x), each as `weighted`.
template <class Weighted>
Vars log_of_sum(const Reduction& r, const Expr& x, Weighted weighted) {
  Expr peak = safe_peak(r, x);
  Expr sum = r.kept("reduce_sum", weighted(call("exp", {x - peak})));
  Expr y = call("log", {sum}) + peak;
  return {r.keep ? y.var() : expand(r.b, y, erase_axes(r.full, r.axes))};
}

// log |sum(by * exp(x))|, and nan where the sum is below 0 (SciPy and JAX); what is taken 0 times may be infinite.
Vars weighted_logsumexp(Builder& b, std::span<const Var> in, const Attrs& attrs) {
  auto [x, by] = inexact_pair(b, in);
  if (ir::is_complex(b, x)) fail("type", "logsumexp: `b:` is for real numbers");
  const auto shape = runtime::broadcast(b.type(in[0]).shape, b.type(in[1]).shape);
  if (!shape)
    fail("shape", "logsumexp: the weights `b:`, " + runtime::to_string(b.type(in[1])) + ", do not fit " +
                      runtime::to_string(b.type(in[0])));
  x = {b, ir::broadcast_to(b, x, *shape)};
  x = select({b, ir::broadcast_to(b, call("ne", {by, by.number(0)}), *shape)}, x,
             -std::numeric_limits<double>::infinity());
  const Reduction r{b, x, attrs, "logsumexp"};
  const Expr weights = by;
  return log_of_sum(r, x, [&](const Expr& e) { return weights * e; });
}

Vars logsumexp(Builder& b, std::span<const Var> in, const Attrs& attrs) {
  if (in.size() > 1) return weighted_logsumexp(b, in, attrs);
  Reduction r{b, in[0], attrs, "logsumexp"};
  Expr x = as_inexact(b, in[0]);
  if (r.count() == 0) return {r.finish(call("log", {r.run("reduce_sum", x)}))};  // -inf, of nothing
  return log_of_sum(r, x, [](const Expr& e) { return e; });
}

ir::Compose softmax(bool logarithm) {
  return [logarithm](Builder& b, std::span<const Var> in, const Attrs& attrs) -> Vars {
    Reduction r{b, in[0], attrs, logarithm ? "log_softmax" : "softmax", Ints{kLast}};
    Expr x = as_inexact(b, in[0]);
    if (r.count() == 0) return {x};
    Expr shifted = x - call("stop_gradient", {r.kept("reduce_max", ir::real_part(b, x))}), e = call("exp", {shifted});
    Expr sum = r.kept("reduce_sum", e);
    return {logarithm ? shifted - call("log", {sum}) : e / sum};
  };
}

ir::Compose arg_extreme(std::string_view op, std::string_view row) {
  return [=](Builder& b, std::span<const Var> in, const Attrs& attrs) -> Vars {
    Var x = in[0];
    auto rank = static_cast<std::int64_t>(b.type(x).shape.size());
    bool keep = flag_or(attrs, "keepdims", false), all = !attrs.has("axis");
    Shape full = b.type(x).shape;
    if (all) x = flat(b, x);
    std::int64_t axis = all ? -1 : from_end(integer_or(attrs, "axis", 0), rank, op);
    const Shape& now = b.type(x).shape;
    if (now[static_cast<std::size_t>(from_front(axis, static_cast<std::int64_t>(now.size())))] == 0)
      fail("shape", std::string(op) + " of no elements is not defined: the shape is " + runtime::to_string(full));
    Var y = b.call(row, {x}, {{"axis", axis}});
    return {keep ? expand(b, y, all ? Shape(full.size(), 1) : ones_at(full, {axis})) : y};
  };
}

ir::Samples axis_samples(double low, double high, bool one_axis = false) {
  return {"[4, 6]; [4, 6] axis=[0]; [2, 4, 6] axis=[-2] keepdims=true; i32[4, 2] 1..5", ir::Range{low, high},
          one_axis ? "" : "[2, 4, 6] axis=[0, 2]"};
}

}  // namespace

void register_statistics(OpTable& t) {
  auto add = [&](std::string_view signature, std::string_view doc, ir::Compose compose,
                 ir::Samples samples = axis_samples(-2, 2)) -> OpDef& {
    return add_composite(t, signature, doc, samples, std::move(compose));
  };
  add("sum(x, axis: ints? = none, keepdims: bool = false, out: spec? = none)",
      "The sum of all elements, or along axes.", plain("sum", "reduce_sum", true, false));
  add("prod(x, axis: ints? = none, keepdims: bool = false)", "The product of all elements, or along axes.",
      plain("prod", "reduce_prod", true, false), axis_samples(0.5, 2));
  add("max(x, axis: ints? = none, keepdims: bool = false, out: spec? = none)",
      "The largest element, or along axes; ties share the derivative.", plain("max", "reduce_max", false, true))
      .aliases = {"amax"};
  add("min(x, axis: ints? = none, keepdims: bool = false, out: spec? = none)",
      "The smallest element, or along axes; ties share the derivative.", plain("min", "reduce_min", false, true))
      .aliases = {"amin"};
  add("mean(x, axis: ints? = none, keepdims: bool = false)", "The mean of all elements, or along axes.", mean);
  add("var(x, axis: ints? = none, keepdims: bool = false, ddof: int = 0)",
      "The mean squared distance from the mean; ddof: how many degrees of freedom are given up.", spread_of(false));
  add("std(x, axis: ints? = none, keepdims: bool = false, ddof: int = 0)", "The root of the variance.",
      spread_of(true));
  add("norm(x, axis: ints? = none, keepdims: bool = false, ord: number? = none)",
      "The root of the sum of squares; of vectors also the norm of another order (1, 3, inf).", norm);
  add("average(x, axis: ints? = none, weights: array? = none, keepdims: bool = false)",
      "The mean; with weights, of the shape of x or a vector along the axis, sum(weights * x) / sum(weights).", average,
      {"[4, 6]; [4, 6] [4, 6] has_weights=true; [4, 6] [4] axis=[0] has_weights=true; "
       "[2, 4, 6] [6] axis=[-1] keepdims=true has_weights=true",
       ir::Range{0.5, 2}});
  add("logsumexp(x, axis: ints? = none, keepdims: bool = false, b: array? = none)",
      "log(sum(exp(x))) without overflow; with weights b, log(sum(b * exp(x))).", logsumexp,
      {"[4, 6]; [4, 6] axis=[0]; [2, 4, 6] axis=[-2] keepdims=true; i32[4, 2] 1..5; "
       "[4, 6] [6] 0.5..2 axis=[-1] has_b=true; [6] [4, 1] 0.5..2 axis=[0] has_b=true",
       ir::Range{-2, 2}, "[2, 4, 6] axis=[0, 2]"});
  add("softmax(x, axis: ints = -1)", "exp(x) divided by its sum along an axis.", softmax(false));
  add("log_softmax(x, axis: ints = -1)", "The logarithm of softmax.", softmax(true));
  add("any(x, axis: ints? = none, keepdims: bool = false)", "Whether one element is true (not 0).",
      truth("any", "reduce_or"));
  add("all(x, axis: ints? = none, keepdims: bool = false)", "Whether all elements are true (not 0).",
      truth("all", "reduce_and"));
  add("argmax(x, axis: int? = none, keepdims: bool = false)",
      "The position of the largest element, of equals the first.", arg_extreme("argmax", "arg_max"),
      axis_samples(-2, 2, true));
  add("argmin(x, axis: int? = none, keepdims: bool = false)",
      "The position of the smallest element, of equals the first.", arg_extreme("argmin", "arg_min"),
      axis_samples(-2, 2, true));
}

}  // namespace shard::stdlib
