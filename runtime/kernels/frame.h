// What lies around a block of an array, as padding does.
#pragma once
#include "runtime/array/view.h"

namespace shard::runtime {

// Elements of `in` to `out`, of one shape and any strides, but for the block that begins at `begin` and has the shape
// `inner`. Element types are the same.
void copy_around(View in, View out, const Shape& begin, const Shape& inner);

}  // namespace shard::runtime
