// The way from one layout to another: what reshard makes nodes of, and what it costs.
#pragma once
#include <vector>

#include "interpreter/ir/attrs.h"
#include "interpreter/transform/factor_layout.h"

namespace shard::transform {

struct Move {
  enum class Kind { Slice, Permute, Exchange, Gather, Reduce, ScatterReduce };
  Kind kind;
  Axes axes;             // major first; Permute: the axes whose devices take part, in mesh order
  int dim = 0;           // Slice, ScatterReduce: becomes split; Gather, Exchange: was split
  int to = 0;            // Exchange: becomes split
  ir::Pairs pairs = {};  // Permute: (source, destination), positions along `axes`
};

// Moves that bring a value of this global shape from one split to another and reduce `unreduced` (those of
// from.unreduced that to.unreduced does not keep). Axes of size 1 are ignored. Sizes divide in both layouts.
std::vector<Move> plan_moves(const Mesh& mesh, const runtime::Shape& shape, std::int64_t item_bytes,
                             const Sharding& from, const Sharding& to);

}  // namespace shard::transform
