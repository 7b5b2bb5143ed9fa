// Blocks of sizes that do not divide. In the program of one device a dimension of `size` elements over n devices lies
// in blocks of ceil(size / n) (runtime::block_shape): the last ones are short or empty, and behind the end lies what is
// called padding, which is any number. What works element for element does not care; what mixes positions fills it up
// first (`filled`), by the partitioner where a factor is reduced, by a row's own `partition` elsewhere. Arguments and
// results of a program always divide, and keys do, which nothing can fill up.
#pragma once
#include <span>

#include "interpreter/ir/builder.h"
#include "interpreter/transform/factor_layout.h"

namespace shard::transform {

// Whether propagation may split dimension d of a value over n devices though its size does not divide: no more devices
// than elements.
bool splits_unevenly(const ir::Type& type, std::size_t d, std::int64_t n);

// The layout without the axes, from the last of a dimension on, whose sizes do not divide it: what arguments and
// results have.
Sharding evened(const Mesh& mesh, const runtime::Shape& shape, Sharding layout);

// A dimension of a local value in blocks.
struct BlockedDim {
  std::size_t dim;
  std::span<const AxisId> axes;  // major first
  std::int64_t size;             // of the whole dimension
};
// x with the identity of `how` in the padding of a dimension, so that it changes nothing there: 0 of sums, the lowest
// number of maxima, ... x itself where there is none.
ir::Var filled(ir::Builder& b, ir::Var x, const BlockedDim& of, ir::FactorReduce how);
// x cut off or extended behind the end of each dimension to this shape, by any numbers.
ir::Var fitted(ir::Builder& b, ir::Var x, const runtime::Shape& shape);

// As `reshard` (passes.h), for layouts that need not divide.
ir::Var reshard_blocks(ir::Builder& b, ir::Var x, const ir::Type& global, const Mesh& mesh, const Sharding& from,
                       const Sharding& to);

}  // namespace shard::transform
