#include "stdlib/ops/moving/moving_steps.h"

namespace shard::stdlib {

Var part_of(Builder& b, Var x, std::int64_t axis, std::int64_t from, std::int64_t to, std::int64_t step) {
  const Shape& shape = b.type(x).shape;
  if (from == 0 && step == 1 && to == shape[shape.size() - static_cast<std::size_t>(-axis)]) return x;
  const auto count = static_cast<std::size_t>(-axis);
  Ints start(count, 0), limit(count, ir::kWhole), steps(count, 1);
  start[0] = from;
  limit[0] = to;
  steps[0] = step;
  return b.call("slice", {x}, {{"start", start}, {"limit", limit}, {"step", steps}});
}

Expr element_of(Builder& b, Var x, std::int64_t axis, std::int64_t at) {
  const Shape shape = erase_axes(b.type(x).shape, {axis});
  return {b, expand(b, part_of(b, x, axis, at, at + 1), shape)};
}

Var join_parts(Builder& b, std::initializer_list<Var> xs, std::int64_t axis) {
  return b.emit(*b.core().concat, xs, {{"axis", axis}}).at(0);
}

Var move_axis(Builder& b, Var x, std::int64_t from, std::int64_t to) {
  if (from == to) return x;
  const auto rank = static_cast<std::int64_t>(b.type(x).shape.size());
  Ints perm;
  for (std::int64_t d = 0; d < rank; ++d)
    if (d != from + rank) perm.push_back(d);
  perm.insert(perm.begin() + to + rank, from + rank);
  return ir::transpose(b, x, perm);
}

Expr positions_along(Builder& b, std::int64_t n, std::size_t rank, std::int64_t axis, DType dtype) {
  Shape line(rank, 1);
  line[rank - static_cast<std::size_t>(-axis)] = n;
  return {b, b.emit(*b.core().iota, std::span<const Var>{}, {{"shape", line}, {"axis", axis}, {"dtype", dtype}}).at(0)};
}

Attrs out_as(const Builder& b, Attrs attrs, Var like) {
  const Type& t = b.type(like);
  if (laid_out(t)) attrs.set("out", Layout{t.mesh, t.sharding});
  return attrs;
}

Expr elements_at(Builder& b, Var vector, Var index) {
  Attrs attrs{{"axis", std::int64_t{-1}}, {"batch", std::int64_t{0}}, {"bounds", std::string("clamp")}};
  return {b, b.call("take_rows", {vector, index}, out_as(b, std::move(attrs), index))};
}

Expr chosen(const Expr& c, const Expr& x, const Expr& y) { return call("where", {c, x, y}); }

Var flat(Builder& b, Var x) { return expand(b, x, {runtime::numel(b.type(x).shape)}); }

Expr as_inexact(Builder& b, Var x) {
  const Type& t = b.type(x);
  return {b, ir::convert(b, x, runtime::to_inexact(t.dtype), t.weak)};
}

}  // namespace shard::stdlib
