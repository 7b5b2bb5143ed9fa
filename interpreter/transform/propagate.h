// Layout propagation over a whole global graph: from parameters, `shard` constraints and results, both ways, to a
// layout for every value. A reader of the factor rules; it knows no operation. Priorities as in Shardy: elementwise
// first, then pass-through factors, then everything; what a split layout says wins over nothing said; closed dimensions
// and axes in use are never overridden.
#pragma once
#include <span>
#include <vector>

#include "interpreter/ir/graph.h"

namespace shard::transform {

// Layouts of all values of a graph and of its regions, over all axes of the mesh.
struct Layouts {
  std::vector<runtime::Sharding> of;          // by Var::id
  std::vector<std::vector<Layouts>> regions;  // by node index, then region
};
Layouts propagate(const ir::Graph& graph, const runtime::MeshRef& mesh, std::span<const runtime::Sharding> params);

}  // namespace shard::transform
