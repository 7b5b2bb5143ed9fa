// Meshes: looking axes up, sizes of sets of axes, and meshes as text.
#include "runtime/mesh/mesh.h"

#include <algorithm>

namespace shard::runtime {
namespace {

std::vector<AxisId> parts_of(const Mesh& mesh, AxisId whole) {
  std::vector<AxisId> out;
  for (std::size_t i = 0; i < mesh.part_of.size(); ++i)
    if (mesh.part_of[i] == whole) out.push_back(static_cast<AxisId>(i));
  return out;
}

}  // namespace

std::vector<AxisId> AxisSet::list() const {
  std::vector<AxisId> out;
  out.reserve(static_cast<std::size_t>(count()));
  for (std::uint32_t rest = bits_; rest != 0; rest &= rest - 1)
    out.push_back(static_cast<AxisId>(std::countr_zero(rest)));
  return out;
}

std::optional<AxisId> Mesh::find(std::string_view axis) const {
  for (std::size_t i = 0; i < axes.size(); ++i)
    if (axes[i].name == axis) return static_cast<AxisId>(i);
  return std::nullopt;
}

std::int64_t Mesh::size_of(AxisSet s) const {
  std::int64_t n = 1;
  for (std::size_t i = 0; i < axes.size(); ++i)
    if (s.has(static_cast<AxisId>(i))) n *= axes[i].size;
  return n;
}

AxisSet Mesh::real(AxisSet s) const {
  for (AxisId a : s.list())
    if (axes[a].size == 1) s.remove(a);
  return s;
}

std::int64_t Mesh::size_of(const std::vector<AxisId>& list) const {
  std::int64_t n = 1;
  for (AxisId a : list) n *= axes[a].size;
  return n;
}

AxisSet Mesh::all() const {
  AxisSet s;
  for (std::size_t i = 0; i < axes.size(); ++i) s.add(static_cast<AxisId>(i));
  return s;
}

AxisSet Mesh::of_kind(AxisKind k) const {
  AxisSet s;
  for (std::size_t i = 0; i < axes.size(); ++i)
    if (axes[i].kind == k) s.add(static_cast<AxisId>(i));
  return s;
}

bool same_devices(const Mesh& a, const Mesh& b) {
  if (a.axes.size() != b.axes.size() || a.devices != b.devices) return false;
  for (std::size_t i = 0; i < a.axes.size(); ++i)
    if (a.axes[i].name != b.axes[i].name || a.axes[i].size != b.axes[i].size) return false;
  return true;
}

std::vector<std::int64_t> sizes_of(const Mesh& mesh) {
  std::vector<std::int64_t> out;
  for (const MeshAxis& a : mesh.axes) out.push_back(a.size);
  return out;
}

std::vector<std::int64_t> coordinates_of(std::int64_t position, const std::vector<std::int64_t>& sizes) {
  std::vector<std::int64_t> at(sizes.size());
  for (std::size_t i = sizes.size(); i-- > 0;) {
    at[i] = position % sizes[i];
    position /= sizes[i];
  }
  return at;
}

std::vector<std::vector<std::int64_t>> ways_to_divide(std::int64_t devices, std::size_t axes) {
  if (axes == 1) return {{devices}};
  std::vector<std::vector<std::int64_t>> out;
  for (std::int64_t first = 1; first <= devices; ++first) {
    if (devices % first) continue;
    for (std::vector<std::int64_t>& sizes : ways_to_divide(devices / first, axes - 1)) {
      sizes.insert(sizes.begin(), first);
      out.push_back(std::move(sizes));
    }
  }
  return out;
}

std::string to_string(const Mesh& mesh) {
  std::string s = "(";
  for (std::size_t i = 0; i < mesh.axes.size(); ++i) {
    const MeshAxis& a = mesh.axes[i];
    s += (i ? ", @" : "@") + a.name + ": " + std::to_string(a.size);
    if (a.kind == AxisKind::Explicit) s += " explicit";
    if (a.kind == AxisKind::Manual) s += " manual";
  }
  return s + ")";
}

std::vector<std::string> names_of(const Mesh& mesh, const std::vector<AxisId>& axes) {
  std::vector<std::string> out;
  for (std::size_t i = 0; i < axes.size(); ++i) {
    if (mesh.whole) {
      const std::vector<AxisId> all = parts_of(mesh, mesh.part_of[axes[i]]);
      if (all.size() > 1 && axes.size() - i >= all.size() &&
          std::equal(all.begin(), all.end(), axes.begin() + static_cast<std::ptrdiff_t>(i))) {
        out.push_back(mesh.whole->axes[mesh.part_of[axes[i]]].name);
        i += all.size() - 1;
        continue;
      }
    }
    out.push_back(mesh.axes[axes[i]].name);
  }
  return out;
}

std::vector<AxisId> axes_of(const Mesh& mesh, const std::vector<std::string>& names) {
  std::vector<AxisId> out;
  for (const std::string& name : names) {
    if (const auto axis = mesh.find(name)) {
      out.push_back(*axis);
    } else if (const auto whole = mesh.whole ? mesh.whole->find(name) : std::nullopt) {
      const std::vector<AxisId> all = parts_of(mesh, *whole);
      out.insert(out.end(), all.begin(), all.end());
    }
  }
  return out;
}

}  // namespace shard::runtime
