// Reading from arrays whose elements lie elsewhere and can be had in parts (files that are mapped): only what the items
// between brackets pick is brought here.
#pragma once
#include "interpreter/lang/eval/index/index_plan.h"

namespace shard::lang {

bool lies_far(const trace::Tensor& x);
// The part that the plan needs, as an array of its own; the plan then speaks of that one.
trace::Tensor far_part(ArrayOps& ops, const trace::Tensor& x, IndexPlan& plan);

}  // namespace shard::lang
