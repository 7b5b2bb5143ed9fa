// Rows that communication.cpp registers besides its own.
#pragma once
#include "stdlib/ops/rows.h"

namespace shard::stdlib {

OpDef shard_row();   // constraint.cpp: the layout of a value
OpDef follow_row();  // constraint.cpp: the layout of another value

}  // namespace shard::stdlib
