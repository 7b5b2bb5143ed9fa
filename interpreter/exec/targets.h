// THE list of targets (target.h). Engines find them by name; one that is not in the list can be handed to a context as
// an object.
#pragma once
#include <string_view>

#include "interpreter/exec/target.h"

namespace shard::exec {

struct TargetRow {
  std::string_view name, doc;
  std::unique_ptr<const Target> (*make)(const ir::OpTable& table, runtime::Pool& pool);
};
std::span<const TargetRow> targets();
std::unique_ptr<const Target> make_target(std::string_view name, const ir::OpTable& table, runtime::Pool& pool);

// Each in a file of its own name.
std::unique_ptr<const Target> make_lockstep(const ir::OpTable& table, runtime::Pool& pool);
std::unique_ptr<const Target> make_exact(const ir::OpTable& table, runtime::Pool& pool);      // lockstep.cpp
std::unique_ptr<const Target> make_nan_check(const ir::OpTable& table, runtime::Pool& pool);  // lockstep.cpp
std::unique_ptr<const Target> make_abstract(const ir::OpTable& table, runtime::Pool& pool);
std::unique_ptr<const Target> make_apart(const ir::OpTable& table, runtime::Pool& pool);  // abstract.cpp
std::unique_ptr<const Target> make_types(const ir::OpTable& table, runtime::Pool& pool);  // abstract.cpp

}  // namespace shard::exec
