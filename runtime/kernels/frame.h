// What lies around a block of an array, as padding does.
#pragma once
#include <vector>

#include "runtime/array/view.h"

namespace shard::runtime {

// All of an array of shape `whole` but for the block that begins at `begin` and has the shape `inner`, as blocks.
struct Block {
  Shape begin, shape;
};
std::vector<Block> around(const Shape& whole, const Shape& begin, const Shape& inner);
std::int64_t first_element(const Block& block, const View& of);  // where it lies

// These elements of `in` to `out`, of one shape and any strides. Element types are the same.
void copy_around(View in, View out, const Shape& begin, const Shape& inner);

}  // namespace shard::runtime
