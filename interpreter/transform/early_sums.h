// Sums over devices brought to the contractions whose terms they add up: psum(c * dot(x, y)) becomes c * psum(dot(x,
// y)), and a psum_scatter a psum of which each device sees its part. So that the terms of single devices are never
// stored where one process runs all devices (exec/fuse.h makes one instruction of a contraction and its sum); a
// psum_scatter between processes of one device each stays. A pass of the pipeline for targets that ask for it; the
// account of what is communicated is made before.
#pragma once
#include <optional>

#include "interpreter/ir/op_table.h"
#include "interpreter/transform/distinct.h"

namespace shard::transform {

// Regions too. Nothing where no sum moves.
std::optional<ir::Graph> with_early_sums(const ir::OpTable& table, const ir::Graph& g, const Distinct& distinct,
                                         const runtime::Mesh& mesh);

}  // namespace shard::transform
