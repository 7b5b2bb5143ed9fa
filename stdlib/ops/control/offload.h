// What a policy of `remat` keeps in the host's memory between the forward and the backward part. Used by
// function_call.cpp.
#pragma once
#include "stdlib/ops/control/control.h"

namespace shard::stdlib {

// `forward` with a copy to the host behind what makes result i, which takes its place, for each i in `results`.
Graph copied_out(const ir::OpTable& table, const Graph& forward, std::span<const std::size_t> results);
// `backward` with a copy from the host before the first node that reads parameter i, for each i in `params`. What hangs
// on no cotangent (parameters from `cotangents` on) is made where it is wanted first, and not all of it before the
// rest: everything would be fetched then.
Graph copied_back(const ir::OpTable& table, const Graph& backward, std::span<const std::size_t> params,
                  std::size_t cotangents);

}  // namespace shard::stdlib
