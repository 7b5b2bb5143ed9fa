// The kernel of `contract`, alone or with a sum over devices behind it.
#pragma once
#include "stdlib/ops/rows.h"

namespace shard::stdlib {

// Also summed over the first `terms` leading dimensions, which the result does not have (the `kernel_sum` column).
BoundKernel bind_contract_sum(const KernelCall& call, int terms);
ir::Copied contract_copies(const KernelCall& call, int terms);

}  // namespace shard::stdlib
