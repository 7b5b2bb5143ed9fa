// What a program makes for itself instead of reading it: cheap elementwise values that another program makes, of what
// it reads anyway. So the forward part of `gelu` keeps two arrays for the backward part in place of five.
#pragma once
#include <vector>

#include "interpreter/exec/fuse.h"
#include "runtime/mesh/mesh.h"

namespace shard::exec {

// Fills in Unit::again. The same bits; each program reads fewer arrays of all its points than before, or as many.
void recompute(const ir::Graph& g, const std::vector<runtime::AxisSet>& distinct, const runtime::Mesh* mesh,
               std::vector<Unit>& units);

}  // namespace shard::exec
