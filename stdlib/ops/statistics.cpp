// Reductions as users call them, `axis` (an integer, a list, none for all) and `keepdims`: made of those in reduce.cpp.
// Element types are JAX's: sums of small integers are i32 or u32, means and norms of integers are f32, f16 and bf16 are
// averaged in f32.
#include <cmath>
#include <limits>

#include "interpreter/ir/complex_parts.h"
#include "stdlib/ops/moving/moving_steps.h"
#include "stdlib/ops/ops.h"
#include "stdlib/ops/reduction.h"

namespace shard::stdlib {
namespace {

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
