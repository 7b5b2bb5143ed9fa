// pad as users call it: numbers around an array, or its own elements again (NumPy's modes).
#include <algorithm>

#include "stdlib/ops/moving/moving_steps.h"
#include "stdlib/ops/ops.h"

namespace shard::stdlib {
namespace {

Var reversed(Builder& b, Var x, std::int64_t axis) { return b.call("rev", {x}, {{"axes", Ints{axis}}}); }

// What stands beside an axis of size n, in pieces that go outwards: mirrored, as it is, mirrored, ... (reflect, without
// the element at the edge; symmetric, with it), or as it is each time (wrap). One piece, in the order of the array.
Var piece(Builder& b, Var x, std::int64_t axis, std::int64_t n, std::string_view mode, bool before, std::int64_t turn) {
  if (mode == "wrap") return x;
  if (mode == "symmetric") return turn % 2 == 0 ? reversed(b, x, axis) : x;
  const bool mirrored = turn % 2 == 0, late = mirrored == before;
  const Var part = late ? part_of(b, x, axis, 1, n) : part_of(b, x, axis, 0, n - 1);
  return mirrored ? reversed(b, part, axis) : part;
}

// `width` elements before or behind the axis, the nearest of each piece first.
void add_side(Builder& b, Var x, std::int64_t axis, std::int64_t width, std::string_view mode, bool before, Vars& to) {
  const Shape& shape = b.type(x).shape;
  const std::size_t d = shape.size() - static_cast<std::size_t>(-axis);
  const std::int64_t n = shape[d];
  if (width == 0) return;
  Vars outwards;
  if (mode == "edge" || n == 1) {
    Shape many = shape;
    many[d] = width;
    outwards = {ir::broadcast_to(b, before ? part_of(b, x, axis, 0, 1) : part_of(b, x, axis, n - 1, n), many)};
  } else {
    const std::int64_t length = mode == "reflect" ? n - 1 : n;
    for (std::int64_t turn = 0, left = width; left > 0; ++turn, left -= length) {
      const std::int64_t size = std::min(left, length);
      const Var whole = piece(b, x, axis, n, mode, before, turn);
      outwards.push_back(before ? part_of(b, whole, axis, length - size, length) : part_of(b, whole, axis, 0, size));
    }
  }
  if (before) std::reverse(outwards.begin(), outwards.end());
  to.insert(to.end(), outwards.begin(), outwards.end());
}

// The element of an axis of size n that stands at place p of the padded one, counted from the array's first.
Expr source_of(const Expr& p, std::int64_t n, std::string_view mode) {
  const auto size = static_cast<double>(n);
  const double period = mode == "wrap" ? size : mode == "symmetric" ? 2 * size : 2 * size - 2;
  const Expr q = call("mod", {p, p.number(period)});
  return select(lt(q, size), q, (mode == "symmetric" ? period - 1 : period) - q);
}

// Along a dimension that is split over explicit axes pieces would not divide: the elements around it are looked up (a
// sum over the devices, of as many as there are), and each device adds those that fall into its block.
Var looked_up(Builder& b, Var x, std::int64_t axis, std::int64_t before, std::int64_t behind, std::string_view mode) {
  const Type t = b.type(x);
  const std::size_t d = t.shape.size() - static_cast<std::size_t>(-axis);
  const std::int64_t n = t.shape[d];
  Layout split{t.mesh, t.sharding};
  for (auto& dim : split.sharding.dims) dim.open = !t.mesh->of_kind(runtime::AxisKind::Auto).empty();
  Layout whole = split;
  whole.sharding.dims[d].axes.clear();
  Attrs take = rows_along(axis), add = written_along(axis, runtime::is_number(t.dtype) ? "add" : "set");
  take.set("out", whole);
  add.set("out", split);

  const Expr k = positions_along(b, before + behind, 1, -1);
  const Expr first = lt(k, static_cast<double>(before));
  const Expr p = select(first, k - static_cast<double>(before), k + static_cast<double>(n - before));
  Var rows;
  if (mode == "edge" || n == 1) {
    const Var ends = b.call("take", {x, positions_along(b, 2, 1, -1) * static_cast<double>(n - 1)}, take);
    rows = b.call("take", {ends, select(first, k.number(0), k.number(1))}, take);
  } else {
    rows = b.call("take", {x, source_of(p, n, mode)}, take);
  }
  Pairs widths(static_cast<std::size_t>(-axis), {0, 0});
  widths[0] = {before, behind};
  const Var wide = b.call("pad_with", {x, ir::constant(b, 0, t.dtype, t.weak)}, {{"widths", widths}});
  return b.call("scatter_rows", {wide, p + static_cast<double>(before), rows}, add);
}

// The array's own elements around it, one dimension after the other.
Var repeated(Builder& b, Var x, const Pairs& widths, std::string_view mode) {
  for (std::size_t i = 0; i < widths.size(); ++i) {
    const auto [before, behind] = widths[i];
    if (before < 0 || behind < 0) fail("shape", "pad: widths cannot be negative; slice the array");
    if (before == 0 && behind == 0) continue;
    const Type& t = b.type(x);
    if (t.shape[i] == 0)
      fail("shape", "pad: dimension " + std::to_string(i) + " of " + runtime::to_string(t) +
                        " is empty, so there is nothing to repeat; mode \"constant\" fills it with a number");
    const std::int64_t axis = static_cast<std::int64_t>(i) - static_cast<std::int64_t>(widths.size());
    if (laid_out(t) && is_split(t, static_cast<int>(i))) {
      x = looked_up(b, x, axis, before, behind, mode);
      continue;
    }
    Vars parts;
    add_side(b, x, axis, before, mode, true, parts);
    parts.push_back(x);
    add_side(b, x, axis, behind, mode, false, parts);
    x = join_parts(b, parts, axis);
  }
  return x;
}

Vars pad(Builder& b, std::span<const Var> in, const Attrs& attrs) {
  const Type& type = b.type(in[0]);
  Pairs widths = attrs.pairs("widths");
  if (widths.size() == 1) widths.resize(type.shape.size(), widths[0]);
  if (widths.size() != type.shape.size())
    fail("shape", "pad: " + std::to_string(widths.size()) + " pairs of widths for " + runtime::to_string(type));
  if (widths.empty()) return {in[0]};
  const std::string mode = text_or(attrs, "mode", "constant");
  const double filler = number_if(attrs, "value").value_or(0);
  if (mode != "constant") {
    if (mode != "edge" && mode != "reflect" && mode != "symmetric" && mode != "wrap")
      fail("value",
           "pad: mode is \"constant\", \"edge\", \"reflect\", \"symmetric\" or \"wrap\", got \"" + mode + "\"");
    if (filler != 0)
      fail("value", "pad: mode \"" + mode + "\" repeats elements of the array, so a value is for mode \"constant\"");
    return {repeated(b, in[0], widths, mode)};
  }
  if (filler != 0 && !type.sharding.unreduced.empty())  // zeros add nothing to a sum
    fail("layout", "pad of " + runtime::to_string(type) +
                       ": a value other than 0 would be counted once a device; finish "
                       "the sum first: `shard x as P(...)`");
  const Var value = ir::constant(b, filler, type.dtype, type.weak);
  return {b.call("pad_with", {in[0], value}, {{"widths", widths}})};
}

}  // namespace

void register_padding(OpTable& t) {
  add_composite(
      t, "pad(x, widths: pairs, mode: str = \"constant\", value: number = 0)",
      "A value before and after the elements of each dimension: [(before, after), ...]; or elements of the array "
      "again: mode \"edge\" (the last one), \"reflect\" (mirrored, without the edge), \"symmetric\" (with it), "
      "\"wrap\".",
      "[4] widths=[(2, 1)]; [2, 4] widths=[(1, 0), (0, 1)] value=0.5; [4] widths=[(2, 2)] mode='edge'; "
      "[2, 3] widths=[(2, 2), (3, 0)] mode='reflect'; [4] widths=[(1, 3)] mode='symmetric'; "
      "[2, 4] widths=[(1, 1), (0, 2)] mode='wrap'",
      pad);
}

}  // namespace shard::stdlib
