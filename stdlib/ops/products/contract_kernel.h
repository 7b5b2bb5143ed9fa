// The kernel of `contract`: any sum of products of two arrays, brought to the matrix product of runtime/kernels.
#pragma once
#include <string_view>

#include "interpreter/hlo/writer.h"
#include "stdlib/ops/rows.h"

namespace shard::stdlib {

// "bmk,bkn->bmn": one letter a dimension, covering the last dimensions of each array.
struct ContractSpec {
  std::string_view x, y, out;
};
ContractSpec read_spec(std::string_view text);
BoundKernel bind_contract(const KernelCall& call);
std::vector<hlo::Value> contract_hlo(const hlo::Use& use);  // contract_hlo.cpp
// Also summed over the first `terms` leading dimensions, which the result does not have (the `kernel_sum` column).
BoundKernel bind_contract_sum(const KernelCall& call, int terms);
std::int64_t contract_copies(const KernelCall& call, int terms);  // the `copies` column

}  // namespace shard::stdlib
