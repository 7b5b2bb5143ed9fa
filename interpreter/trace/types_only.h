// A plan that is not run: where only types are computed (Context::types_only) it stands for a compiled graph and gives
// arrays without data, of the types that the graph's results have. What a compiled plan would know besides is unknown.
#pragma once
#include <memory>

#include "interpreter/exec/executable.h"

namespace shard::trace {

runtime::ArrayRef without_data(runtime::Type type, runtime::MeshRef mesh = nullptr);
std::shared_ptr<const exec::Executable> types_only_plan(const ir::Graph& graph, runtime::MeshRef mesh);

}  // namespace shard::trace
