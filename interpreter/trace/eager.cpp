// The cache of single operations: hashing and comparing without making anything.
#include "interpreter/trace/eager.h"

namespace shard::trace {
std::size_t EagerCache::key(const ir::OpDef& op, const ir::Attrs& attrs, std::span<const runtime::ArrayRef> args) {
  std::size_t h = ir::mix(reinterpret_cast<std::size_t>(&op), attrs.empty() ? 0 : ir::hash(attrs));
  for (const auto& a : args) {
    h = ir::mix(h, static_cast<std::size_t>(a->type.dtype) * 2 + a->type.weak);
    for (auto n : a->type.shape) h = ir::mix(h, static_cast<std::size_t>(n));
    h = ir::mix(h, a->distinct.bits());
  }
  return h;
}

const exec::Executable* EagerCache::find(std::size_t key, const exec::Target& target, const ir::OpDef& op,
                                         const ir::Attrs& attrs, std::span<const runtime::ArrayRef> args,
                                         const runtime::MeshRef& current) const {
  auto [begin, end] = entries_.equal_range(key);
  for (auto it = begin; it != end; ++it) {
    const Entry& e = it->second;
    if (e.target != &target || e.op != &op || e.args.size() != args.size() || !same_mesh(e.current, current) ||
        !(e.attrs == attrs))
      continue;
    bool fits = true;
    for (std::size_t i = 0; i < args.size() && fits; ++i) fits = exec::matches(e.args[i], *args[i]);
    if (fits) return e.plan.get();
  }
  return nullptr;
}

const exec::Executable* EagerCache::add(std::size_t key, Entry entry) {
  if (entries_.size() >= kLimit) entries_.clear();
  return entries_.emplace(key, std::move(entry))->second.plan.get();
}

}  // namespace shard::trace
