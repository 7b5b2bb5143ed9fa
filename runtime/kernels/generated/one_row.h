// The machine code of a program whose elements are one short row, as in loops of small things: what is reduced stays in
// registers too.
#pragma once
#include <memory>

#include "runtime/kernels/element_plan.h"
#include "runtime/kernels/generated/element_code.h"

namespace shard::runtime::generated {

// Null where that cannot be: the row does not fit a vector, or a step is no formula of 4-byte elements.
std::unique_ptr<const ElementCode> make_one_row(const ElementPlan& plan);

}  // namespace shard::runtime::generated
