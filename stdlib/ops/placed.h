// What makes arrays, with an `out:` that leaves a sum pending: the result is placed, and what is made on the way counts as it is.
#pragma once
#include "stdlib/ops/rows.h"

namespace shard::stdlib {

ir::Compose placed_last(ir::Compose inner);

}  // namespace shard::stdlib
