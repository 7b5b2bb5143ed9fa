#include "interpreter/ir/origin.h"

#include <mutex>
#include <set>

namespace shard::ir {

const std::string* part_named(std::string_view name) {
  static std::mutex mutex;
  static std::set<std::string, std::less<>>* const names = new std::set<std::string, std::less<>>;
  const std::scoped_lock lock(mutex);
  const auto known = names->find(name);
  return known != names->end() ? &*known : &*names->emplace(name).first;
}

}  // namespace shard::ir
