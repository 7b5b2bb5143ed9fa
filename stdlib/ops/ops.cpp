#include "stdlib/ops/ops.h"

namespace shard::stdlib {

void register_all(ir::OpTable& table) {
#define SHARD_REGISTER(name) register_##name(table);
  SHARD_OP_FAMILIES(SHARD_REGISTER)
#undef SHARD_REGISTER
}

}  // namespace shard::stdlib
