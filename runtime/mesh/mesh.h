// Devices in a named grid. The mode (auto, explicit, manual) belongs to the axis, not to the program.
#pragma once
#include <bit>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace shard::runtime {

enum class AxisKind : std::uint8_t { Auto, Explicit, Manual };

using AxisId = std::uint8_t;  // position of an axis in its mesh
inline constexpr int kMaxAxes = 32;

class AxisSet {  // a set of axes of one mesh
 public:
  constexpr AxisSet() = default;
  static AxisSet of(AxisId a) {
    AxisSet s;
    s.add(a);
    return s;
  }
  static AxisSet of(const std::vector<AxisId>& axes) {
    AxisSet s;
    for (AxisId a : axes) s.add(a);
    return s;
  }
  void add(AxisId a) { bits_ |= 1u << a; }
  void remove(AxisId a) { bits_ &= ~(1u << a); }
  bool has(AxisId a) const { return bits_ >> a & 1u; }
  bool empty() const { return bits_ == 0; }
  int count() const { return std::popcount(bits_); }
  bool contains(AxisSet o) const { return (o.bits_ & ~bits_) == 0; }
  AxisSet operator|(AxisSet o) const { return from(bits_ | o.bits_); }
  AxisSet operator&(AxisSet o) const { return from(bits_ & o.bits_); }
  AxisSet operator-(AxisSet o) const { return from(bits_ & ~o.bits_); }
  AxisSet& operator|=(AxisSet o) {
    bits_ |= o.bits_;
    return *this;
  }
  bool operator==(const AxisSet&) const = default;
  std::uint32_t bits() const { return bits_; }
  std::vector<AxisId> list() const;  // in mesh order
 private:
  static AxisSet from(std::uint32_t b) {
    AxisSet s;
    s.bits_ = b;
    return s;
  }
  std::uint32_t bits_ = 0;
};

struct MeshAxis {
  std::string name;
  std::int64_t size;
  AxisKind kind;
  bool operator==(const MeshAxis&) const = default;
};

struct MeshPart;  // part.h

struct Mesh {
  std::vector<MeshAxis> axes;                      // first axis slowest
  std::vector<int> devices;                        // row-major over the axes; ids of the engine's devices
  std::shared_ptr<const MeshPart> part = nullptr;  // what of it is in this process; null: all
  std::shared_ptr<const Mesh> whole = nullptr;     // the mesh of whose axes these are parts (axis_parts.h), or null
  std::vector<AxisId> part_of = {};                // by axis: which one of `whole` it is, or is a part of
  std::int64_t size() const { return static_cast<std::int64_t>(devices.size()); }
  std::optional<AxisId> find(std::string_view axis) const;
  std::int64_t size_of(AxisId a) const { return axes[a].size; }
  std::int64_t size_of(AxisSet s) const;
  std::int64_t size_of(const std::vector<AxisId>& list) const;  // the product of their sizes
  AxisSet real(AxisSet s) const;                                // without axes of size 1
  AxisSet all() const;
  AxisSet of_kind(AxisKind k) const;
  bool operator==(const Mesh& o) const { return axes == o.axes && devices == o.devices; }
};
using MeshRef = std::shared_ptr<const Mesh>;  // null: an array that was never laid out
inline bool same_mesh(const MeshRef& a, const MeshRef& b) { return a == b || (a && b && *a == *b); }

bool same_devices(const Mesh& a, const Mesh& b);  // axes' names and sizes, and devices, are equal (kinds may differ)
std::string to_string(const Mesh& mesh);          // "(@data: 4, @model: 2 explicit)"
// The names of axes, in their order; the parts of an axis that stand together as it is written have its name.
std::vector<std::string> names_of(const Mesh& mesh, const std::vector<AxisId>& axes);
// The axes that such names stand for; those that the mesh has not are left out.
std::vector<AxisId> axes_of(const Mesh& mesh, const std::vector<std::string>& names);
std::vector<std::int64_t> sizes_of(const Mesh& mesh);  // of its axes
// The coordinates of a row-major position, among these sizes or along the axes of the mesh.
std::vector<std::int64_t> coordinates_of(std::int64_t position, const std::vector<std::int64_t>& sizes);
inline std::vector<std::int64_t> coordinates_of(const Mesh& mesh, std::int64_t position) {
  return coordinates_of(position, sizes_of(mesh));
}
// All sizes of so many axes, first to last, that make `devices` together.
std::vector<std::vector<std::int64_t>> ways_to_divide(std::int64_t devices, std::size_t axes);

}  // namespace shard::runtime
