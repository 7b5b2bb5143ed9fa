// Before propagation: calls become part of the graph around them, and values made of nothing (constants, counts, what
// is only spread from them) are made anew for each use, so that their layouts do not tie together what has nothing to
// do with each other.
#pragma once
#include "interpreter/ir/op_table.h"

namespace shard::transform {

// Inlines calls, in regions too. Nodes of a call that says `remat` get an attribute `barrier`, a number of their own:
// equal nodes outside are not merged with them.
ir::Graph inline_calls(const ir::OpTable& table, const ir::Graph& graph);
ir::Graph split_constants(const ir::OpTable& table, const ir::Graph& graph);

// A graph that was never laid out, as the program of its one device: constraints mean nothing.
ir::Graph on_one_device(const ir::OpTable& table, const ir::Graph& graph);

}  // namespace shard::transform
