// What a collective moves and costs: the one formula for the account of a call (transform/communication.h) and for the
// planner that weighs ways between layouts (transform/moves.h).
#pragma once
#include <cstdint>

#include "interpreter/ir/op.h"

namespace shard::ir {

struct CommCost {
  std::int64_t bytes = 0;  // as `comm` counts: the larger of what one device gives to the collective and gets from it
  std::int64_t sent = 0;   // what one device sends to others where the devices stand in a ring
};
// `bytes`: the operand's on one device; `devices`: that take part together (of a group). Moves nothing where `kind` is
// not a collective, or one that only looks (axis_index, pcast, own_slice).
CommCost comm_cost(Comm kind, std::int64_t bytes, std::int64_t devices);

}  // namespace shard::ir
