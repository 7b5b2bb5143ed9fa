// vmap of graphs: one new leading dimension on some parameters and, as it turns out, on some results. Graph in, graph out.
#pragma once
#include <vector>

#include "interpreter/ir/table.h"

namespace shard::transform {

struct Batched {
  ir::Graph graph;
  std::vector<bool> mapped;   // which results have the new dimension in front
};
// mapped[i]: parameter i has the new dimension, of `size`, in front. `force`: results that do not depend on it are repeated.
Batched batch(const ir::OpTable& table, const ir::Graph& f, const std::vector<bool>& mapped, std::int64_t size, bool force);

}  // namespace shard::transform
