// THE list of passes from a global graph (already differentiated) to the program of one device. Called by
// exec::compile; the graph is verified after each pass in Debug builds.
#pragma once
#include <functional>
#include <string_view>

#include "interpreter/transform/partition.h"

namespace shard::transform {

struct LowerOptions {
  std::function<void(std::string_view pass, const ir::Graph&)> dump;  // called with the graph after each pass
};

// `params`: the layouts that the arguments have. `mesh` null: nothing was ever laid out, the graph runs on one device
// as it is.
Partitioned lower(const ir::OpTable& table, const ir::Graph& graph, const runtime::MeshRef& mesh,
                  std::span<const runtime::Sharding> params, const LowerOptions& options = {});

}  // namespace shard::transform
