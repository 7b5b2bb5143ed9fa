// Rows about layouts that collective.cpp registers.
#pragma once
#include "stdlib/ops/rows.h"

namespace shard::stdlib {

OpDef shard_row();    // constraint.cpp: the layout of a value
OpDef follow_row();   // constraint.cpp: the layout of another value

}  // namespace shard::stdlib
