// Rows about layouts that collective.cpp registers.
#pragma once
#include "stdlib/ops/rows.h"

namespace shard::stdlib {

OpDef shard_row();   // constraint.cpp: the layout of a value

}  // namespace shard::stdlib
