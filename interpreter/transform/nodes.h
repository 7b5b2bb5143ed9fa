// Small words that passes share when they walk the nodes of a graph.
#pragma once
#include <memory>
#include <utility>

#include "interpreter/ir/op.h"

namespace shard::transform {

inline std::size_t count(const ir::Node& n, const char* name) {
  return static_cast<std::size_t>(n.attrs.integer(name));
}
inline std::int64_t bytes(const ir::Type& t) {
  return runtime::numel(t.shape) * static_cast<std::int64_t>(runtime::size_of(t.dtype));
}
inline ir::GraphRef share(ir::Graph g) { return std::make_shared<const ir::Graph>(std::move(g)); }
inline bool is(const ir::Node& n, ir::Structure kind) {
  const ir::Structure* s = ir::structure_of(*n.op);
  return s && *s == kind;
}

}  // namespace shard::transform
