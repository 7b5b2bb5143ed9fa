// The type of an array value: element type, shape, the layout over explicit axes, and the manual axes along which it
// may vary. It prints as users write it: f32[8@X,4@(Y,Z)]{V:i}, weak types with a leading `~` only in diagnostics
// (`typeof` hides it).
#pragma once
#include "runtime/array/dtype.h"
#include "runtime/mesh/sharding.h"

namespace shard::runtime {

struct Type {
  DType dtype = DType::F32;
  bool weak = false;
  Shape shape;
  Sharding sharding;  // dims.size() == shape.size(); only explicit (or, in manual code, manual) axes appear
  AxisSet varying;    // manual axes
  MeshRef mesh;       // null: never laid out
  int rank() const { return static_cast<int>(shape.size()); }
  Kind kind() const { return {dtype, weak}; }
  static Type of(DType dtype, Shape shape, bool weak = false);  // no layout, no mesh
};

inline std::size_t mix(std::size_t seed, std::size_t value) {  // of hashes
  return seed ^ (value + 0x9e3779b97f4a7c15u + (seed << 6) + (seed >> 2));
}

bool operator==(const Type& a, const Type& b);  // meshes compare by value
std::size_t hash(const Type& t);
std::string to_string(const Type& t);  // "f32[8@X,4]{V:X}"

}  // namespace shard::runtime
