// What one call of a local graph says between devices and computes, read from the graph: collectives with their bytes,
// floating point operations. The length of a scan multiplies, a while body counts once, of branches the costlier
// counts.
#pragma once
#include "interpreter/transform/program.h"

namespace shard::transform {

struct Account {
  std::vector<CommRecord> comm;
  double flops = 0;  // over all devices
};
Account account(const ir::Graph& local, const runtime::Mesh* mesh);

}  // namespace shard::transform
