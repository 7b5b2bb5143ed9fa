// Collectives that devices of several processes take part in. The blocks of the others are brought here as one more
// storage, over a mesh that is as wide along those axes as the whole; then they are seen as blocks of one process are.
// Of a sum each process adds up its own terms first, where they are neighbours: the order is that of
// runtime::reduce_blocks over all devices, so the bits are those of one process.
#include <bit>
#include <utility>

#include "interpreter/exec/control.h"
#include "interpreter/exec/lowering.h"

namespace shard::exec {

using ir::Node;

namespace {

struct BringBlocks : Control {
  BringBlocks(runtime::GatherBlocks g, std::string w) : gather(std::move(g)), what(std::move(w)) {}
  runtime::GatherBlocks gather;
  std::string what;
  std::int64_t scratch_bytes() const override { return gather.scratch_bytes(); }
  void run(Run&, void* const* in, void* const* out, char* scratch) const override {
    gather.run({what}, in[0], out[0], scratch);
  }
};

}  // namespace

AxisSet Lowering::apart(const std::vector<AxisId>& list) const {
  AxisSet out;
  for (AxisId a : list)
    if (around_.part && around_.part->apart.has(a)) out.add(a);
  return out;
}

// `one_each`: along these axes one block a process.
Mesh Lowering::widened(AxisSet along, bool one_each) const {
  Mesh wide = *mesh_;
  for (AxisId a : along.list()) {
    wide.axes[a].size = around_.mesh_ref->size_of(a);
    if (one_each) wide.axes[a].size /= around_.part->here.size_of(a);
  }
  return wide;
}

Place Lowering::brought(const Node& n, Place p, AxisSet along, const Mesh& wide, bool one_each) {
  if (along.empty()) return p;
  p = dense(p, p.distinct);
  const std::int64_t block = runtime::numel(p.shape) * static_cast<std::int64_t>(runtime::size_of(p.dtype));
  const std::vector<AxisId> order = p.distinct.list();
  const Mesh& whole = *around_.mesh_ref;
  auto gather = one_each ? runtime::GatherBlocks::one_each(whole, order, along, block)
                         : runtime::GatherBlocks(whole, order, along, block);
  std::string axes;
  for (AxisId a : along.list()) axes += (axes.empty() ? "@" : ", @") + whole.axes[a].name;
  std::string what =
      std::string(n.op->name) + " of " + runtime::to_string(runtime::Type::of(p.dtype, p.shape)) + " over " + axes;
  const Mesh* narrow = std::exchange(mesh_, &wide);
  Place out = fresh(p.dtype, p.distinct, p.shape);
  mesh_ = narrow;
  if (!around_.measure) control(std::make_shared<BringBlocks>(std::move(gather), std::move(what)), {p}, {out});
  return out;
}

Place Lowering::combined(const Node& n, const ir::Collective& c, Place p, const std::vector<AxisId>& list) {
  const runtime::Reduce op = combining(c, p.dtype);
  const AxisSet along = apart(list);
  if (along.empty()) return reduce_devices(p, op, list);
  // Neighbours: axes with one device here, then at most one that is cut, then axes that are whole here; all sizes
  // powers of two, so that the tree of the terms here is a subtree.
  bool neighbours = true, cut = false;
  for (AxisId a : list) {
    const std::int64_t here = mesh_->size_of(a);
    neighbours = neighbours && std::has_single_bit(static_cast<std::uint64_t>(around_.mesh_ref->size_of(a))) &&
                 !(cut && along.has(a));
    cut = cut || here > 1;
  }
  const Mesh wide = widened(along, neighbours);
  const AxisSet differs = p.distinct & along;
  if (neighbours) {
    p = reduce_devices(p, op, list);
    Place apart = p;  // what is the same for the devices here still differs from process to process
    apart.distinct = p.distinct | differs;
    apart.device.clear();
    for (AxisId a : apart.distinct.list()) apart.device.push_back(p.device_stride(a));
    p = std::move(apart);
    std::vector<AxisId> over;
    for (AxisId a : list)
      if (along.has(a)) over.push_back(a);
    const Mesh ones = [&] {
      Mesh m = *mesh_;
      for (AxisId a : along.list()) m.axes[a].size = 1;
      return m;
    }();
    const Mesh* narrow = std::exchange(mesh_, &ones);
    p = brought(n, std::move(p), differs, wide, true);
    mesh_ = &wide;
    p = reduce_devices(p, op, over);
    mesh_ = narrow;
    return p;
  }
  p = brought(n, std::move(p), differs, wide, false);
  const Mesh* narrow = std::exchange(mesh_, &wide);
  p = reduce_devices(p, op, list);
  mesh_ = narrow;
  return p;
}

// A place over the wide mesh, seen from this process: its own begin further on. `before`: what it was made of, where
// that was seen from here already.
Place Lowering::own_of(Place got, const Place& before, AxisSet along) const {
  for (AxisId a : along.list()) got.offset += around_.part->first[a] * (got.device_stride(a) - before.device_stride(a));
  for (std::size_t i = before.frozen.size(); i < got.frozen.size(); ++i)
    if (along.has(got.frozen[i].first)) got.offset += around_.part->first[got.frozen[i].first] * got.frozen[i].second;
  return got;
}

}  // namespace shard::exec
