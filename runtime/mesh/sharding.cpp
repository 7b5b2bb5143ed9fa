// Layouts: which axes they use, the shape of one block, and layouts as users write them.
#include "runtime/mesh/sharding.h"

namespace shard::runtime {

std::string axes_text(const Mesh& mesh, const std::vector<AxisId>& axes) {
  const std::vector<std::string> names = names_of(mesh, axes);
  if (names.empty()) return "_";
  if (names.size() == 1) return "@" + names[0];
  std::string s = "@(";
  for (std::size_t i = 0; i < names.size(); ++i) s += (i ? ", " : "") + names[i];
  return s + ")";
}

AxisSet Sharding::split_axes() const {
  AxisSet s;
  for (const DimSharding& d : dims)
    for (const AxisId a : d.axes) s.add(a);
  return s;
}

AxisSet Sharding::used_axes() const { return split_axes() | unreduced | reduced; }

std::int64_t parts(const Mesh& mesh, const DimSharding& dim) { return mesh.size_of(dim.axes); }

Shape local_shape(const Mesh& mesh, const Shape& global, const Sharding& s) {
  Shape out = global;
  for (std::size_t i = 0; i < out.size() && i < s.dims.size(); ++i) {
    const std::int64_t n = parts(mesh, s.dims[i]);
    if (n == 0 || out[i] % n != 0)
      throw RuntimeError("shape", "dimension " + std::to_string(i) + " of size " + std::to_string(out[i]) +
                                      " does not divide into the " + std::to_string(n) + " parts of " +
                                      axes_text(mesh, s.dims[i].axes));
    out[i] /= n;
  }
  return out;
}

Shape block_shape(const Mesh& mesh, const Shape& global, const Sharding& s) {
  Shape out = global;
  for (std::size_t i = 0; i < out.size() && i < s.dims.size(); ++i)
    if (const std::int64_t n = parts(mesh, s.dims[i]); n > 1) out[i] = out[i] / n + (out[i] % n != 0);
  return out;
}

bool divides(const Mesh& mesh, const Shape& global, const Sharding& s) {
  for (std::size_t i = 0; i < global.size() && i < s.dims.size(); ++i)
    if (global[i] % parts(mesh, s.dims[i]) != 0) return false;
  return true;
}

std::string to_string(const Mesh& mesh, const Sharding& s) {
  std::size_t shown = s.dims.size();
  while (shown > 0 && s.dims[shown - 1] == DimSharding{}) --shown;
  std::string out;
  const auto item = [&out](const std::string& text) { out += (out.empty() ? "" : ", ") + text; };
  for (std::size_t i = 0; i < shown; ++i) {
    const DimSharding& d = s.dims[i];
    if (d.axes.empty())
      item(d.open ? "?" : "_");
    else
      item(axes_text(mesh, d.axes) + (d.open ? "?" : ""));
  }
  if (!s.unreduced.empty()) {
    item("unreduced: " + axes_text(mesh, s.unreduced.list()));
    if (s.unreduced_kind != UnreducedKind::Sum)
      item(s.unreduced_kind == UnreducedKind::Max ? "kind: \"max\"" : "kind: \"min\"");
  }
  if (!s.reduced.empty()) item("reduced: " + axes_text(mesh, s.reduced.list()));
  return "P(" + out + ")";
}

}  // namespace shard::runtime
