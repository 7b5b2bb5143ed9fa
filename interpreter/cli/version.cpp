// Which program this is. Alone in its file: it is compiled anew after every commit.
#include "interpreter/cli/command.h"
#include "runtime/kernels/kernels.h"
#include "shard_commit.h"  // made by commit.cmake

namespace shard::cli {

std::string version_text() {
  const std::string here = runtime::matmul_isa();
  return "shard " SHARD_VERSION " (commit " SHARD_COMMIT ")\ncompiled by " SHARD_COMPILER " for " SHARD_PROCESSOR
         "\nkernels for " SHARD_INSTRUCTION_SETS "; here " +
         here;
}

}  // namespace shard::cli
