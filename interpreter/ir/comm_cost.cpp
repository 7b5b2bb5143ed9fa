#include "interpreter/ir/comm_cost.h"

#include <algorithm>

namespace shard::ir {

CommCost comm_cost(Comm kind, std::int64_t bytes, std::int64_t devices) {
  bytes = std::min(bytes, INT64_MAX / 2 / devices);             // sizes saturate
  const std::int64_t others = bytes / devices * (devices - 1);  // all parts but a device's own
  switch (kind) {
    case Comm::Sum:
    case Comm::Max:
    case Comm::Min: return {bytes, 2 * others};  // scattered, then gathered
    case Comm::ScatterSum:
    case Comm::AllToAll: return {bytes, others};
    case Comm::Gather: return {bytes * devices, bytes * (devices - 1)};
    case Comm::Permute: return {bytes, bytes};
    case Comm::None:
    case Comm::Index:
    case Comm::Cast:
    case Comm::Slice: break;
  }
  return {};
}

}  // namespace shard::ir
