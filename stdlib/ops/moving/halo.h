// Local forms of rows that move elements along a split dimension by constant amounts (slices, pads, rolls, joins): each
// device fetches from other blocks what its own block of the result needs, by ppermute.
#pragma once
#include <optional>

#include "stdlib/ops/elementwise.h"

namespace shard::stdlib {

// Elements of other blocks can be fetched, but for keys, which nothing can be filled up with.
inline FactorKind halo_of(const Type& x) { return x.dtype == DType::Key ? FactorKind::Whole : FactorKind::Halo; }

// A dimension of `size` elements in `devices` blocks (the last ones short or empty: transform/uneven.h).
struct SplitDim {
  std::size_t dim;
  std::vector<runtime::AxisId> axes;  // major first
  std::int64_t devices, size;
  // Of a dimension of n elements that is split alike.
  std::int64_t block_of(std::int64_t n) const { return (n + devices - 1) / devices; }
};
// How a dimension of an operand is split; nothing where it is whole.
std::optional<SplitDim> split_dim(const ir::LocalCall& c, std::size_t operand, std::size_t dim);

// On device i: `count` elements of the whole dimension from `first + i * step` on (step >= 0). What lies beyond the
// ends is any number.
Var window(Builder& b, Var x, const SplitDim& s, std::int64_t first, std::int64_t step, std::int64_t count);
// The same; what lies beyond the ends is 0, or `beyond`.
Var window_of_zeros(Builder& b, Var x, const SplitDim& s, std::int64_t first, std::int64_t step, std::int64_t count,
                    double beyond = 0);
// The element `by` places before, round the dimension (0 <= by < its size).
Var rolled(Builder& b, Var x, const SplitDim& s, std::int64_t by);
// The whole dimension from last to first.
Var reversed(Builder& b, Var x, const SplitDim& s);
// Everything of the dimension, on every device; and the block that each device keeps of it.
Var gathered(Builder& b, Var x, const SplitDim& s);
Var kept(Builder& b, Var x, const SplitDim& s);
// x with the identity of a reduction behind the end of the dimension.
Var ended(Builder& b, Var x, const SplitDim& s, FactorReduce how);
// x: what each device has to add to a stretch of s that begins `before` elements before its own block. What lies in
// other blocks goes to their devices; every device's lie the same way beside its block.
Var edges_added(Builder& b, Var x, const SplitDim& s, std::int64_t before);
// Where the elements of each device's block stand in the whole: i32, a dimension of `block` among others of size 1.
Var positions_of(Builder& b, const SplitDim& s, std::size_t rank, std::int64_t block);

}  // namespace shard::stdlib
