// Operations on concrete arrays, outside of any trace: each is a graph of one node, compiled through the common
// pipeline and found again by target, operation, attributes and how the operands are laid out. Called by Context only.
#pragma once
#include <memory>
#include <span>
#include <unordered_map>
#include <vector>

#include "interpreter/exec/cache.h"
#include "interpreter/ir/op.h"

namespace shard::trace {

class EagerCache {
 public:
  struct Entry {
    const exec::Target* target;
    const ir::OpDef* op;
    ir::Attrs attrs;
    std::vector<exec::ArrayInfo> args;
    runtime::MeshRef current;  // the mesh that said which axes are explicit
    std::shared_ptr<const exec::Executable> plan;
  };
  static std::size_t key(const ir::OpDef& op, const ir::Attrs& attrs, std::span<const runtime::ArrayRef> args);
  const exec::Executable* find(std::size_t key, const exec::Target& target, const ir::OpDef& op, const ir::Attrs& attrs,
                               std::span<const runtime::ArrayRef> args, const runtime::MeshRef& current) const;
  const exec::Executable* add(std::size_t key, Entry entry);

 private:
  static constexpr std::size_t kLimit = 4096;  // emptied when it holds this many
  std::unordered_multimap<std::size_t, Entry> entries_;
};

}  // namespace shard::trace
