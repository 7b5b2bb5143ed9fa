// Rows that collective.cpp registers besides its own.
#pragma once
#include "stdlib/ops/rows.h"

namespace shard::stdlib {

void register_mapped_axis(OpTable& table);  // mapped_axis.cpp: collectives over a dimension that vmap maps over
OpDef shard_row();                          // constraint.cpp: the layout of a value
OpDef follow_row();                         // constraint.cpp: the layout of another value

}  // namespace shard::stdlib
