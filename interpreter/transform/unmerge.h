// Before layouts: reshape(reshape(x, [b * t, k]) @ w, [b, t, n]) is a product of x, whose rows may then be split inside
// of b * t. A merge of dimensions is undone where everything that uses the merged dimension is elementwise or a
// contraction, and in the end sums over it or splits it again as it was; else nothing changes. Regions too.
#pragma once
#include "interpreter/ir/op_table.h"

namespace shard::transform {

ir::Graph without_merges(const ir::OpTable& table, const ir::Graph& graph);

}  // namespace shard::transform
