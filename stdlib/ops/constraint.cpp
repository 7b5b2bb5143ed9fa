// `follow`: a value that shall be laid out as another one where nothing else is said (a gradient as its argument, on
// auto axes). `shard`: the layout of a value. A constraint for the partitioner on auto axes, a type on explicit axes.
// The value is the same.
#include <stdexcept>

#include "interpreter/ir/explicit_law.h"
#include "stdlib/ops/control/control.h"

namespace shard::stdlib {
namespace {

using runtime::AxisId;
using runtime::AxisSet;

std::vector<Type> infer_shard(const OpCall& call) {
  const Type& x = call.in[0];
  const Layout& layout = call.attrs.layout("layout");
  if (!layout.mesh) fail("mesh", "`shard` needs a mesh: declare one");
  const runtime::Mesh& mesh = *layout.mesh;
  if (x.mesh && !runtime::same_devices(*x.mesh, mesh))
    fail("mesh", "`shard` in traced code keeps the mesh: " + runtime::to_string(x) + " lives on " +
                     runtime::to_string(*x.mesh) + ", the spec means " + runtime::to_string(mesh));
  const auto& dims = layout.sharding.dims;
  if (dims.size() > x.shape.size())
    fail("shape", "a spec of " + std::to_string(dims.size()) + " entries, " +
                      runtime::to_string(mesh, layout.sharding) + ", does not fit " + runtime::to_string(x));
  Type out = x;
  out.mesh = layout.mesh;
  out.sharding = runtime::Sharding::replicated(x.shape.size());
  AxisSet typed = mesh.of_kind(runtime::AxisKind::Explicit) | mesh.of_kind(runtime::AxisKind::Manual);
  std::size_t leading = x.shape.size() - dims.size();  // further leading dimensions keep what they have
  for (std::size_t d = 0; d < x.shape.size(); ++d) {
    const auto& axes = d < leading ? x.sharding.dims[d].axes : dims[d - leading].axes;
    std::int64_t n = 1;
    bool shown = false;  // in types, where sizes divide; on auto axes they need not (transform/uneven.h)
    for (AxisId a : axes) {
      n *= mesh.size_of(a);
      shown |= typed.has(a);
      if (typed.has(a)) out.sharding.dims[d].axes.push_back(a);
    }
    if (n == 0 || (shown && x.shape[d] % n != 0)) {
      std::string names;
      for (AxisId a : axes) names += (names.empty() ? "@" : ", @") + mesh.axes[a].name;
      fail("layout", "dimension " + std::to_string(d) + " of " + runtime::to_string(x) + " has size " +
                         std::to_string(x.shape[d]) + ", which " + names + " of size " + std::to_string(n) +
                         " does not divide");
    }
  }
  out.sharding.unreduced = layout.sharding.unreduced & typed;
  if (!out.sharding.unreduced.empty() && layout.sharding.unreduced_kind == runtime::UnreducedKind::Sum)
    ir::check_summable(x.dtype, "`shard` of " + runtime::to_string(x));
  const bool less = x.sharding.unreduced.contains(out.sharding.unreduced) &&
                    x.sharding.unreduced_kind == layout.sharding.unreduced_kind;
  if (!out.sharding.unreduced.empty() && layout.sharding.unreduced_kind != runtime::UnreducedKind::Sum && !less)
    fail("layout", "`shard` of " + runtime::to_string(x) +
                       " cannot leave a maximum or minimum unreduced: `max` and `min` do, by their `out:`");
  out.sharding.reduced = layout.sharding.reduced & typed;
  AxisSet used = out.sharding.unreduced | out.sharding.reduced;
  for (const auto& d : out.sharding.dims)
    for (AxisId a : d.axes) {
      if (used.has(a))
        fail("layout",
             "`shard` would lay " + runtime::to_string(x) + " out over @" + mesh.axes[a].name + " in two ways");
      used.add(a);
    }
  out.sharding.unreduced_kind = layout.sharding.unreduced_kind;
  if (out.sharding.used_axes().empty() && out.varying.empty()) out.mesh = nullptr;  // nothing shows in the type
  return {out};
}

// At a border between code whose axes have other kinds the cotangent goes back over it. Where types show less on the
// other side, its layout stays as it is.
Var cross_back(Builder& b, const NodeView& n, Var ct, const Type& want) {
  const auto& mesh = n.call.attrs.layout(ir::kFrom).mesh;
  const AxisSet typed = mesh->of_kind(runtime::AxisKind::Explicit) | mesh->of_kind(runtime::AxisKind::Manual);
  Layout layout{mesh, want.sharding};
  const auto& now = b.type(ct).sharding.dims;
  for (std::size_t d = 0; d < now.size(); ++d) {
    std::vector<AxisId> shown;
    for (AxisId a : now[d].axes)
      if (typed.has(a)) shown.push_back(a);
    if (shown == want.sharding.dims[d].axes) layout.sharding.dims[d].axes = now[d].axes;
  }
  layout.sharding.unreduced = n.call.in[0].sharding.reduced;
  layout.sharding.reduced = n.call.in[0].sharding.unreduced;
  return b.emit1(*b.core().shard, {ct}, ir::crossing(std::move(layout), n.call.attrs.layout("layout").mesh));
}

// On auto axes the cotangent's layout is open; on explicit axes it has the layout that its type says: where x is a
// unreduced sum, each device takes the whole of it (`reduced`), and nothing is added up.
Var shard_back(Builder& b, const NodeView& n, int, std::span<const Var> ct, const Type& want) {
  if (n.call.attrs.has(ir::kFrom)) return cross_back(b, n, ct[0], want);
  std::optional<Layout> layout = wanted_layout(b, want, ct);
  if (!layout) return ct[0];
  layout->sharding.unreduced = n.call.in[0].sharding.reduced;
  layout->sharding.reduced = n.call.in[0].sharding.unreduced;
  const Type& now = b.type(ct[0]);
  bool same = same_layout(now, want) && now.sharding.unreduced == layout->sharding.unreduced &&
              now.sharding.reduced == layout->sharding.reduced;
  return same ? ct[0] : b.emit1(*b.core().shard, {ct[0]}, {{"layout", *layout}});
}

// ---- follow

std::vector<Type> infer_follow(const OpCall& call) {
  if (call.in[0].rank() < call.in[1].rank())
    throw std::logic_error("follow: " + runtime::to_string(call.in[0]) + " cannot be laid out as " +
                           runtime::to_string(call.in[1]));
  return {call.in[0]};
}

std::vector<Mapped> batch_follow(Builder& b, const OpCall& call, std::span<const Mapped> in, std::int64_t) {
  if (!in[0].mapped) return {in[0]};
  return {{b.emit1(call.op, {in[0].var, in[1].var}, call.attrs), true}};
}

}  // namespace

OpDef follow_row() {
  OpDef row = internal_row("follow(x, like)", "x, laid out as another value is where nothing else is said.");
  row.derivative =
      ir::Custom{[](Builder&, const NodeView&, std::span<const Var> tangents) -> Vars { return {tangents[0]}; },
                 [](Builder&, const NodeView&, std::span<const Var> cotangents) -> Vars {
                   return {cotangents[0], Var{}};
                 }};
  row.kernel = ir::Structure::Shard;
  row.batch = batch_follow;
  row.infer = infer_follow;
  return row;
}

OpDef shard_row() {
  OpDef row = internal_row("shard(x, layout: spec)", "The same value in another layout.");
  row.derivative = Transposes{{}, false, shard_back};
  row.kernel = ir::Structure::Shard;
  row.infer = infer_shard;
  return row;
}

}  // namespace shard::stdlib
