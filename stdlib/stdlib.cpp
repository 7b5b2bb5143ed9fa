#include "stdlib/stdlib.h"

#include "interpreter/lang/fixes/fix.h"
#include "interpreter/lang/staging/modes.h"
#include "stdlib/host/host.h"
#include "stdlib/ops/ops.h"

namespace shard::stdlib {

void install(ir::OpTable& table) {
  table.fill_when_asked([](ir::OpTable& t) {
    register_all(t);
    t.freeze();
  });
}

void install(lang::Interpreter& in) {
  lang::install_modes(in);
  lang::install_fixes(in);
#define SHARD_REGISTER(name) register_##name(in);
  SHARD_HOST_FAMILIES(SHARD_REGISTER)
#undef SHARD_REGISTER
}

}  // namespace shard::stdlib
