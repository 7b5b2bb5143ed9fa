// From a local graph to an Executable: distinct axes, fusion, places, memory, and what a run needs to make arrays of
// its results. The second half of compile() (executable.h), for graphs that are local already.
#pragma once
#include "interpreter/exec/executable.h"

namespace shard::exec {

// `types` and `layouts`: of the results as the caller sees them (global shapes).
std::shared_ptr<const Executable> compile_local(const ir::OpTable& table, ir::Graph local,
                                                std::span<const ArgInfo> args, const std::vector<ir::Type>& types,
                                                std::vector<runtime::Sharding> layouts, runtime::MeshRef mesh,
                                                runtime::Pool& pool);

}  // namespace shard::exec
