// Distinct axes: along which mesh axes the blocks of a local value may differ from device to device. What does not
// differ is stored and computed once. Read from the graph's data flow and the `comm` column, never from the varying
// axes of types: a gathered value is typed varying and is the same block everywhere.
#pragma once
#include <span>
#include <vector>

#include "interpreter/ir/graph.h"
#include "runtime/mesh/mesh.h"

namespace shard::transform {

// `axes` of a collective; without those of size 1 where `real` is set.
std::vector<runtime::AxisId> axes_of(const ir::Node& node, const runtime::Mesh& mesh, bool real = false);

// By Var::id. `frozen`: axes whose coordinate is fixed while this graph runs (a region that runs block by block):
// nothing differs there.
std::vector<runtime::AxisSet> distinct_axes(const ir::Graph& g, std::span<const runtime::AxisSet> params,
                                            const runtime::Mesh* mesh, runtime::AxisSet frozen = {});

// Loops: the axes of the carried values, which grow until the body gives what it takes; of the stacked results; and
// those along which the condition differs (while loops), along which the whole loop runs block by block.
struct LoopAxes {
  std::vector<runtime::AxisSet> carry, stacked;
  runtime::AxisSet condition;
};
LoopAxes loop_axes(const ir::Node& node, std::span<const runtime::AxisSet> in, const runtime::Mesh* mesh,
                   runtime::AxisSet frozen);

// A collective other than `axis_index`, `own_slice` and `pcast` over one of `axes` inside: the node, or null.
const ir::Node* collective_over(const ir::Graph& g, runtime::AxisSet axes, const runtime::Mesh& mesh);

}  // namespace shard::transform
