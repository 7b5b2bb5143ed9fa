// Sums over devices brought to the contractions whose terms they add: psum(c * dot(x, y)) becomes c * psum(dot(x, y)),
// and a psum_scatter a psum of which each device sees its part. So that the terms of single devices are never stored
// (fuse.h makes one instruction of a contraction and its sum). A rewriting of local graphs before lowering; says
// nothing about what is communicated.
#pragma once
#include "interpreter/ir/table.h"
#include "runtime/mesh/mesh.h"

namespace shard::transform {

// `params`: along which axes the parameters differ. Regions are left alone: they are rewritten when they are lowered.
ir::Graph with_early_sums(const ir::OpTable& table, const ir::Graph& g, std::span<const runtime::AxisSet> params,
                          const runtime::Mesh& mesh, runtime::AxisSet frozen);

}  // namespace shard::transform
