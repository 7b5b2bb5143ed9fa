// Taking and writing at positions as users call it: take, take_along_axis, scatter, segment_sum. Positions count from
// the end where they are negative.
#include "stdlib/ops/elementwise.h"
#include "stdlib/ops/moving/moving_steps.h"
#include "stdlib/ops/ops.h"

namespace shard::stdlib {
namespace {

Vars take(Builder& b, std::span<const Var> in, const Attrs& attrs) {
  Var x = in[0];
  if (!attrs.has("axis")) x = flat(b, x);
  auto rank = static_cast<std::int64_t>(b.type(x).shape.size());
  std::int64_t axis = from_end(integer_or(attrs, "axis", 0), rank, "take");
  Var index = require_integer_index(b, in[1], "take");
  const std::int64_t n = b.type(x).shape[static_cast<std::size_t>(from_front(axis, rank))];
  if (n == 0 && runtime::numel(b.type(index).shape) > 0)
    fail("shape", "take: there is nothing to take from " + runtime::to_string(b.type(x)) + " at " +
                      runtime::to_string(b.type(index)));
  index = wrap_negative(b, index, n);
  return {b.call("take", {x, index}, with_out(rows_along(axis, "nan"), attrs))};
}

Vars scatter(Builder& b, std::span<const Var> in, const Attrs& attrs) {
  const Type x = b.type(in[0]);
  if (x.shape.empty()) fail("shape", "scatter into an array of rank 0");
  std::string op = text_or(attrs, "op", "add");
  if (op != "add" && op != "set" && op != "mul" && op != "min" && op != "max")
    fail("value", "scatter: op is \"add\", \"set\", \"mul\", \"min\" or \"max\", got \"" + op + "\"");
  Var index = wrap_negative(b, require_integer_index(b, in[1], "scatter"), x.shape[0]);
  Shape rows = b.type(index).shape;
  rows.insert(rows.end(), x.shape.begin() + 1, x.shape.end());
  const Shape given = b.type(in[2]).shape;
  if (auto joined = runtime::broadcast(given, rows); !joined || *joined != rows)
    fail("shape", "scatter: values " + runtime::to_string(b.type(in[2])) + " do not fit the rows of " +
                      runtime::to_string(x) + " at " + runtime::to_string(b.type(in[1])) + ", which have the shape " +
                      runtime::to_string(rows));
  Var v = ir::broadcast_to(b, ir::convert(b, in[2], x.dtype, x.weak), rows);
  return {b.call(op == "add" || op == "set" ? "scatter_rows" : "scatter_reduce", {in[0], index, v},
                 with_out(written_along(-x.rank(), op), attrs))};
}

// One element for each position: x and the index alike but for the axis, where dimensions of size 1 are repeated.
Vars take_along_axis(Builder& b, std::span<const Var> in, const Attrs& attrs) {
  Var x = in[0], index = require_integer_index(b, in[1], "take_along_axis");
  const std::size_t rank = b.type(x).shape.size();
  if (b.type(index).shape.size() != rank || rank == 0)
    fail("shape", "take_along_axis: an array and its index have one rank, got " + runtime::to_string(b.type(x)) +
                      " and " + runtime::to_string(b.type(index)));
  const std::int64_t axis = from_end(integer_or(attrs, "axis", -1), static_cast<std::int64_t>(rank), "take_along_axis");
  x = move_axis(b, x, axis, -1), index = move_axis(b, index, axis, -1);
  Shape xs = b.type(x).shape, is = b.type(index).shape;
  const std::int64_t n = xs.back(), k = is.back();
  xs.pop_back(), is.pop_back();
  auto lead = runtime::broadcast(xs, is);
  if (!lead)
    fail("shape", "take_along_axis: " + runtime::to_string(b.type(in[0])) + " and " +
                      runtime::to_string(b.type(in[1])) + " differ in dimensions other than the axis");
  auto with = [&](std::int64_t size) {
    Shape shape = *lead;
    shape.push_back(size);
    return shape;
  };
  x = ir::broadcast_to(b, x, with(n));
  index = ir::broadcast_to(b, wrap_negative(b, index, n), with(k));
  Var out = b.call("take", {x, index}, rows_along(-1, "nan", static_cast<std::int64_t>(rank) - 1));
  return {move_axis(b, out, -1, axis)};
}

Vars segment_sum(Builder& b, std::span<const Var> in, const Attrs& attrs) {
  const Type x = b.type(in[0]), index = b.type(in[1]);
  if (x.shape.empty() || index.shape.size() != 1 || index.shape[0] != x.shape[0])
    fail("shape", "segment_sum takes a segment for each row of the array, got " + runtime::to_string(x) + " and " +
                      runtime::to_string(index));
  const std::int64_t n = attrs.integer("n");
  if (n < 0) fail("value", "segment_sum: " + std::to_string(n) + " segments");
  Shape shape = x.shape;
  shape[0] = n;
  Var zeros = ir::broadcast_to(b, ir::constant(b, 0.0, x.dtype), shape);
  Var at = require_integer_index(b, in[1], "segment_sum");
  return {b.call("scatter_rows", {zeros, at, in[0]}, with_out(written_along(-x.rank(), "add"), attrs))};
}

}  // namespace

void register_take(OpTable& t) {
  add_composite(t, "take(x, i, axis: int? = none, out: spec? = none)",
                "The elements at positions i (along an axis: rows); nan beyond the end.",
                "[8] i32[4] -8..8; [4, 6] i32[2, 2] 0..6 axis=1; [4, 6] i32[] 0..4 axis=0", take)
      .aliases = {"index_select"};
  add_composite(t, "take_along_axis(x, i, axis: int = -1)",
                "One element of x for each position along an axis that i gives; nan beyond the end.",
                "[4, 6] i32[4, 2] -6..6; [4, 6] i32[2, 6] 0..4 axis=0; [2, 4, 6] i32[1, 2, 6] 0..4 axis=1",
                take_along_axis);
  add_composite(t, "segment_sum(x, segments, n: int, out: spec? = none)",
                "The sums of the rows of x that belong to each of n segments; others are left out.",
                "[8] i32[8] 0..4 n=4; [6, 4] i32[6] -1..6 n=4", segment_sum);
  add_composite(t, "scatter(x, i, v, op: str = \"add\", out: spec? = none)",
                "x with v added (set, mul, min, max) at rows i.",
                "[8, 4] i32[2] -8..8 [2, 4]; [8] i32[4] 0..8 [] op='set'", scatter);
}

}  // namespace shard::stdlib
