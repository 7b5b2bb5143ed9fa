// A graph as a function in Shard: what `trace` prints.
#pragma once
#include "interpreter/ir/graph.h"

namespace shard::ir {

// "fn(a: f32[3]) { ... }": a `let` for each node, its type behind it; regions are functions too. The first `arguments`
// parameters are those of the call, the others came from outside.
std::string as_function(const Graph& g, std::size_t arguments);

}  // namespace shard::ir
