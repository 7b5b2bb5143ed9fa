// resize: an array of other sizes, as jax.image.resize makes it. Along each dimension whose size changes, every new
// element is a weighted mean of old ones: a product with a matrix of weights. `nearest` takes one of them.
#include <algorithm>
#include <cmath>
#include <numbers>

#include "stdlib/ops/moving/moving_steps.h"
#include "stdlib/ops/ops.h"

namespace shard::stdlib {
namespace {

enum class Method { Nearest, Linear, Cubic, Lanczos3, Lanczos5 };

Method method_named(const std::string& name) {
  struct Named {
    std::string_view name;
    Method method;
  };
  constexpr Named kMethods[] = {
      {"nearest", Method::Nearest},  {"linear", Method::Linear},     {"bilinear", Method::Linear},
      {"trilinear", Method::Linear}, {"cubic", Method::Cubic},       {"bicubic", Method::Cubic},
      {"tricubic", Method::Cubic},   {"lanczos3", Method::Lanczos3}, {"lanczos5", Method::Lanczos5}};
  for (const Named& m : kMethods)
    if (m.name == name) return m.method;
  fail("value",
       "resize: method is \"nearest\", \"linear\", \"cubic\", \"lanczos3\" or \"lanczos5\", not \"" + name + "\"");
}

// Keys, "Cubic convolution interpolation for digital image processing", 1981.
Expr cubic(const Expr& x) {
  Expr near = ((1.5 * x - 2.5) * x) * x + 1.0, far = ((-0.5 * x + 2.5) * x - 4.0) * x + 2.0;
  return select(ge(x, 2.0), 0.0, select(ge(x, 1.0), far, near));
}

Expr lanczos(const Expr& x, double radius) {
  constexpr double pi = std::numbers::pi;
  Expr wave = radius * call("sin", {pi * x}) * call("sin", {pi * x / radius});
  Expr inside = select(gt(x, 1e-3), wave / select(eq(x, 0.0), 1.0, pi * pi * x * x), 1.0);
  return select(gt(x, radius), 0.0, inside);
}

Expr weight_at(const Expr& distance, Method method) {
  if (method == Method::Cubic) return cubic(distance);
  if (method == Method::Lanczos3) return lanczos(distance, 3);
  if (method == Method::Lanczos5) return lanczos(distance, 5);
  return maximum(1.0 - distance, distance.number(0));
}

// [from, to]: what each old element counts in each new one.
Expr weights(Builder& b, std::int64_t from, std::int64_t to, Method method, bool antialias) {
  const double step = 1.0 / (static_cast<double>(to) / static_cast<double>(from));
  Expr place = (positions_along(b, to, 2, -1, DType::F32) + 0.5) * step - 0.5;
  Expr distance = call("abs", {place - positions_along(b, from, 2, -2, DType::F32)});
  if (antialias && step > 1) distance = distance / step;
  Expr w = weight_at(distance, method);
  Expr total{b, b.call("sum", {w}, {{"axis", Ints{0}}, {"keepdims", true}})};
  Expr counts = gt(call("abs", {total}), 1000.0 * 0x1p-23);
  w = w / select(eq(total, 0.0), 1.0, total);
  const Shape shape = w.type().shape;
  Expr inside = both(ge(place, -0.5), call("le", {place, place.number(static_cast<double>(from) - 0.5)}));
  return select({b, ir::broadcast_to(b, both(counts, inside), shape)}, w, 0.0);
}

Var nearest(Builder& b, Var x, std::int64_t axis, std::int64_t from, std::int64_t to) {
  Expr place = (positions_along(b, to, 1, -1, DType::F32) + 0.5) * static_cast<double>(from) / static_cast<double>(to);
  Expr index = cast_to(call("floor", {place}), DType::I32);
  return b.call("take", {x, index}, rows_along(axis));
}

// x with its axis replaced by that of the weights.
Var weighted(Builder& b, Var x, std::int64_t axis, Var w) {
  const std::size_t rank = b.type(x).shape.size();
  std::string letters = std::string("abcdefghijklmnopqrstuvw").substr(0, rank), made = letters;
  const auto at = static_cast<std::size_t>(static_cast<std::int64_t>(rank) + axis);
  made[at] = 'z';
  return b.call("contract", {x, w}, {{"spec", letters + "," + letters[at] + "z->" + made}});
}

Vars resize(Builder& b, std::span<const Var> in, const Attrs& attrs) {
  const Type t = b.type(in[0]);
  const Shape to = shape_of(*ints_if(attrs, "shape"), "resize");
  const Method method = method_named(text_or(attrs, "method", "linear"));
  if (to.size() != t.shape.size())
    fail("shape", "resize: the shape " + runtime::to_string(to) + " has another number of dimensions than " +
                      runtime::to_string(t));
  Var x = method == Method::Nearest ? in[0] : as_inexact(b, in[0]).var();
  for (std::size_t d = 0; d < to.size(); ++d) {
    if (to[d] == t.shape[d]) continue;
    if (t.shape[d] == 0) fail("shape", "resize of no elements: " + runtime::to_string(t));
    const std::int64_t axis = static_cast<std::int64_t>(d) - t.rank();
    if (method == Method::Nearest)
      x = nearest(b, x, axis, t.shape[d], to[d]);
    else
      x = weighted(
          b, x, axis,
          ir::convert(b, weights(b, t.shape[d], to[d], method, flag_or(attrs, "antialias", true)), b.type(x).dtype));
  }
  return {x};
}

}  // namespace

void register_resize(OpTable& t) {
  add_composite(t, "resize(x, shape: ints, method: str = \"linear\", antialias: bool = true)",
                "An array of other sizes: \"nearest\", \"linear\", \"cubic\", \"lanczos3\" or \"lanczos5\"; "
                "antialias: a smaller one is smoothed.",
                "[2, 4, 6, 2] shape=[2, 8, 3, 2] method='linear'; [4, 6] shape=[4, 4] method='nearest'; "
                "[8, 6] shape=[4, 3] method='cubic' antialias=false; [8] shape=[6] method='lanczos3'",
                resize);
}

}  // namespace shard::stdlib
