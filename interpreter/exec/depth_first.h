// Depth first: products of a batch of matrices, or reductions, and what stands between them are done block by block
// over the dimensions that they all share (batch, head, device), so that what one block needs stays in the second cache
// and never becomes an array of its own. The scores of attention are such a thing. Blocks do not depend on one another:
// threads take a block each. Found by structure, from factors of operations; nothing is known of attention.
#pragma once
#include <cstdint>
#include <vector>

#include "interpreter/exec/fuse.h"
#include "interpreter/ir/graph.h"
#include "runtime/mesh/mesh.h"

namespace shard::exec {

// Of units that are done together: where their values are cut.
struct Segment {
  std::vector<Unit> parts;  // in an order of execution
  runtime::AxisSet axes;    // along which the blocks of devices are taken one by one
  struct Cut {
    std::int64_t count, each;  // blocks, and their size
    std::vector<int> dim;      // by Var::id: the dimension that is cut; kWhole where all blocks read all of it
  };
  std::vector<Cut> cuts;  // of dimensions, outer ones first
  static constexpr int kWhole = -1;
};

// The same units; those that shall be done depth first are parts of one, which stands where the last of them stood.
// What uses them comes behind it. `mesh`: with the sizes of this process. Which units go together hangs on the graph
// and `whole`, the sizes of all processes: all decide alike.
std::vector<Unit> depth_first(const ir::Graph& g, const std::vector<runtime::AxisSet>& distinct,
                              const runtime::Mesh* mesh, const runtime::Mesh* whole, std::vector<Unit> units);

}  // namespace shard::exec
