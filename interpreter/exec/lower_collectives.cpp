// Collectives without groups, over the blocks of one storage: the devices along an axis are one more dimension of
// memory. A sum is a reduction over that dimension, a gather is that dimension seen as a part of a local one, an
// exchange swaps the two. Where strides allow it nothing is moved. The order of a sum over devices is that of
// `runtime::reduce_blocks`.
#include <algorithm>
#include <bit>
#include <stdexcept>
#include <utility>

#include "interpreter/exec/lowering.h"
#include "interpreter/transform/distinct.h"
#include "runtime/kernels/element_program.h"
#include "runtime/kernels/kernels.h"

namespace shard::exec {

using ir::Node;

namespace {

std::vector<std::vector<Dim>> dims_of(const StridedView& p) {
  std::vector<std::vector<Dim>> out;
  for (std::size_t d = 0; d < p.shape.size(); ++d) out.push_back({{p.shape[d], p.strides[d]}});
  return out;
}

}  // namespace

int dimension(const Node& n, const char* name, std::size_t rank) {
  std::int64_t d = n.attrs.integer(name);
  if (d < 0) d += static_cast<std::int64_t>(rank);
  if (d < 0 || d >= static_cast<std::int64_t>(rank))
    throw std::logic_error("`" + std::string(n.op->name) + "` names a dimension that is not there");
  return static_cast<int>(d);
}

runtime::Reduce combining(const ir::Collective& c, DType dtype) {
  return dtype == DType::Bool && c.combine == runtime::Reduce::Sum ? runtime::Reduce::Or : *c.combine;
}

// `p` through a program of one operation, whose result is register `registers.size() - 1`.
StridedView Lowering::through(runtime::ElementProgram program, const StridedView& p) {
  StridedView out = fresh(program.registers.back(), p.distinct, p.shape);
  program.inputs = {0};
  program.outputs = {static_cast<std::uint16_t>(program.registers.size() - 1)};
  std::vector<AxisId> batch = p.distinct.list();
  std::vector<View> in{view_of(p, batch, mesh_)}, made{view_of(out, batch, mesh_)};
  std::vector<std::pair<int, int>> in_place;
  if (is_dense(p, mesh_) && out.dtype == p.dtype) in_place.emplace_back(0, 0);
  auto kernel = std::make_shared<runtime::ElementKernel>(std::move(program), in, made);
  step([kernel](void* const* i, void* const* o) { kernel->run(i, o); }, {p}, {out}, std::move(in_place));
  return out;
}

StridedView Lowering::scaled(const StridedView& p, std::int64_t by) {
  if (by == 1) return p;
  runtime::ElementProgram program;
  program.registers = {p.dtype, p.dtype, p.dtype};
  program.constants.push_back({1, static_cast<double>(by), by});
  program.code.push_back({runtime::Code::Mul, p.dtype, 2, 0, 1});
  return through(std::move(program), p);
}

StridedView Lowering::converted(const StridedView& p, DType to) {
  if (to == p.dtype) return p;
  runtime::ElementProgram program;
  program.registers = {p.dtype, to};
  program.code.push_back({runtime::Code::Convert, p.dtype, 1, 0});
  return through(std::move(program), p);
}

// Every device along `over` (major first) is a term, one that holds what others hold too. Equal terms need not be added
// one by one where that gives the same bits: maxima and integers; floats where all sizes are powers of two, so that
// equal subtrees meet. Those of a product are multiplied one by one.
StridedView Lowering::reduce_devices(const StridedView& p, runtime::Reduce op, const std::vector<AxisId>& over) {
  const bool adds = op == runtime::Reduce::Sum;
  bool once = op != runtime::Reduce::Prod && (!adds || !runtime::is_float(p.dtype));
  if (!once && adds)
    once = std::all_of(over.begin(), over.end(),
                       [&](AxisId a) { return std::has_single_bit(static_cast<std::uint64_t>(mesh_->size_of(a))); });
  std::vector<AxisId> terms;
  AxisSet rest = p.distinct;
  std::int64_t same = 1, differ = 1;
  for (AxisId a : over) {
    (p.distinct.has(a) ? differ : same) *= mesh_->size_of(a);
    if (!once || p.distinct.has(a)) terms.push_back(a);
    rest.remove(a);
  }
  if (differ == 1 && (once || same == 1)) return adds ? scaled(p, same) : p;
  std::vector<AxisId> order = terms, kept = rest.list();
  order.insert(order.end(), kept.begin(), kept.end());
  StridedView out = fresh(p.dtype, rest, p.shape);
  View in = view_of(p, order, mesh_), made = view_of(out, kept, mesh_);
  step([sum = runtime::bind_reduce_blocks(op, in, static_cast<int>(terms.size()), made)](
           void* const* i, void* const* o) { sum(*i, *o); },
       {p}, {out});
  return adds && once ? scaled(out, same) : out;
}

// A value of these distinct axes whose dimensions are made of several of memory, the major ones first. A view of `from`
// where its strides allow that, a copy otherwise.
StridedView Lowering::assemble(const StridedView& from, AxisSet distinct, const Strides& device,
                               const std::vector<std::vector<Dim>>& dims) {
  StridedView seen = from;
  seen.distinct = distinct;
  seen.device = device;
  StridedView apart = seen;
  const Shape shape = lay_apart(apart, dims);
  seen.shape = shape;
  seen.strides.clear();
  bool fits = true;
  for (const auto& parts : dims) {
    const auto one = merged(parts);
    fits &= one.has_value();
    seen.strides.push_back(one ? one->stride : 0);
  }
  if (fits) return seen;
  StridedView out = fresh(from.dtype, distinct, apart.shape);
  copy_into(apart, out);
  return *reshaped(out, shape);
}

StridedView Lowering::index_of_device(const Node& n, const std::vector<AxisId>& list) {
  std::int64_t count = 1;
  for (AxisId a : list) count *= mesh_->size_of(a);
  DType dtype = type(n.outputs[0]).dtype;
  auto buffer = around_.pool.allocate(static_cast<std::size_t>(count) * runtime::size_of(dtype));
  runtime::iota(runtime::contiguous(dtype, {count}, buffer->data()), 0);
  StridedView whole = dense_place(constant_storage(std::move(buffer)), dtype, {}, {count}, mesh_);
  StridedView p = own_part(std::move(whole), 0, list, around_.frozen, *mesh_);
  p.shape.clear();
  p.strides.clear();
  return p;
}

StridedView Lowering::permute_devices(const Node& n, const StridedView& p) {
  std::vector<AxisId> list = transform::axes_of(n, *around_.mesh_ref);
  AxisSet distinct = axes(n.outputs[0]);
  bool varies = false;
  for (AxisId a : list) varies |= p.distinct.has(a) || distinct.has(a);
  if (!varies && distinct == p.distinct) return p;
  StridedView out = fresh(p.dtype, distinct, p.shape);
  std::vector<AxisId> others;
  for (AxisId a : distinct.list())
    if (std::find(list.begin(), list.end(), a) == list.end()) others.push_back(a);
  std::int64_t devices = 1;
  for (AxisId a : list) devices *= mesh_->size_of(a);
  auto offset = [&](const StridedView& q, std::int64_t position) {  // elements
    std::int64_t at = 0;
    for (std::size_t i = list.size(); i-- > 0;) {
      at += position % mesh_->size_of(list[i]) * q.device_stride(list[i]);
      position /= mesh_->size_of(list[i]);
    }
    return at;
  };
  struct Move {
    std::int64_t from, to;
  };
  std::vector<Move> moves;
  std::vector<bool> got(static_cast<std::size_t>(devices), false);
  auto item = static_cast<std::int64_t>(runtime::size_of(p.dtype));
  for (auto [from, to] : n.attrs.pairs("pairs")) {
    moves.push_back({offset(p, from) * item, offset(out, to) * item});
    got[static_cast<std::size_t>(to)] = true;
  }
  std::vector<std::int64_t> blank;
  for (std::int64_t d = 0; d < devices; ++d)
    if (!got[static_cast<std::size_t>(d)]) blank.push_back(offset(out, d) * item);
  View in = view_of(p, others, mesh_), to = view_of(out, others, mesh_);
  step(
      [in, to, moves, blank](void* const* i, void* const* o) mutable {
        for (std::int64_t b : blank) {
          to.data = static_cast<char*>(*o) + b;
          runtime::fill(to, 0, 0);
        }
        for (const Move& m : moves) {
          in.data = static_cast<char*>(*i) + m.from;
          to.data = static_cast<char*>(*o) + m.to;
          runtime::copy(in, to);
        }
      },
      {p}, {out});
  return out;
}

void Lowering::emit_collective(const Node& n) {
  const ir::Collective& c = *n.op->comm;
  const std::vector<AxisId> list = transform::axes_of(n, *around_.mesh_ref, true);
  for (AxisId a : list)
    if (around_.frozen.has(a) && c.communicates())
      throw std::logic_error("a collective in a region that runs block by block");
  const ir::Var out = n.outputs[0];
  if (!c.place && !c.communicates() && !c.split) return put(out, place(n.inputs[0]));
  if (around_.alone() && !c.place) return put(out, held_apart(n, c));
  StridedView got = communicated(n, c, list);
  if (around_.exact && !c.place) got = dense(got, got.distinct);
  put(out, std::move(got));
}

// On a device of its own nothing is a view of what other devices hold: what it gets has memory, that of what it gives
// where a sum is as large.
StridedView Lowering::held_apart(const Node& n, const ir::Collective& c) {
  const ir::Type& t = type(n.outputs[0]);
  const StridedView given = place(n.inputs[0]);
  StridedView got = fresh(t.dtype, axes(n.outputs[0]), t.shape);
  step({}, {given}, {got},
       c.combine && !c.split ? std::vector<std::pair<int, int>>{{0, 0}} : std::vector<std::pair<int, int>>{});
  return got;
}

// Where devices of other processes take part, their blocks come here, what is done with them is done as in one process,
// and of the result this process goes on with its own.
StridedView Lowering::communicated(const Node& n, const ir::Collective& c, const std::vector<AxisId>& list) {
  StridedView p = c.place ? StridedView() : place(n.inputs[0]);
  if (c.combine)
    if (auto parts = combined_parts(n, c, p, list)) return *std::move(parts);
  if (c.combine) p = combined(n, c, std::move(p), list);
  if (c.combine && !c.split && !c.join) return p;
  const AxisSet along = apart(list);
  if (along.empty()) return c.place ? index_of_device(n, list) : moved(n, c, std::move(p), list);
  const Mesh wide = widened(along);
  if (c.pairs)
    p = exchanged(n, p, list, wide, std::nullopt);
  else if (c.join && c.split)
    p = exchanged(n, p, list, wide, static_cast<std::size_t>(dimension(n, c.split, p.shape.size())));
  else if (c.join)
    p = brought(n, std::move(p), p.distinct & along, wide);
  const Mesh* narrow = std::exchange(mesh_, &wide);
  const StridedView before = c.join || c.pairs ? StridedView() : p;
  StridedView got = c.place ? index_of_device(n, list) : moved(n, c, std::move(p), list);
  mesh_ = narrow;
  return own_of(std::move(got), before, along);
}

// What is left to do behind a sum: from device to device, split, joined.
StridedView Lowering::moved(const Node& n, const ir::Collective& c, StridedView p, const std::vector<AxisId>& list) {
  if (c.pairs) return permute_devices(n, p);
  const bool whole = ir::tiled(c, n.attrs);
  // What the devices were becomes a part of dimension `join`, the major one; they now see parts of dimension `split`.
  // After a sum these are views: it is as large as all its parts.
  std::vector<Dim> sources;
  if (c.join) {
    AxisSet rest = p.distinct;
    for (AxisId a : list) {
      sources.push_back({mesh_->size_of(a), p.device_stride(a)});
      rest.remove(a);
    }
    Strides device;
    for (AxisId a : rest.list()) device.push_back(p.device_stride(a));
    p.distinct = rest;
    p.device = std::move(device);
  }
  const int split = c.split ? dimension(n, c.split, p.shape.size()) : 0;
  if (c.split) p = own_part(std::move(p), split, list, around_.frozen, *mesh_);
  auto dims = dims_of(p);
  if (c.split && !whole) dims.erase(dims.begin() + split);
  if (c.join) {
    const int join = dimension(n, c.join, dims.size() + (whole ? 0 : 1));
    if (!whole) dims.insert(dims.begin() + join, std::vector<Dim>());
    auto& at = dims[static_cast<std::size_t>(join)];
    at.insert(at.begin(), sources.begin(), sources.end());
  }
  return assemble(p, p.distinct, p.device, dims);
}

}  // namespace shard::exec
