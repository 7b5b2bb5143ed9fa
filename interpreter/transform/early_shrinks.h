// What makes a value smaller comes as soon as its operands are there: partitioning finishes an unreduced gradient where
// it is needed, most often at the end, and a whole one would be held for each weight until then.
#pragma once
#include <optional>

#include "interpreter/ir/op_table.h"

namespace shard::transform {

// The graph, local or of one device, with the same nodes in an order that holds less at a time; in regions too. Nothing
// where no node moves.
std::optional<ir::Graph> with_early_shrinks(const ir::Graph& graph);

}  // namespace shard::transform
