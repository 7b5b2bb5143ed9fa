// A mesh one axis of which is seen as two, its parts: of @model: 4 the parts @model:(1)2 (slowest) and @model:(2)2, as
// Shardy writes sub-axes. The same devices in the same order, so blocks lie in memory as they did. A compiled program
// may lay out what is between its arguments and results over parts; arrays and types that people see never are.
#pragma once
#include <utility>

#include "runtime/mesh/device_array.h"

namespace shard::runtime {

// Axis `a` as `first` times the rest; of an axis of several processes null where neither part is whole in each.
MeshRef with_parts(const MeshRef& mesh, AxisId a, std::int64_t first);

// What is said of the axes of `parts.whole`, of their parts, and back (an axis of which only a part is there counts).
AxisSet to_parts(AxisSet axes, const Mesh& parts);
Sharding to_parts(Sharding layout, const Mesh& parts);
AxisSet to_wholes(AxisSet axes, const Mesh& parts);
// An axis of which a dimension does not have all parts goes, and those behind it.
Sharding to_wholes(Sharding layout, const Mesh& parts);
// The same array seen on the other mesh: itself where it is on neither, or `parts` is no mesh of parts.
ArrayRef to_parts(ArrayRef array, const MeshRef& parts);
ArrayRef to_wholes(ArrayRef array, const MeshRef& parts);

}  // namespace shard::runtime
