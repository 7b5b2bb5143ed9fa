// Collectives restricted to groups of positions along their axes. The groups' members are first brought together in
// memory (groups, then members); over that the operation is one along the members, and every device then takes what its
// group got.
#include <algorithm>
#include <numeric>
#include <stdexcept>

#include "interpreter/exec/lowering.h"
#include "interpreter/transform/distinct.h"
#include "runtime/kernels/kernels.h"

namespace shard::exec {

using ir::Comm;
using ir::Node;

namespace {

struct GroupedMove {  // copies of one block each; offsets in bytes
  View from, to;
  std::vector<std::pair<std::int64_t, std::int64_t>> at;
  void run(void* in, void* out) {
    for (auto [i, o] : at) {
      from.data = static_cast<char*>(in) + i;
      to.data = static_cast<char*>(out) + o;
      runtime::copy(from, to);
    }
  }
};

}  // namespace

void Lowering::emit_grouped(const Node& n) {
  const Place p = place(n.inputs[0]);
  ir::Var out_var = n.outputs[0];
  std::vector<AxisId> list = transform::axes_of(n, *mesh_);
  for (AxisId a : list)
    if (around_.frozen.has(a)) throw std::logic_error("a collective in a region that runs block by block");
  std::int64_t devices = 1;
  for (AxisId a : list) devices *= mesh_->size_of(a);
  const ir::Ints& order = n.attrs.ints("groups");
  std::int64_t members = n.attrs.integer("group_size");
  if (members < 1 || static_cast<std::int64_t>(order.size()) != devices || devices % members)
    throw runtime::RuntimeError(
        "collective", "groups must name each of the " + std::to_string(devices) + " positions once and be of one size");
  std::int64_t groups = devices / members;
  auto item = static_cast<std::int64_t>(runtime::size_of(p.dtype));
  auto device_offset = [&](const Place& q, std::int64_t position) {
    std::int64_t at = 0;
    for (std::size_t i = list.size(); i-- > 0;) {
      at += position % mesh_->size_of(list[i]) * q.device_stride(list[i]);
      position /= mesh_->size_of(list[i]);
    }
    return at;
  };
  AxisSet rest = p.distinct;
  for (AxisId a : list) rest.remove(a);
  std::vector<AxisId> others = rest.list();
  auto local = [](std::int64_t d, std::size_t rank) {
    return static_cast<std::size_t>(d < 0 ? d + static_cast<std::int64_t>(rank) : d);
  };

  // 1. Members side by side: [others..., group, member, local...].
  Shape grouped = p.shape;
  grouped.insert(grouped.begin(), {groups, members});
  Place t = fresh(p.dtype, rest, grouped);
  {
    Place one = t;
    one.shape = p.shape;
    one.strides.erase(one.strides.begin(), one.strides.begin() + 2);
    GroupedMove move{view_of(p, others, mesh_), view_of(one, others, mesh_), {}};
    for (std::size_t i = 0; i < order.size(); ++i)
      move.at.emplace_back(device_offset(p, order[i]) * item, (static_cast<std::int64_t>(i) / members * t.strides[0] +
                                                               static_cast<std::int64_t>(i) % members * t.strides[1]) *
                                                                  item);
    step([move](void* const* i, void* const* o) mutable { move.run(*i, *o); }, {p}, {t});
  }

  // 2. What the group has: [others..., group, local...] for reductions.
  Place got = t;
  Comm c = n.op->comm;
  bool reduces = c == Comm::Sum || c == Comm::Max || c == Comm::Min || c == Comm::ScatterSum;
  if (reduces) {
    Shape kept = grouped;
    kept.erase(kept.begin() + 1);
    got = fresh(p.dtype, rest, kept);
    runtime::Reduce op = c == Comm::Max           ? runtime::Reduce::Max
                         : c == Comm::Min         ? runtime::Reduce::Min
                         : p.dtype == DType::Bool ? runtime::Reduce::Or
                                                  : runtime::Reduce::Sum;
    View in = view_of(t, others, mesh_), made = view_of(got, others, mesh_);
    const auto member = static_cast<std::ptrdiff_t>(others.size()) + 1;  // to the front
    std::rotate(in.shape.begin(), in.shape.begin() + member, in.shape.begin() + member + 1);
    std::rotate(in.strides.begin(), in.strides.begin() + member, in.strides.begin() + member + 1);
    step([sum = runtime::bind_reduce_blocks(op, in, 1, made)](void* const* i, void* const* o) { sum(*i, *o); }, {t},
         {got});
  }

  // 3. Each device takes its part: from the group's memory, at an offset for its place in the group.
  bool tile = n.attrs.has("tiled") && n.attrs.flag("tiled");
  std::size_t lead = reduces ? 1 : 2;
  std::vector<std::vector<Dim>> dims;
  for (std::size_t d = lead; d < got.shape.size(); ++d) dims.push_back({{got.shape[d], got.strides[d]}});
  std::int64_t member_step = 0;  // elements
  Dim across{members, reduces ? 0 : got.strides[1]};
  auto cut = [&](std::size_t d) {  // dimension d over the members
    dims[d][0].size /= members;
    member_step = dims[d][0].size * dims[d][0].stride;
    if (!tile) dims.erase(dims.begin() + static_cast<std::ptrdiff_t>(d));
  };
  if (c == Comm::ScatterSum) cut(local(n.attrs.integer("axis"), p.shape.size()));
  if (c == Comm::Gather) {
    auto d = local(n.attrs.integer("axis"), p.shape.size() + (tile ? 0 : 1));
    if (tile)
      dims[d].insert(dims[d].begin(), across);
    else
      dims.insert(dims.begin() + static_cast<std::ptrdiff_t>(d), {across});
  }
  if (c == Comm::AllToAll) {
    auto d = local(n.attrs.integer("concat"), p.shape.size());
    cut(local(n.attrs.integer("split"), p.shape.size()));
    if (tile)
      dims[d].insert(dims[d].begin(), across);
    else
      dims.insert(dims.begin() + static_cast<std::ptrdiff_t>(d), {across});
  }
  if (c == Comm::Permute || c == Comm::Index || c == Comm::Slice || c == Comm::Cast)
    throw std::logic_error("groups are of reductions, gathers and exchanges");
  Place apart = got;
  apart.shape.clear();
  apart.strides.clear();
  Shape shape;
  for (const auto& parts : dims) {
    std::int64_t size = 1;
    for (const Dim& d : parts) {
      size *= d.size;
      apart.shape.push_back(d.size);
      apart.strides.push_back(d.stride);
    }
    shape.push_back(size);
  }
  AxisSet distinct = axes(out_var) | rest;
  for (AxisId a : list)
    if (mesh_->size_of(a) > 1) distinct.add(a);
  Place out = fresh(p.dtype, distinct, apart.shape);
  GroupedMove move{view_of(apart, others, mesh_), view_of(out, others, mesh_), {}};
  for (std::size_t i = 0; i < order.size(); ++i)
    move.at.emplace_back((static_cast<std::int64_t>(i) / members * got.strides[0] +
                          static_cast<std::int64_t>(i) % members * member_step) *
                             item,
                         device_offset(out, order[i]) * item);
  step([move](void* const* i, void* const* o) mutable { move.run(*i, *o); }, {got}, {out});
  // Where all groups held the same to begin with, the result is still equal everywhere: any block stands for all.
  Place seen = *reshaped(out, shape);
  Strides device;
  for (AxisId a : axes(out_var).list()) device.push_back(seen.device_stride(a));
  seen.device = std::move(device);
  seen.distinct = axes(out_var);
  put(out_var, std::move(seen));
}

}  // namespace shard::exec
