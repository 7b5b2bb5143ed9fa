// Arrays as files and functions of blocks see them: the blocks that devices hold, each once, with its place in the
// whole; and new arrays whose blocks are filled one by one. Nothing here brings an array together.
#pragma once
#include <functional>

#include "runtime/mesh/device_array.h"

namespace shard::runtime {

struct DeviceBlock {
  Shape origin;
  View terms;  // the block; in front `unreduced_dims` dimensions of terms that are summed (maximum, minimum)
  int unreduced_dims = 0;
  std::int64_t number = 0;  // among all blocks of the array, those of other processes too
  std::int64_t place = 0;   // in `DeviceArray::buffer`, which has blocks one behind the other; of a sum its first term
};
// The distinct blocks that split the array, in row-major order of their places; of several processes those of this one.
std::vector<DeviceBlock> device_blocks(const DeviceArray& a);
std::int64_t count_of_blocks(const DeviceArray& a);  // of all processes
// Whether this process, `index`, writes the blocks that it has: of those that have the same ones the first.
bool writes_blocks(const DeviceArray& a, int index);

// Where an array shall lie. Without a mesh: one block.
struct Placement {
  Type type;
  Sharding layout;
};
Placement placement_of(const DeviceArray& a);
Placement placement_of(const Type& type);  // a type that is a value names all axes that split it
// A new array so laid out. `fill` is called for each distinct block with a view of its elements; what else there is of
// an unreduced sum is set here.
ArrayRef new_placed(Pool& pool, const Placement& at,
                    const std::function<void(const Shape& origin, const View& to)>& fill);

}  // namespace shard::runtime
