// Copies between a device's memory and the host's, as a row's nodes say with the attribute `memory`: what `remat`
// offloads. Engines whose devices are parts of this machine pass the value on; what a device holds (exec) and what a
// copy takes (cost_model) is told by it.
#pragma once
#include <cstdint>

#include "interpreter/ir/graph.h"

namespace shard::ir {

enum class HostCopy : std::uint8_t { None, Out, Back };
HostCopy host_copy(const Node& n);  // memory: "host" (out) or "device" (back)

// Whether result `v` of `n` lies in the host's memory: a copy there, or the rows of a loop each of which is one.
bool lies_on_host(const Node& n, Var v);

}  // namespace shard::ir
