// Which dimension of an array lies on which mesh axes: per dimension an ordered list of axes (the first the slowest)
// and whether it is open to the partitioner; and the axes over which a sum (maximum, minimum) is unreduced, or whose
// gradient will be. Axes are positions in a mesh, which is kept beside (Type, DeviceArray).
#pragma once
#include "runtime/array/shape.h"
#include "runtime/mesh/mesh.h"

namespace shard::runtime {

enum class UnreducedKind : std::uint8_t { Sum, Max, Min };

struct DimSharding {
  std::vector<AxisId> axes;  // major to minor
  bool open = false;         // `?`: may be split further by the partitioner
  bool operator==(const DimSharding&) const = default;
};

struct Sharding {
  std::vector<DimSharding> dims;  // one a dimension
  AxisSet unreduced;              // each device holds a term; the value is their sum (maximum, minimum)
  AxisSet reduced;                // held whole like replicated; its gradient is unreduced
  UnreducedKind unreduced_kind = UnreducedKind::Sum;
  bool operator==(const Sharding&) const = default;

  static Sharding replicated(std::size_t rank) {
    return Sharding{std::vector<DimSharding>(rank), {}, {}, UnreducedKind::Sum};
  }
  AxisSet split_axes() const;  // axes that split some dimension
  AxisSet used_axes() const;   // split, unreduced and reduced
  bool is_replicated() const { return split_axes().empty() && unreduced.empty(); }
};

std::int64_t parts(const Mesh& mesh, const DimSharding& dim);                 // into how many the dimension is split
Shape local_shape(const Mesh& mesh, const Shape& global, const Sharding& s);  // sizes must divide
// Blocks of ceil(size / parts) elements, as programs of one device hold them: where a size does not divide, the last
// ones are short or empty, and what lies behind the end is any number.
Shape block_shape(const Mesh& mesh, const Shape& global, const Sharding& s);
bool divides(const Mesh& mesh, const Shape& global, const Sharding& s);    // every dimension by its parts
std::string axes_text(const Mesh& mesh, const std::vector<AxisId>& axes);  // "@X", "@(X, Y)", "_"
// "P(@X, _)" with trailing `_` dropped; `?` for open dimensions; "unreduced: @X".
std::string to_string(const Mesh& mesh, const Sharding& s);

}  // namespace shard::runtime
