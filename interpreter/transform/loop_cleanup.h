// Loops and branches made smaller: results that nobody uses (and what only they need) go, and what does not change in a
// loop is computed before it, where that makes nothing larger. Graph in, graph out; called by the pipeline before
// propagation.
#pragma once
#include "interpreter/ir/op_table.h"

namespace shard::transform {

ir::Graph trim_loops(const ir::OpTable& table,
                     const ir::Graph& graph);  // unused steps, carries and results of branches
ir::Graph hoist_invariants(const ir::OpTable& table, const ir::Graph& graph);

}  // namespace shard::transform
