#include "interpreter/hlo/shardy.h"

namespace shard::hlo {
namespace {

std::string shardings(std::string_view name, std::span<const Laid> values) {
  std::vector<std::string> texts;
  for (const Laid& v : values) texts.push_back(v.sharding);
  return std::string(name) + " = #sdy.sharding_per_value<[" + list(texts) + "]>, ";
}

}  // namespace

std::string list(std::span<const std::string> items) {
  std::string out;
  for (const std::string& item : items) out += (&item == items.data() ? "" : ", ") + item;
  return out;
}

std::string sharding_text(const runtime::Mesh& mesh, const AxesOfDims& dims, bool open) {
  std::vector<std::string> texts;
  for (const auto& axes : dims) {
    std::vector<std::string> names;
    for (runtime::AxisId a : axes) names.push_back(quoted(mesh.axes[a].name));
    if (open) names.emplace_back("?");
    texts.push_back("{" + list(names) + "}");
  }
  return "<@mesh, [" + list(texts) + "]>";
}

std::string sharding_text(const runtime::Mesh& mesh, const runtime::Sharding& layout, std::size_t rank, bool open) {
  AxesOfDims dims(rank);
  for (std::size_t d = 0; d < layout.dims.size(); ++d) dims[d] = layout.dims[d].axes;
  return sharding_text(mesh, dims, open);
}

std::string mesh_text(const runtime::Mesh& mesh) {
  std::vector<std::string> axes;
  for (const runtime::MeshAxis& a : mesh.axes) axes.push_back(quoted(a.name) + "=" + std::to_string(a.size));
  return "sdy.mesh @mesh = <[" + list(axes) + "]>";
}

Values by_hand(Writer& to, const runtime::Mesh& mesh, runtime::AxisSet axes, std::span<const Laid> in,
               std::span<const Laid> out, std::string_view region) {
  Values given, like;
  for (const Laid& v : in) given.push_back(v.value);
  for (const Laid& v : out) like.push_back(v.value);
  std::vector<std::string> names;
  for (runtime::AxisId a : axes.list()) names.push_back(quoted(mesh.axes[a].name));
  const std::string attributes = shardings("in_shardings", in) + shardings("out_shardings", out) +
                                 "manual_axes = #sdy<manual_axes{" + list(names) + "}>";
  return to.ops("sdy.manual_computation", given, like, attributes, region);
}

}  // namespace shard::hlo
