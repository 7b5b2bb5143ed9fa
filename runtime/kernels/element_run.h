// One run of a prepared elementwise program, or a part of one, in the calling thread (element_run.cpp).
#pragma once
#include <cstdint>

#include "runtime/kernels/element_plan.h"

namespace shard::runtime {
namespace generated {
struct ElementCode;
}

// Of a program of few elements, all of them.
void run_few_elements(const ElementPlan& p, void* const* inputs, void* const* outputs);
// Elements [from, to), from a multiple of what a tile has to be one of. `code`: null where every step is a loop.
void run_elements(const ElementPlan& p, const generated::ElementCode* code, void* const* inputs, void* const* outputs,
                  std::int64_t from, std::int64_t to);

}  // namespace shard::runtime
