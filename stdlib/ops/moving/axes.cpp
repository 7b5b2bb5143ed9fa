// Axes that change places, and diagonals: swapaxes, moveaxis, diag, diagonal, trace. A diagonal is what is left of a
// matrix when all beside it counts as nothing and one of its dimensions is summed, so either dimension may be split.
#include <algorithm>

#include "stdlib/ops/moving/moving_steps.h"
#include "stdlib/ops/ops.h"

namespace shard::stdlib {
namespace {

Vars swapaxes(Builder& b, std::span<const Var> in, const Attrs& attrs) {
  const auto rank = static_cast<std::int64_t>(b.type(in[0]).shape.size());
  const std::int64_t first = from_end(attrs.integer("axis1"), rank, "swapaxes") + rank,
                     second = from_end(attrs.integer("axis2"), rank, "swapaxes") + rank;
  Ints perm;
  for (std::int64_t d = 0; d < rank; ++d) perm.push_back(d == first ? second : d == second ? first : d);
  return {first == second ? in[0] : ir::transpose(b, in[0], perm)};
}

Vars moveaxis(Builder& b, std::span<const Var> in, const Attrs& attrs) {
  const auto rank = static_cast<std::int64_t>(b.type(in[0]).shape.size());
  const Ints from = *ints_if(attrs, "source"), to = *ints_if(attrs, "destination");
  if (from.size() != to.size())
    fail("shape",
         "moveaxis: " + std::to_string(from.size()) + " axes cannot go to " + std::to_string(to.size()) + " places");
  axes_from_end(from, rank, "moveaxis"), axes_from_end(to, rank, "moveaxis");  // each named once
  std::vector<std::int64_t> perm(static_cast<std::size_t>(rank), -1), rest;
  for (std::size_t i = 0; i < from.size(); ++i)
    perm[static_cast<std::size_t>(from_end(to[i], rank, "moveaxis") + rank)] =
        from_end(from[i], rank, "moveaxis") + rank;
  for (std::int64_t d = 0; d < rank; ++d)
    if (std::find(perm.begin(), perm.end(), d) == perm.end()) rest.push_back(d);
  auto next = rest.begin();
  for (auto& d : perm)
    if (d < 0) d = *next++;
  return {ir::transpose(b, in[0], perm)};
}

// Matrices in the last two dimensions, as asked by axis1 and axis2.
Var matrices_of(Builder& b, Var x, const Attrs& attrs, std::string_view op) {
  const Type& t = b.type(x);
  const std::int64_t rank = t.rank();
  if (rank < 2) fail("shape", std::string(op) + " takes an array of two dimensions or more, got " + to_string(t));
  const std::int64_t first = from_end(integer_or(attrs, "axis1", 0), rank, op),
                     second = from_end(integer_or(attrs, "axis2", 1), rank, op);
  if (first == second)
    fail("shape", std::string(op) + ": axis1 and axis2 are both axis " + std::to_string(first + rank));
  Ints perm;
  for (std::int64_t d = 0; d < rank; ++d)
    if (d != first + rank && d != second + rank) perm.push_back(d);
  perm.push_back(first + rank);
  perm.push_back(second + rank);
  return std::is_sorted(perm.begin(), perm.end()) ? x : ir::transpose(b, x, perm);
}

Expr on_diagonal(Builder& b, std::int64_t rows, std::int64_t columns, std::int64_t k) {
  Expr i = positions_along(b, rows, 2, -2), j = positions_along(b, columns, 2, -1);
  return eq(i + static_cast<double>(k), j);
}

// x where the condition holds, else nothing: 0 or false.
Expr only_where(const Expr& condition, const Expr& x) { return select(condition, x, 0.0); }

Var diagonal_of(Builder& b, Var x, std::int64_t k) {
  const Shape shape = b.type(x).shape;
  const std::int64_t rows = shape[shape.size() - 2], columns = shape.back();
  const std::int64_t size =
      std::max<std::int64_t>(0, std::min(rows + std::min<std::int64_t>(k, 0), columns - std::max<std::int64_t>(k, 0)));
  const std::int64_t top = size == 0 ? 0 : std::max<std::int64_t>(-k, 0),
                     left = size == 0 ? 0 : std::max<std::int64_t>(k, 0);
  Expr square{b, part_of(b, part_of(b, x, -2, top, top + size), -1, left, left + size)};
  Expr kept = only_where(on_diagonal(b, size, size, 0), square);
  if (kept.type().dtype == DType::Bool) return b.call("reduce_or", {kept}, {{"axes", Ints{-1}}});
  return ir::reduce_sum(b, kept, {-1});
}

Vars diagonal(Builder& b, std::span<const Var> in, const Attrs& attrs) {
  return {diagonal_of(b, matrices_of(b, in[0], attrs, "diagonal"), integer_or(attrs, "offset", 0))};
}

Vars diag(Builder& b, std::span<const Var> in, const Attrs& attrs) {
  const Type t = b.type(in[0]);
  const std::int64_t k = integer_or(attrs, "k", 0);
  if (t.rank() == 2) return {diagonal_of(b, in[0], k)};
  if (t.rank() != 1) fail("shape", "diag takes a vector or a matrix, got " + runtime::to_string(t));
  const std::int64_t above = std::max<std::int64_t>(0, k), below = std::max<std::int64_t>(0, -k),
                     n = t.shape[0] + above + below;
  Var v = in[0];
  if (k != 0) v = b.call("pad", {v}, {{"widths", ir::Pairs{{below, above}}}});
  return {only_where(on_diagonal(b, n, n, k), {b, expand(b, v, {n, 1})})};
}

Vars trace(Builder& b, std::span<const Var> in, const Attrs& attrs) {
  Expr x{b, matrices_of(b, in[0], attrs, "trace")};
  const Shape& shape = x.type().shape;
  Expr kept = only_where(on_diagonal(b, shape[shape.size() - 2], shape.back(), integer_or(attrs, "offset", 0)), x);
  return {b.call("sum", {kept}, {{"axis", Ints{-2, -1}}})};
}

}  // namespace

void register_axes(OpTable& t) {
  add_composite(t, "swapaxes(x, axis1: int, axis2: int)", "Two dimensions in each other's place.",
                "[4, 6] axis1=0 axis2=-1; [2, 4, 6] axis1=2 axis2=0", swapaxes);
  add_composite(t, "moveaxis(x, source: ints, destination: ints)",
                "Dimensions moved to other places, the others in their order.",
                "[2, 4, 6] source=[0] destination=[-1]; [2, 4, 6] source=[2, 0] destination=[0, 1]", moveaxis);
  add_composite(t, "diag(x, k: int = 0)", "The k-th diagonal of a matrix, or the matrix with a vector on it.",
                "[4, 4]; [4, 6] k=1; [4]; [4] k=-2; bool[4, 4] 0..2", diag);
  add_composite(t, "diagonal(x, offset: int = 0, axis1: int = 0, axis2: int = 1)",
                "A diagonal of two dimensions, which becomes the last one.",
                "[4, 6] offset=-1; [4, 2, 6] axis1=-1 axis2=0", diagonal);
  add_composite(t, "trace(x, offset: int = 0, axis1: int = 0, axis2: int = 1)",
                "The sum of a diagonal of two dimensions.", "[4, 4]; [4, 2, 6] offset=1 axis2=2; i32[4, 4]", trace);
}

}  // namespace shard::stdlib
