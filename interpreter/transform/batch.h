// vmap of graphs: one new leading dimension on some parameters and, as it turns out, on some results. Graph in, graph
// out. A reader of columns: factors say how operands broadcast, attributes count from the end, and rows for which that
// is not enough have a `batch` column.
#pragma once
#include <vector>

#include "interpreter/ir/builder.h"
#include "interpreter/ir/op_table.h"

namespace shard::transform {

struct Batched {
  ir::Graph graph;
  std::vector<bool> mapped;  // which results have the new dimension in front
};
// mapped[i]: parameter i has the new dimension, of `size`, in front. `force`: results that do not depend on it are
// repeated.
Batched batch(const ir::OpTable& table, const ir::Graph& f, const std::vector<bool>& mapped, std::int64_t size,
              bool force);
struct Front {  // the layout of the new dimension: explicit axes that split it
  runtime::DimSharding dim;
  runtime::MeshRef mesh;  // of these axes; may be null where there are none
};
// The same, with `force` by result.
Batched batch(const ir::OpTable& table, const ir::Graph& f, const std::vector<bool>& mapped, std::int64_t size,
              const std::vector<bool>& force, const Front& front = {});

// ---- for `batch` columns ----
ir::Type with_front(ir::Type t, std::int64_t size, const Front& front = {});  // the type with the new dimension
ir::Var repeat_front(ir::Builder& b, ir::Var x, std::int64_t size, const Front& front = {});
ir::Var front_mapped(ir::Builder& b, const ir::Mapped& x, std::int64_t size,
                     const Front& front);                                    // itself, or repeated
Front front_of(const ir::Builder& b, std::span<const ir::Mapped> operands);  // of the first mapped one

}  // namespace shard::transform
