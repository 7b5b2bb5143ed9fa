#include "interpreter/lang/staging/jit_cache.h"

#include "interpreter/lang/eval/impl.h"

namespace shard::lang {
namespace {

bool fits(Interpreter& in, const CompiledEntry& e, const Value& tree, const std::vector<CallArg>& args,
          Gathered& leaves) {
  leaves.arrays.clear();
  leaves.numbers.clear();
  if (e.target != &in.context().target()) return false;
  if (!same_mesh(e.mesh, in.context().mesh()) || !equal(e.rules, in.impl().surroundings.rules())) return false;
  if (!e.arguments.match(tree, leaves)) return false;
  for (std::size_t i = 0; i < args.size(); ++i)
    if (args[i].becomes != e.becomes[i]) return false;
  for (const Capture& o : e.outside)
    if (!o.pattern.match(o.cell->value, leaves)) return false;
  for (const auto& [leaf, number] : e.guards)
    if (leaves.numbers[leaf] != number) return false;
  return true;
}

}  // namespace

const CompiledEntry* JitCache::find(Interpreter& in, const Value& arguments, const std::vector<CallArg>& args,
                                    Gathered& leaves) {
  if (last_ && fits(in, last_->entry, arguments, args, leaves)) return &last_->entry;
  const auto found = by_key_.find(Pattern::hash(arguments));
  if (found == by_key_.end()) return nullptr;
  for (auto it = found->second.rbegin(); it != found->second.rend(); ++it)
    if (*it != last_ && fits(in, (*it)->entry, arguments, args, leaves)) {
      last_ = *it;
      return &last_->entry;
    }
  return nullptr;
}

const CompiledEntry& JitCache::add(const Value& arguments, CompiledEntry entry) {
  if (entries_.size() >= kEntries) {
    const Slot& oldest = entries_.front();
    auto bucket = by_key_.find(oldest.key);
    std::erase(bucket->second, &oldest);
    if (bucket->second.empty()) by_key_.erase(bucket);
    entries_.pop_front();
  }
  entries_.push_back({Pattern::hash(arguments), std::move(entry)});
  last_ = &entries_.back();
  by_key_[last_->key].push_back(last_);
  return last_->entry;
}

}  // namespace shard::lang
