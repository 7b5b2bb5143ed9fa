// Distinct axes: along which mesh axes the blocks of a local value may differ from device to device. What does not
// differ is stored and computed once. Read from the graph's data flow and the `comm` column, never from the varying
// axes of types: a gathered value is typed varying and is the same block everywhere. A pass of the pipeline, done once
// for a program with all its regions; what runs the program only reads the result.
#pragma once
#include <span>
#include <vector>

#include "interpreter/ir/graph.h"
#include "runtime/mesh/mesh.h"

namespace shard::transform {

// Of all values of a graph and of its regions. Axes of size 1 are left out.
struct Distinct {
  std::vector<runtime::AxisSet> of;  // by Var::id
  struct Inside {                    // of a node with regions
    std::vector<Distinct> regions;
    // Axes along which the condition of a loop or branch differs: its regions run once for each block along them, and
    // inside nothing differs along them.
    runtime::AxisSet blocks;
  };
  std::vector<Inside> inside;  // by node index; empty where no node has regions
};
Distinct distinct_axes(const ir::Graph& g, std::span<const runtime::AxisSet> params, const runtime::Mesh* mesh);

// What must hold between a graph and its sets: loops give back what they take. Throws std::logic_error.
void verify(const Distinct& distinct, const ir::Graph& g, const runtime::Mesh* mesh);

// `axes` of a collective; without those of size 1 where `real` is set.
std::vector<runtime::AxisId> axes_of(const ir::Node& node, const runtime::Mesh& mesh, bool real = false);

}  // namespace shard::transform
