// Arrays without elements: what a target gives that computes nothing. An array whose buffer is null stands for its
// type and layout; what reads an element of it ends in RuntimeError("unknown") (runtime/mesh/device_array.cpp).
#pragma once
#include "interpreter/exec/executable.h"

namespace shard::exec {

ArrayRef without_elements(const ArrayInfo& info);
// An array of this type that is laid out as the type says over all axes; what it is typed with are the explicit ones.
ArrayRef without_elements(runtime::Type type, const runtime::MeshRef& mesh);

}  // namespace shard::exec
