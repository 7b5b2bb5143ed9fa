// From a global graph with layouts to the program of one device: local shapes, explicit collectives. Here the modes
// meet. For each node a map from factors to axes is settled; operands that differ are resharded; reduced factors that
// are split leave an unreduced sum, carried through linear operations and finished as an all-reduce, or as a
// reduce-scatter where the value is wanted split.
#pragma once
#include "interpreter/ir/builder.h"
#include "interpreter/transform/propagate.h"

namespace shard::transform {

struct Partitioned {
  ir::Graph local;                         // params and results as those of the global graph
  std::vector<runtime::Sharding> results;  // their layouts
};
Partitioned partition(const ir::OpTable& table, const ir::Graph& graph, const runtime::MeshRef& mesh,
                      const Layouts& layouts);

// Appends the shortest sequence of slice, permute, all-to-all and gather (reduce, reduce-scatter for unreduced sums)
// that brings the local value x of global type `type` from one layout to another. Never replicates and slices.
// (reshard.cpp)
ir::Var reshard(ir::Builder& b, ir::Var x, const runtime::Type& global, const runtime::Mesh& mesh,
                const runtime::Sharding& from, const runtime::Sharding& to);

}  // namespace shard::transform
