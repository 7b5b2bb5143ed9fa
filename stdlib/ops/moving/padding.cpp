// pad as users call it: numbers around an array, or its own elements again (NumPy's modes).
#include <algorithm>

#include "stdlib/ops/moving/parts.h"
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

// The array's own elements around it, one dimension after the other.
Var repeated(Builder& b, Var x, const Pairs& widths, std::string_view mode) {
  for (std::size_t i = 0; i < widths.size(); ++i) {
    const auto [before, behind] = widths[i];
    if (before < 0 || behind < 0) fail("shape", "pad: widths cannot be negative; slice the array");
    if (before == 0 && behind == 0) continue;
    const Type& t = b.type(x);
    if (t.shape[i] == 0)
      fail("shape", "pad: dimension " + std::to_string(i) + " of " + runtime::to_string(t) +
                        " is empty, so there is nothing to repeat beside it; mode \"constant\" fills it with a number");
    const std::int64_t axis = static_cast<std::int64_t>(i) - static_cast<std::int64_t>(widths.size());
    if (laid_out(t) && is_split(t, static_cast<int>(i)))
      fail("layout", "pad with mode \"" + std::string(mode) + "\" along dimension " + std::to_string(i) + " of " +
                         runtime::to_string(t) + ", which is split over " + axes_text(t, static_cast<int>(i)) +
                         ": `shard` the array so that this dimension is whole first");
    Vars parts;
    add_side(b, x, axis, before, mode, true, parts);
    parts.push_back(x);
    add_side(b, x, axis, behind, mode, false, parts);
    x = b.emit(*b.core().concat, parts, {{"axis", axis}}).at(0);
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
  t.add(composite_row(
      "pad", "pad(x, widths: pairs, mode: str = \"constant\", value: number = 0)",
      "A value before and behind the elements of each dimension: [(before, behind), ...]; or elements of the array "
      "again: mode \"edge\" (the last one), \"reflect\" (mirrored, without the edge), \"symmetric\" (with it), "
      "\"wrap\".",
      pad,
      "[4] widths=[(2, 1)]; [2, 4] widths=[(1, 0), (0, 1)] value=0.5; [4] widths=[(2, 2)] mode='edge'; "
      "[2, 3] widths=[(2, 2), (3, 0)] mode='reflect'; [4] widths=[(1, 3)] mode='symmetric'; "
      "[2, 4] widths=[(1, 1), (0, 2)] mode='wrap'"));
}

}  // namespace shard::stdlib
