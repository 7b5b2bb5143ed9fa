// What all executables have: the border between callers, who see arrays on the mesh that they declared, and programs,
// whose mesh may have axes in parts.
#include "interpreter/exec/executable.h"

#include "runtime/mesh/axis_parts.h"

namespace shard::exec {

const Program& Executable::partitioned() const {
  if (!program_->partitioned)
    throw runtime::RuntimeError("unknown", "nothing is compiled where only types are computed");
  return *program_;
}

std::vector<ArrayRef> Executable::run(std::vector<ArrayRef>& args, const std::vector<bool>& donate,
                                      const Hooks& hooks) const {
  const runtime::MeshRef& mesh = program_->mesh;
  if (!mesh || !mesh->whole) return compute(args, donate, hooks);
  for (ArrayRef& a : args) a = runtime::to_parts(std::move(a), mesh);
  const auto back = [&](std::vector<ArrayRef>& arrays) {
    for (ArrayRef& a : arrays)
      if (a) a = runtime::to_wholes(std::move(a), mesh);
  };
  try {
    std::vector<ArrayRef> out = compute(args, donate, hooks);
    back(out);
    return out;
  } catch (...) {
    back(args);
    throw;
  }
}

}  // namespace shard::exec
