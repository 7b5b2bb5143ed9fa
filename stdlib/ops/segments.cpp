// Elements counted and joined by where they belong: segment_max, segment_min, segment_prod (segment_sum is in
// moving/gather_scatter.cpp), bincount, histogram. All write to places that another array gives; places that are none
// are left out.
#include <cmath>
#include <limits>

#include "stdlib/ops/moving/moving_steps.h"
#include "stdlib/ops/ops.h"

namespace shard::stdlib {
namespace {

// What changes nothing: infinities, or the ends of an integer type.
double neutral(DType t, std::string_view op) {
  if (op == "mul") return 1;
  const bool largest = op == "min";
  if (runtime::is_float(t))
    return largest ? std::numeric_limits<double>::infinity() : -std::numeric_limits<double>::infinity();
  if (t == DType::Bool) return largest ? 1 : 0;
  const double bits = runtime::bits_of(t);
  if (!runtime::is_signed(t)) return largest ? std::exp2(bits) - 1 : 0;
  return largest ? std::exp2(bits - 1) - 1 : -std::exp2(bits - 1);
}

Var neutral_array(Builder& b, DType t, std::string_view op, const Shape& shape) {
  const bool wide = runtime::is_integer(t) && runtime::size_of(t) == 8;
  using Limits = std::numeric_limits<std::int64_t>;
  const std::int64_t smallest = runtime::is_signed(t) ? Limits::min() : 0,
                     largest = runtime::is_signed(t) ? Limits::max() : -1;  // of u64, as the bits of an i64
  Var number = wide && op != "mul" ? ir::constant_int(b, op == "min" ? largest : smallest, t)
                                   : ir::constant(b, neutral(t, op), t);
  return ir::broadcast_to(b, number, shape);
}

ir::Compose segments(std::string_view name, std::string op) {
  return [name, op](Builder& b, std::span<const Var> in, const Attrs& attrs) -> Vars {
    const Type x = b.type(in[0]), index = b.type(in[1]);
    if (x.shape.empty() || index.shape.size() != 1 || index.shape[0] != x.shape[0])
      fail("shape", std::string(name) + " takes a segment for each row of the array, got " + runtime::to_string(x) +
                        " and " + runtime::to_string(index));
    const std::int64_t n = attrs.integer("n");
    if (n < 0) fail("value", std::string(name) + ": " + std::to_string(n) + " segments");
    Shape shape = x.shape;
    shape[0] = n;
    Var at = require_integer_index(b, in[1], name);
    return {b.call("scatter_reduce", {neutral_array(b, x.dtype, op, shape), at, in[0]},
                   with_out(written_along(-x.rank(), op), attrs))};
  };
}

// `weights` added up at places of 0 up to `length`. On explicit axes places may be split: what is counted is summed.
Var counted(Builder& b, Var places, Var weights, std::int64_t length) {
  const Type t = b.type(places);
  Var zeros = ir::broadcast_to(b, ir::constant(b, 0, b.type(weights).dtype), {length});
  Attrs attrs = written_along(-1, "add");
  if (laid_out(t)) attrs.set("out", Layout{t.mesh, runtime::Sharding::replicated(1)});
  return b.call("scatter_rows", {zeros, places, weights}, std::move(attrs));
}

Var like(Builder& b, Var x, double value, DType dtype) {
  return b.call("fill_like", {x}, {{"value", value}, {"dtype", dtype}});
}

Vars bincount(Builder& b, std::span<const Var> in, const Attrs& attrs) {
  const Type x = b.type(in[0]);
  if (x.rank() != 1) fail("shape", "bincount counts the elements of a vector, got " + runtime::to_string(x));
  const std::int64_t length = attrs.integer("length");
  if (length < 0) fail("value", "bincount: a length is not negative, got " + std::to_string(length));
  Var places = x.dtype == DType::Bool ? ir::convert(b, in[0], DType::I32) : require_integer_index(b, in[0], "bincount");
  Expr at{b, places};
  at = maximum(at, at.number(0));
  if (!flag_or(attrs, "has_weights", in.size() > 1)) return {counted(b, at, like(b, at, 1, DType::I32), length)};
  const Type w = b.type(in[1]);
  if (w.shape != x.shape)
    fail("shape",
         "bincount: a weight for each element, got " + runtime::to_string(x) + " and " + runtime::to_string(w));
  return {counted(b, at, in[1], length)};
}

// As jax.numpy: with `edges`, or `bins` of them between `low` and `high` (the smallest and the largest element).
Vars histogram(Builder& b, std::span<const Var> in, const Attrs& attrs) {
  std::size_t next = 1;
  const auto given = [&](std::string_view name) -> std::optional<Var> {
    if (!flag_or(attrs, "has_" + std::string(name), in.size() > next)) return std::nullopt;
    return in[next++];
  };
  const auto edges_given = given("edges"), weights_given = given("weights"), low_given = given("low"),
             high_given = given("high");
  const Shape shape = b.type(in[0]).shape;
  if (weights_given && b.type(*weights_given).shape != shape)
    fail("shape", "histogram: a weight for each element, got " + runtime::to_string(b.type(in[0])) + " and " +
                      runtime::to_string(b.type(*weights_given)));
  Vars both_given = {in[0]};
  if (weights_given) both_given.push_back(*weights_given);
  const DType dtype = runtime::to_inexact(promoted(b, both_given).dtype);
  Expr x{b, ir::convert(b, flat(b, in[0]), dtype)};
  Var weights = weights_given ? ir::convert(b, flat(b, *weights_given), dtype) : like(b, x, 1, dtype);
  std::optional<Expr> edges;
  if (edges_given) {
    if (b.type(*edges_given).rank() != 1 || b.type(*edges_given).shape[0] == 0)
      fail("shape", "histogram: edges are a vector, got " + runtime::to_string(b.type(*edges_given)));
    edges = Expr{b, ir::convert(b, *edges_given, dtype)};
  } else {
    const std::int64_t bins = integer_or(attrs, "bins", 10);
    if (bins < 1) fail("value", "histogram: " + std::to_string(bins) + " bins");
    Expr low{b, low_given ? ir::convert(b, *low_given, dtype) : b.call("min", {x})},
        high{b, high_given ? ir::convert(b, *high_given, dtype) : b.call("max", {x})};
    Expr same = eq(low, high);
    low = select(same, low - 0.5, low), high = select(same, high + 0.5, high);
    Expr i = positions_along(b, bins + 1, 1, -1, dtype), t = i / static_cast<double>(bins);
    Expr line = low * (1.0 - t) + high * t;
    edges = select(eq(i, static_cast<double>(bins)), {b, ir::broadcast_to(b, high, {bins + 1})}, line);
  }
  const std::int64_t n = edges->type().shape[0];
  Expr place{b, b.call("search_lines", {*edges, x}, {{"behind", true}})};
  place = select(eq(x, element_of(b, *edges, -1, n - 1)), static_cast<double>(n - 1), place);
  Expr counts{b, part_of(b, counted(b, place, weights, n), -1, 1, n)};
  if (flag_or(attrs, "density", false)) {
    Expr widths = part_of(b, *edges, -1, 1, n) - part_of(b, *edges, -1, 0, n - 1);
    counts = counts / widths / Expr{b, b.call("sum", {counts})};
  }
  return {counts, *edges};
}

}  // namespace

void register_segments(OpTable& t) {
  constexpr const char* samples = "[8] i32[8] 0..4 n=4; [6, 4] i32[6] -1..2 n=2; i32[8] i32[8] 0..4 n=6";
  auto add = [&](std::string_view signature, std::string_view doc, std::string op) {
    add_composite(t, signature, doc, samples, segments(name_in(signature), std::move(op)));
  };
  add("segment_max(x, segments, n: int, out: spec? = none)",
      "The largest of the rows of x that belong to each of n segments; -inf for an empty segment.", "max");
  add("segment_min(x, segments, n: int, out: spec? = none)",
      "The smallest of the rows of x that belong to each of n segments; inf for an empty segment.", "min");
  add("segment_prod(x, segments, n: int, out: spec? = none)",
      "The products of the rows of x that belong to each of n segments; 1 for an empty segment.", "mul");
  OpDef& bins = add_composite(t, "count_bins(x, length: int, weights: array? = none)",
                              "How often each number from 0 up to `length` occurs; with weights, what they add up to.",
                              "i32[8] 0..6 length=6; i32[8] -1..8 [8] length=4 has_weights=true", bincount);
  bins.internal = true;  // `bincount` finds the length where it can (host/values/counting.cpp)
  add_composite(
      t,
      "histogram(x, bins: int = 10, edges: array? = none, weights: array? = none, low: array? = none, high: array? = "
      "none, density: bool = false)",
      "How many elements lie in each bin, and the edges of the bins: `bins` equal ones from the smallest to the "
      "largest element (low to high), or those that are given.",
      "[4, 6] bins=4 has_low=false; "
      "[8] [8] [] -1..-0.5 [] 0.5..1 bins=4 has_weights=true has_low=true has_high=true has_edges=false",
      histogram);
}

}  // namespace shard::stdlib
