// Joining, parting and repeating arrays: concat, stack, flip, roll, repeat, tile and the parts of split. Composites of
// slice.cpp's and reshaping.cpp's rows. Axes that may not be split in explicit mode are refused here, since the parts
// alone would allow them.
#include <algorithm>
#include <optional>

#include "stdlib/ops/elementwise.h"
#include "stdlib/ops/moving/moving_steps.h"
#include "stdlib/ops/ops.h"

namespace shard::stdlib {
namespace {

std::int64_t rank_of(const Builder& b, Var x) { return static_cast<std::int64_t>(b.type(x).shape.size()); }

struct Stretch {
  Var of;
  std::int64_t from, to;
};

// What v shows of another array: a stretch along this axis (from the end), and all of the other dimensions. Looked for
// near the end of what is recorded, where parts to be joined stand.
std::optional<Stretch> stretch(const Builder& b, Var v, std::int64_t axis) {
  constexpr std::size_t kNear = 64;
  const auto& nodes = b.graph().nodes;
  for (std::size_t back = 1; back <= std::min(kNear, nodes.size()); ++back) {
    const ir::Node& n = nodes[nodes.size() - back];
    if (n.outputs.size() != 1 || n.outputs[0] != v) continue;
    if (n.op != b.core().slice) return std::nullopt;
    Shape shape = b.type(n.inputs[0]).shape;
    const Ints &start = n.attrs.ints("start"), &limit = n.attrs.ints("limit"), &step = n.attrs.ints("step");
    if (start.size() < static_cast<std::size_t>(-axis)) return std::nullopt;
    const std::size_t i = start.size() - static_cast<std::size_t>(-axis);
    if (step[i] != 1 || limit[i] == ir::kWhole) return std::nullopt;
    shape[shape.size() - static_cast<std::size_t>(-axis)] = limit[i] - start[i];
    if (shape != b.type(v).shape) return std::nullopt;
    return Stretch{n.inputs[0], start[i], limit[i]};
  }
  return std::nullopt;
}

// The array that is cut in parts and joined again in their order, or from one of them on round the end: itself or
// turned, so that where it is split nothing or the edges of blocks move, and not the parts.
std::optional<Var> joined_again(Builder& b, std::span<const Var> in, std::int64_t axis) {
  if (in.size() < 2) return std::nullopt;
  std::optional<Stretch> first, last;
  std::int64_t size = 0, joined = 0;
  for (Var v : in) {
    const auto part = stretch(b, v, axis);
    if (!part) return std::nullopt;
    const Shape& whole = b.type(part->of).shape;
    size = whole[whole.size() - static_cast<std::size_t>(-axis)];
    if (size == 0 || (last && (part->of != last->of || part->from != last->to % size))) return std::nullopt;
    if (!first) first = part;
    last = part;
    joined += part->to - part->from;
  }
  if (joined != size) return std::nullopt;
  if (first->from == 0) return first->of;
  return b.call("rotate", {first->of}, {{"axis", axis}, {"shift", size - first->from}});
}

Vars concat(Builder& b, std::span<const Var> in, const Attrs& attrs) {
  if (in.empty()) fail("shape", "concat of an empty list");
  const std::int64_t axis = from_end(integer_or(attrs, "axis", 0), rank_of(b, in[0]), "concat");
  if (const auto whole = joined_again(b, in, axis)) return {*whole};
  return {join_parts(b, {in.begin(), in.end()}, axis)};
}

Vars stack(Builder& b, std::span<const Var> in, const Attrs& attrs) {
  if (in.empty()) fail("shape", "stack of an empty list");
  std::int64_t rank = rank_of(b, in[0]) + 1, axis = from_end(integer_or(attrs, "axis", 0), rank, "stack");
  Vars grown;
  for (Var x : in) {
    Shape shape = b.type(x).shape;
    if (shape != b.type(in[0]).shape)
      fail("shape", "stack: arrays must have one shape, got " + runtime::to_string(b.type(in[0])) + " and " +
                        runtime::to_string(b.type(x)));
    shape.insert(shape.begin() + from_front(axis, rank), 1);
    grown.push_back(expand(b, x, shape));
  }
  return {join_parts(b, grown, axis)};
}

// n equal parts, or x[a:b] between each two of the places `at` (NumPy: negative ones count from the end).
Vars split_parts(Builder& b, std::span<const Var> in, const Attrs& attrs) {
  Var x = in[0];
  std::int64_t rank = rank_of(b, x), axis = from_end(integer_or(attrs, "axis", 0), rank, "split");
  std::int64_t size = b.type(x).shape[static_cast<std::size_t>(from_front(axis, rank))];
  Ints cut;
  if (attrs.has("n")) {
    std::int64_t n = attrs.integer("n");
    if (n < 1 || size % n)
      fail("shape", "split: dimension " + std::to_string(from_front(axis, rank)) + " of " +
                        runtime::to_string(b.type(x)) + " has size " + std::to_string(size) +
                        ", which does not divide into " + std::to_string(n) + " equal parts");
    for (std::int64_t i = 1; i < n; ++i) cut.push_back(i * (size / n));
  } else {
    cut = *ints_if(attrs, "at");
    for (auto& at : cut) at = std::clamp<std::int64_t>(at < 0 ? at + size : at, 0, size);
  }
  cut.push_back(size);
  Vars made;
  std::int64_t from = 0;
  for (const auto to : cut) {
    made.push_back(part_of(b, x, axis, from, std::max(from, to)));
    from = to;
  }
  return made;
}

void refuse_split(const Builder& b, Var x, std::int64_t axis, std::string_view op,
                  std::string_view way_out = kMakeWhole) {
  const Type& t = b.type(x);
  int d = from_front(axis, t.rank());
  if (laid_out(t) && is_split(t, d)) fail("layout", split_along(op, t, d, way_out));
}

Vars flip(Builder& b, std::span<const Var> in, const Attrs& attrs) {
  Ints axes = axes_from_end(ints_if(attrs, "axis"), rank_of(b, in[0]), "flip");
  return {axes.empty() ? in[0] : b.call("rev", {in[0]}, {{"axes", axes}})};
}

// Calls by(x, axis, size, i) with the i-th of `shifts` shifts for one axis after the other.
template <class By>
Var rolled(Builder& b, Var x, std::size_t shifts, const Attrs& attrs, By by) {
  const Shape shape = b.type(x).shape;
  auto given = ints_if(attrs, "axis");
  if (!given) {
    x = flat(b, x);
    given = Ints{0};
  }
  if (given->size() != shifts && shifts != 1 && given->size() != 1)
    fail("shape", "roll: as many shifts as axes, or one of either");
  for (std::size_t i = 0; i < std::max(given->size(), shifts); ++i) {
    const std::int64_t axis = from_end((*given)[given->size() == 1 ? 0 : i], rank_of(b, x), "roll"),
                       n = b.type(x).shape[static_cast<std::size_t>(from_front(axis, rank_of(b, x)))];
    refuse_split(b, x, axis, "roll");
    if (n > 0) x = by(x, axis, n, shifts == 1 ? 0 : i);
  }
  return expand(b, x, shape);
}

Vars roll(Builder& b, std::span<const Var> in, const Attrs& attrs) {
  const Ints shifts = *ints_if(attrs, "shift");
  return {rolled(b, in[0], shifts.size(), attrs, [&](Var x, std::int64_t axis, std::int64_t n, std::size_t i) {
    const std::int64_t shift = ((shifts[i] % n) + n) % n;
    return shift == 0 ? x : b.call("rotate", {x}, {{"axis", axis}, {"shift", shift}});
  })};
}

// Of the array twice a window that begins where a shift known in a run says.
Vars roll_by(Builder& b, std::span<const Var> in, const Attrs& attrs) {
  const Vars shifts = scalars_of(b, in.subspan(1));
  return {rolled(b, in[0], shifts.size(), attrs, [&](Var x, std::int64_t axis, std::int64_t n, std::size_t i) {
    const Expr shift{b, require_integer_index(b, shifts[i], "roll")};
    const Expr size = shift.number(static_cast<double>(n));
    const Var start = size - call("mod", {shift, size});
    const Var twice = join_parts(b, {x, x}, axis);
    return b.emit1(*b.core().dynamic_slice, {twice, start}, {{"axes", Ints{axis}}, {"sizes", Ints{n}}});
  })};
}

// Each element n times in a row: a new dimension behind the axis, merged with it.
Vars repeat(Builder& b, std::span<const Var> in, const Attrs& attrs) {
  std::int64_t n = integer_or(attrs, "n", 1);
  if (n < 0) fail("shape", "repeat: the count cannot be negative");
  Var x = in[0];
  if (!attrs.has("axis")) x = flat(b, x);
  Shape shape = b.type(x).shape;
  std::int64_t rank = rank_of(b, x), axis = from_end(integer_or(attrs, "axis", 0), rank, "repeat");
  if (!attrs.has("out")) refuse_split(b, x, axis, "repeat", "say the result's layout with `out: P(...)`");
  auto d = static_cast<std::size_t>(from_front(axis, rank));
  Shape one = shape, grown = shape, merged_shape = shape;
  one.insert(one.begin() + static_cast<std::ptrdiff_t>(d) + 1, 1);
  grown.insert(grown.begin() + static_cast<std::ptrdiff_t>(d) + 1, n);
  if (__builtin_mul_overflow(merged_shape[d], n, &merged_shape[d])) fail("shape", "repeat: the result is too large");
  x = ir::broadcast_to(b, expand(b, x, one), grown);
  return {b.call("reshape", {x}, with_out({{"shape", merged_shape}}, attrs))};
}

// Element i counts[i] times in a row, `total` elements in all: cut, or the last one again. Place j takes the last
// element that begins there or before.
Vars repeat_each(Builder& b, std::span<const Var> in, const Attrs& attrs) {
  Var x = in[0];
  if (!attrs.has("axis")) x = flat(b, x);
  const Shape shape = b.type(x).shape;
  const std::int64_t rank = rank_of(b, x), axis = from_end(integer_or(attrs, "axis", 0), rank, "repeat"),
                     n = shape[static_cast<std::size_t>(from_front(axis, rank))], total = attrs.integer("total");
  const Type counts = b.type(in[1]);
  if (counts.rank() > 1 || (counts.rank() == 1 && counts.shape[0] != n && counts.shape[0] != 1))
    fail("shape", "repeat: a count for each of the " + std::to_string(n) + " elements of dimension " +
                      std::to_string(from_front(axis, rank)) + ", or one for all, got " + runtime::to_string(counts));
  if (total < 0) fail("shape", "repeat: `total_repeat_length` cannot be negative");
  if (n == 0 && total > 0) fail("shape", "repeat: there is nothing to repeat in " + runtime::to_string(b.type(x)));
  if (!attrs.has("out")) refuse_split(b, x, axis, "repeat", "say the result's layout with `out: P(...)`");
  Expr each{b, ir::broadcast_to(b, require_integer_index(b, in[1], "repeat"), {n})};
  Expr begins{b, b.call("cumsum", {each})};
  Expr places = positions_along(b, total, 1, -1, each.type().dtype);
  Expr at = n == 0 ? places : Expr{b, b.call("search_lines", {begins - each, places}, {{"behind", true}})} - 1.0;
  return {b.call("take", {x, at}, with_out(rows_along(axis), attrs))};
}

// The whole array several times along each dimension: a new dimension in front of each repeated one, merged with it.
Vars tile(Builder& b, std::span<const Var> in, const Attrs& attrs) {
  Ints reps = *ints_if(attrs, "reps");
  Shape shape = b.type(in[0]).shape;
  while (reps.size() < shape.size()) reps.insert(reps.begin(), 1);
  while (shape.size() < reps.size()) shape.insert(shape.begin(), 1);
  Var x = expand(b, in[0], shape);
  Shape one, grown, merged_shape;
  for (std::size_t d = 0; d < shape.size(); ++d) {
    if (reps[d] < 0) fail("shape", "tile: counts cannot be negative");
    if (reps[d] != 1) {
      refuse_split(b, x, static_cast<std::int64_t>(d) - static_cast<std::int64_t>(shape.size()), "tile",
                   "`shard` the array so that it is whole first");
      one.push_back(1);
      grown.push_back(reps[d]);
    }
    one.push_back(shape[d]);
    grown.push_back(shape[d]);
    std::int64_t n = 0;
    if (__builtin_mul_overflow(shape[d], reps[d], &n)) fail("shape", "tile: the result is too large");
    merged_shape.push_back(n);
  }
  x = ir::broadcast_to(b, expand(b, x, one), grown);
  for (std::size_t d = 0; d < shape.size(); ++d) {  // one dimension after the other: a reshape merges one pair
    if (reps[d] == 1) continue;
    Shape next = b.type(x).shape;
    next.erase(next.begin() + static_cast<std::ptrdiff_t>(d));
    next[d] = merged_shape[d];
    x = expand(b, x, next);
  }
  return {x};
}

// What each element adds to the one before it, n times over; truth values differ or do not (NumPy).
Vars diff(Builder& b, std::span<const Var> in, const Attrs& attrs) {
  const std::int64_t n = integer_or(attrs, "n", 1), rank = rank_of(b, in[0]);
  if (rank == 0) fail("shape", "diff takes an array of one dimension or more, got a single number");
  if (n < 0) fail("value", "diff: how often differences are taken cannot be negative");
  const std::int64_t axis = from_end(integer_or(attrs, "axis", -1), rank, "diff");
  Var x = in[0];
  for (std::int64_t i = 0; i < n; ++i) {
    const Type& t = b.type(x);
    const std::int64_t size = t.shape[static_cast<std::size_t>(from_front(axis, rank))];
    if (size == 0) break;
    const bool truth = t.dtype == DType::Bool;
    x = b.call(truth ? "ne" : "sub", {part_of(b, x, axis, 1, size), part_of(b, x, axis, 0, size - 1)});
  }
  return {x};
}

}  // namespace

void register_arrange(OpTable& t) {
  add_composite(t, "concat(xs: arrays, axis: int = 0)", "Arrays one after the other along an axis.",
                "[4, 6] [2, 6]; [4, 2] [4, 4] i32[4, 2] axis=1", concat)
      .aliases = {"cat",
                  "concatenate",
                  {"vstack", "rows are joined by `concat(xs, axis: 0)`; `stack(xs)` makes a new dimension"},
                  {"hstack", "columns are joined by `concat(xs, axis: 1)`"}};
  add_composite(t, "stack(xs: arrays, axis: int = 0)", "Arrays side by side along a new axis.",
                "[4, 6] [4, 6]; [4] [4] axis=-1", stack);
  OpDef& parts =
      add_composite(t, "split_parts(x, n: int? = none, at: ints? = none, axis: int = 0)",
                    "Equal parts along an axis, or parts cut at the positions of a list.",
                    "[8, 4] n=2; [4, 6] n=3 axis=1; [6] at=[1, 4]; [6] at=[4]; [6] at=[-2, 9, 2]", split_parts);
  parts.internal = true;
  add_composite(t, "flip(x, axis: ints? = none)", "The elements from last to first, along axes or all.",
                "[4, 6]; [4, 6] axis=[0]", flip)
      .aliases = {{"reversed", "the reverse of a list is `xs[::-1]`, of an array `flip(x)`"}};
  add_composite(t, "roll(x, shift: ints, axis: ints? = none)",
                "The elements moved on along an axis; what falls off comes in at the front.",
                "[4, 6] shift=[2] axis=[1]; [4, 2] shift=[-1]; [4, 6] shift=[1, 2] axis=[0, 1]", roll);
  OpDef& by =
      add_composite(t, "roll_by(x, shift: arrays, axis: ints? = none)",
                    "The elements moved on along an axis by a number that only a run has.",
                    "[4, 6] i32[] 0..9 axis=[1]; [6] i32[] 0..9; [4, 6] i32[] 0..9 i32[] 0..9 axis=[0, 1]", roll_by);
  by.internal = true;  // `roll` takes it where a shift is traced (host/values/rolling.cpp)
  add_composite(t, "diff(x, n: int = 1, axis: int = -1)",
                "What each element is more than the one before it, n times over.", "[4, 6]; [4, 6] n=2 axis=0", diff);
  add_composite(t, "repeat(x, n: int, axis: int? = none, out: spec? = none)", "Each element n times in a row.",
                "[4, 6] n=2 axis=1; [2, 4] n=2 axis=0; [4] n=2", repeat);
  OpDef& each = add_composite(
      t, "repeat_each(x, counts, total: int, axis: int? = none, out: spec? = none)",
      "Each element as many times as its count says.",
      "[4, 6] i32[6] 0..3 total=9 axis=1; [2, 4] i32[2] 0..3 total=4 axis=0; [4] i32[4] 0..2 total=8", repeat_each);
  each.internal = true;  // `repeat` finds the total where it can (host/values/counting.cpp)
  add_composite(t, "tile(x, reps: ints)", "The whole array several times along each dimension.",
                "[4, 6] reps=[1, 2]; [4] reps=[2, 2]; [2, 4] reps=[3]", tile);
}

}  // namespace shard::stdlib
