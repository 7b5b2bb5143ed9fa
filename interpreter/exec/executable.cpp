#include "interpreter/exec/executable.h"

namespace shard::exec {

ArrayInfo array_info(const runtime::DeviceArray& a) { return {a.type, a.layout, a.distinct, a.type.mesh}; }

bool matches(const ArrayInfo& info, const runtime::DeviceArray& a) {
  return info.distinct == a.distinct && info.type == a.type && info.layout == a.layout &&
         same_mesh(info.mesh, a.type.mesh);
}

const Program& Executable::partitioned() const {
  if (!program_->partitioned)
    throw runtime::RuntimeError("unknown", "nothing is compiled where only types are computed");
  return *program_;
}

}  // namespace shard::exec
