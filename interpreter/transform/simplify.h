// Clean-up of graphs at either level: dead code (effects stay), common subexpressions, conversions and broadcasts that
// change nothing, equal collectives. A reader of columns only.
#pragma once
#include "interpreter/ir/op_table.h"

namespace shard::transform {

ir::Graph simplify(const ir::OpTable& table, const ir::Graph& graph);

}  // namespace shard::transform
