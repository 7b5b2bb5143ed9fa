// Compiled graphs, found again by the target, the structure of the graph and the layouts of its arguments: so that
// `grad(fn(p) = ...)` written inside a loop, and `x[i]` for a thousand i, compile once.
#pragma once
#include <cstddef>
#include <functional>
#include <memory>
#include <span>
#include <string>
#include <unordered_map>
#include <vector>

#include "interpreter/exec/target.h"

namespace shard::exec {

class PlanCache {
 public:
  explicit PlanCache(const ir::OpTable& table, std::size_t limit = 4096) : table_(table), limit_(limit) {}
  // The executable of `graph` on `target` for arguments laid out like `args`; compiled where it is not known yet. The
  // target lives as long as the cache.
  std::shared_ptr<const Executable> get(const Target& target, const ir::GraphRef& graph,
                                        std::span<const ArrayInfo> args, const runtime::MeshRef& mesh);
  // The same for arrays, whose mesh is then found out (with the axis kinds of `current` where it is of the same
  // devices). Asking again for the same graph object costs no hashing of the graph.
  std::shared_ptr<const Executable> get(const Target& target, const ir::GraphRef& graph, std::span<const ArrayRef> args,
                                        const runtime::MeshRef& current);
  std::size_t size() const { return plans_.size(); }
  std::size_t compiled() const { return compiled_; }  // how many were compiled so far
  void clear() {
    plans_.clear();
    recent_.clear();
  }

 private:
  struct Entry {
    const Target* target;
    ir::GraphRef graph;
    std::vector<ArrayInfo> args;
    runtime::MeshRef mesh;  // of recent ones: the one in use when they were asked for
    std::shared_ptr<const Executable> plan;
  };
  static constexpr std::size_t kRecent = 256;
  const ir::OpTable& table_;
  std::size_t limit_;  // the cache is emptied when it holds this many
  std::size_t compiled_ = 0;
  std::unordered_multimap<std::size_t, Entry> plans_;
  std::unordered_multimap<const ir::Graph*, Entry> recent_;
};

// The mesh that a graph runs on: that of its arguments and of the layouts inside; null where nothing was ever laid out.
// Where `current` (may be null) is of the same devices, it is that one: it says of which kind the axes are now.
// Throws RuntimeError("mesh") showing both where two differ.
runtime::MeshRef mesh_of(const ir::Graph& graph, std::span<const ArrayInfo> args, const runtime::MeshRef& current);

}  // namespace shard::exec
