#include "interpreter/ir/collective.h"

#include <algorithm>

#include "interpreter/ir/op.h"

namespace shard::ir {
namespace {

using runtime::AxisSet;

// A permutation that hands the same value to everyone gives that value.
bool reaches_all(const Attrs& attrs, std::int64_t devices) {
  std::vector<bool> got(static_cast<std::size_t>(devices), false);
  for (auto [from, to] : attrs.pairs("pairs"))
    if (to >= 0 && to < devices) got[static_cast<std::size_t>(to)] = true;
  return std::find(got.begin(), got.end(), false) == got.end();
}

bool over(const Attrs& attrs, AxisSet axes) {
  const Ints& own = attrs.ints("axes");
  return std::any_of(own.begin(), own.end(), [&](auto a) { return axes.has(static_cast<runtime::AxisId>(a)); });
}

}  // namespace

bool tiled(const Collective& c, const Attrs& attrs) {
  return !c.communicates() || (attrs.has("tiled") && attrs.flag("tiled"));
}

AxisSet differing(const Collective& c, const Attrs& attrs, AxisSet in, AxisSet over, std::int64_t devices) {
  if (c.split || c.place) return in | over;
  const bool meets = !(in & over).empty();
  if (c.pairs) return !meets && reaches_all(attrs, devices) ? in : in | over;
  if (!c.communicates()) return in;
  if (attrs.has("groups")) return meets ? in | over : in;
  return in - over;
}

CommCost comm_cost(const Collective& c, std::int64_t bytes, std::int64_t devices) {
  if (!c.communicates()) return {};
  bytes = std::min(bytes, INT64_MAX / 2 / devices);  // sizes saturate
  if (c.pairs) return {bytes, bytes};
  const std::int64_t others = bytes / devices * (devices - 1);  // all parts but a device's own
  if (c.split) return {bytes, others};
  if (c.join) return {bytes * devices, bytes * (devices - 1)};
  return {bytes, 2 * others};  // scattered, then gathered
}

const Node* collective_over(const Graph& g, AxisSet axes) {
  for (const Node& n : g.nodes) {
    if (n.op->comm && n.op->comm->communicates() && over(n.attrs, axes)) return &n;
    for (const auto& r : n.regions)
      if (const Node* found = collective_over(*r, axes)) return found;
  }
  return nullptr;
}

}  // namespace shard::ir
