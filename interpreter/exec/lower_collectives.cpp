// Collectives without groups, over the blocks of one storage: the devices along an axis are one more dimension of
// memory. A sum is a reduction over that dimension, a gather is that dimension seen as a part of a local one, an
// exchange swaps the two. Where strides allow it nothing is moved. The order of a sum over devices is that of
// `runtime::reduce_blocks`.
#include "interpreter/exec/lower_collectives.h"

#include <algorithm>
#include <bit>
#include <stdexcept>
#include <utility>

#include "interpreter/transform/distinct.h"
#include "runtime/kernels/kernels.h"

namespace shard::exec {

using ir::Node;

CollectiveSteps::CollectiveSteps(Lowering& lowering, const Node& node) : l_(lowering), n_(node), c_(*node.op->comm) {
  if (!l_.mesh()) return;  // one device
  list_ = transform::axes_of(node, whole(), true);
  if (const runtime::MeshPart* part = l_.around().part) apart_ = AxisSet::of(list_) & part->apart;
}

void lower_collective(Lowering& l, const Node& n) { CollectiveSteps(l, n).emit(); }

std::size_t CollectiveSteps::dimension(const char* name, std::size_t rank) const {
  std::int64_t d = n_.attrs.integer(name);
  if (d < 0) d += static_cast<std::int64_t>(rank);
  if (d < 0 || d >= static_cast<std::int64_t>(rank))
    throw std::logic_error("`" + std::string(n_.op->name) + "` names a dimension that is not there");
  return static_cast<std::size_t>(d);
}

runtime::Reduce CollectiveSteps::combining(DType dtype) const {
  return dtype == DType::Bool && c_.combine == runtime::Reduce::Sum ? runtime::Reduce::Or : *c_.combine;
}

// Every device along the axes is a term, one that holds what others hold too. Equal terms need not be added
// one by one where that gives the same bits: maxima and integers; floats where all sizes are powers of two, so that
// equal subtrees meet. Those of a product are multiplied one by one.
StridedView CollectiveSteps::reduce_devices(const StridedView& p, runtime::Reduce op) const {
  const bool adds = op == runtime::Reduce::Sum;
  bool once = op != runtime::Reduce::Prod && (!adds || !runtime::is_float(p.dtype));
  if (!once && adds)
    once = std::all_of(list_.begin(), list_.end(),
                       [&](AxisId a) { return std::has_single_bit(static_cast<std::uint64_t>(here().size_of(a))); });
  std::vector<AxisId> terms;
  AxisSet rest = p.distinct;
  std::int64_t same = 1, differ = 1;
  for (AxisId a : list_) {
    (p.distinct.has(a) ? differ : same) *= here().size_of(a);
    if (!once || p.distinct.has(a)) terms.push_back(a);
    rest.remove(a);
  }
  if (differ == 1 && (once || same == 1)) return adds ? l_.scaled(p, same) : p;
  std::vector<AxisId> order = terms, kept = rest.list();
  order.insert(order.end(), kept.begin(), kept.end());
  StridedView out = l_.fresh(p.dtype, rest, p.shape);
  View in = view_of(p, order, &here()), made = view_of(out, kept, &here());
  l_.step([sum = runtime::bind_reduce_blocks(op, in, static_cast<int>(terms.size()), made)](
              void* const* i, void* const* o) { sum(*i, *o); },
          {p}, {out});
  return adds && once ? l_.scaled(out, same) : out;
}

// A value whose dimensions are made of several of memory, the major ones first. A view of `from` where its strides
// allow that, a copy otherwise.
StridedView CollectiveSteps::assemble(const StridedView& from, const std::vector<std::vector<Dim>>& dims) const {
  StridedView seen = from, apart = from;
  seen.shape = lay_apart(apart, dims);
  seen.strides.clear();
  bool fits = true;
  for (const auto& parts : dims) {
    const auto one = merged(parts);
    fits &= one.has_value();
    seen.strides.push_back(one ? one->stride : 0);
  }
  if (fits) return seen;
  StridedView out = l_.fresh(from.dtype, from.distinct, apart.shape);
  l_.copy_into(apart, out);
  return *reshaped(out, seen.shape);
}

StridedView CollectiveSteps::index_of_device() const {
  const std::int64_t count = here().size_of(list_);
  const DType dtype = l_.type(n_.outputs[0]).dtype;
  auto buffer = l_.around().pool.allocate(static_cast<std::size_t>(count) * runtime::size_of(dtype));
  runtime::iota(runtime::contiguous(dtype, {count}, buffer->data()), 0);
  StridedView all = dense_place(l_.constant_storage(std::move(buffer)), dtype, {}, {count}, &here());
  StridedView p = own_part(std::move(all), 0, list_, l_.around().frozen, here());
  p.shape.clear();
  p.strides.clear();
  return p;
}

StridedView CollectiveSteps::permute_devices(const StridedView& p) const {
  const AxisSet distinct = l_.axes(n_.outputs[0]), over = AxisSet::of(list_);
  if ((over & (p.distinct | distinct)).empty() && distinct == p.distinct) return p;
  StridedView out = l_.fresh(p.dtype, distinct, p.shape);
  const std::vector<AxisId> others = (distinct - over).list();
  const auto offset = [&](const StridedView& q, std::int64_t position) {
    return offset_at(q, list_, position, here()) * item_bytes(q.dtype);
  };
  BlockMoves moves{view_of(p, others, &here()), view_of(out, others, &here()), {}};
  std::vector<bool> got(static_cast<std::size_t>(here().size_of(list_)), false);
  for (auto [from, to] : n_.attrs.pairs("pairs")) {
    moves.at.emplace_back(offset(p, from), offset(out, to));
    got[static_cast<std::size_t>(to)] = true;
  }
  for (std::size_t d = 0; d < got.size(); ++d)
    if (!got[d]) moves.blank.push_back(offset(out, static_cast<std::int64_t>(d)));
  l_.step([moves = std::move(moves)](void* const* i, void* const* o) mutable { moves.run(*i, *o); }, {p}, {out});
  return out;
}

void BlockMoves::run(void* in, void* out) {
  for (std::int64_t o : blank) {
    to.data = static_cast<char*>(out) + o;
    runtime::fill(to, 0, 0);
  }
  for (auto [i, o] : at) {
    from.data = static_cast<char*>(in) + i;
    to.data = static_cast<char*>(out) + o;
    runtime::copy(from, to);
  }
}

void CollectiveSteps::emit() const {
  const ir::Var out = n_.outputs[0];
  const auto frozen = [&](AxisId a) { return l_.around().frozen.has(a); };
  if (c_.communicates() && std::any_of(list_.begin(), list_.end(), frozen))
    throw std::logic_error("a collective in a region that runs block by block");
  if (n_.attrs.has("groups")) return l_.put(out, grouped(l_.place(n_.inputs[0])));
  if (!c_.place && !c_.communicates() && !c_.split) return l_.put(out, l_.place(n_.inputs[0]));
  if (l_.around().alone() && !c_.place) return l_.put(out, held_apart());
  StridedView got = communicated();
  if (l_.around().exact && !c_.place) got = l_.dense(got, got.distinct);
  l_.put(out, std::move(got));
}

// On a device of its own nothing is a view of what other devices hold: what it gets has memory, that of what it gives
// where a sum is as large.
StridedView CollectiveSteps::held_apart() const {
  const ir::Type& t = l_.type(n_.outputs[0]);
  StridedView got = l_.fresh(t.dtype, l_.axes(n_.outputs[0]), t.shape);
  l_.step({}, {l_.place(n_.inputs[0])}, {got}, c_.combines_all() ? Lowering::InPlace{{0, 0}} : Lowering::InPlace{});
  return got;
}

// Where devices of other processes take part, their blocks come here, what is done with them is done as in one process,
// and of the result this process goes on with its own.
StridedView CollectiveSteps::communicated() const {
  StridedView p = c_.place ? StridedView() : l_.place(n_.inputs[0]);
  if (c_.combine) {
    if (auto parts = combined_parts(p)) return *std::move(parts);
    p = combined(std::move(p));
    if (!c_.split && !c_.join) return p;
  }
  if (apart_.empty()) return c_.place ? index_of_device() : moved(std::move(p));
  const Mesh wide = widened();
  if (c_.pairs)
    p = exchanged(p, wide, std::nullopt);
  else if (c_.join && c_.split)
    p = exchanged(p, wide, dimension(c_.split, p.shape.size()));
  else if (c_.join)
    p = brought(std::move(p), p.distinct & apart_, wide);
  const StridedView before = c_.join || c_.pairs ? StridedView() : p;
  const OnMesh scope(l_, wide);
  return own_of(c_.place ? index_of_device() : moved(std::move(p)), before);
}

// What is left to do behind a sum: from device to device, split, joined.
StridedView CollectiveSteps::moved(StridedView p) const {
  if (c_.pairs) return permute_devices(p);
  const bool tiled = ir::tiled(c_, n_.attrs);
  // What the devices were becomes a part of dimension `join`, the major one; they now see parts of dimension `split`.
  // After a sum these are views: it is as large as all its parts.
  std::vector<Dim> sources;
  if (c_.join) {
    for (AxisId a : list_) sources.push_back({here().size_of(a), p.device_stride(a)});
    p = seen_along(p, p.distinct - AxisSet::of(list_));
  }
  const std::size_t split = c_.split ? dimension(c_.split, p.shape.size()) : 0;
  if (c_.split) p = own_part(std::move(p), static_cast<int>(split), list_, l_.around().frozen, here());
  std::vector<std::vector<Dim>> dims;
  for (std::size_t d = 0; d < p.shape.size(); ++d) dims.push_back({{p.shape[d], p.strides[d]}});
  if (c_.split && !tiled) dims.erase(dims.begin() + static_cast<std::ptrdiff_t>(split));
  if (c_.join) {
    const std::size_t join = dimension(c_.join, dims.size() + (tiled ? 0 : 1));
    if (!tiled) dims.insert(dims.begin() + static_cast<std::ptrdiff_t>(join), std::vector<Dim>());
    dims[join].insert(dims[join].begin(), sources.begin(), sources.end());
  }
  return assemble(p, dims);
}

}  // namespace shard::exec
