// Collectives without groups, over the blocks of one storage: the devices along an axis are one more dimension of
// memory. A sum is a reduction over that dimension, a gather is that dimension seen as a part of a local one, an
// exchange swaps the two. Where strides allow it nothing is moved. The order of a sum over devices is that of
// `runtime::reduce_blocks`.
#include <algorithm>
#include <bit>
#include <stdexcept>

#include "interpreter/exec/lowering.h"
#include "interpreter/transform/distinct.h"
#include "runtime/kernels/elementwise.h"
#include "runtime/kernels/kernels.h"

namespace shard::exec {

using ir::Comm;
using ir::Node;

namespace {

int dimension(const Node& n, const char* name, std::size_t rank) {
  std::int64_t d = n.attrs.integer(name);
  if (d < 0) d += static_cast<std::int64_t>(rank);
  if (d < 0 || d >= static_cast<std::int64_t>(rank))
    throw std::logic_error("`" + std::string(n.op->name) + "` names a dimension that is not there");
  return static_cast<int>(d);
}

bool tiled(const Node& n) { return n.attrs.has("tiled") && n.attrs.flag("tiled"); }

std::vector<std::vector<Dim>> dims_of(const Place& p) {
  std::vector<std::vector<Dim>> out;
  for (std::size_t d = 0; d < p.shape.size(); ++d) out.push_back({{p.shape[d], p.strides[d]}});
  return out;
}

}  // namespace

Place Lowering::scaled(const Place& p, std::int64_t by) {
  if (by == 1) return p;
  runtime::ElementProgram program;
  program.registers = {p.dtype, p.dtype, p.dtype};
  program.inputs = {0};
  program.constants.push_back({1, static_cast<double>(by), by});
  program.code.push_back({runtime::Code::Mul, p.dtype, 2, 0, 1});
  program.outputs = {2};
  Place out = fresh(p.dtype, p.distinct, p.shape);
  std::vector<AxisId> batch = p.distinct.list();
  std::vector<View> in{view_of(p, batch, mesh_)}, made{view_of(out, batch, mesh_)};
  auto kernel = std::make_shared<runtime::ElementKernel>(std::move(program), in, made);
  std::vector<std::pair<int, int>> in_place;
  if (is_dense(p, mesh_)) in_place.emplace_back(0, 0);
  step([kernel](void* const* i, void* const* o) { kernel->run(i, o); }, {p}, {out}, std::move(in_place));
  return out;
}

// Every device along `over` (major first) is a term, one that holds what others hold too. Equal terms need not be added
// one by one where that gives the same bits: maxima and integers; floats where all sizes are powers of two, so that
// equal subtrees meet.
Place Lowering::reduce_devices(const Place& p, runtime::Reduce op, const std::vector<AxisId>& over) {
  const bool adds = op == runtime::Reduce::Sum;
  bool once = !adds || !runtime::is_float(p.dtype);
  if (!once)
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
  Place out = fresh(p.dtype, rest, p.shape);
  View in = view_of(p, order, mesh_), made = view_of(out, kept, mesh_);
  step([sum = runtime::bind_reduce_blocks(op, in, static_cast<int>(terms.size()), made)](
           void* const* i, void* const* o) { sum(*i, *o); },
       {p}, {out});
  return adds && once ? scaled(out, same) : out;
}

// A value of these distinct axes whose dimensions are made of several of memory, the major ones first. A view of `from`
// where its strides allow that, a copy otherwise.
Place Lowering::assemble(const Place& from, AxisSet distinct, const Strides& device,
                         const std::vector<std::vector<Dim>>& dims) {
  Place seen = from;
  seen.distinct = distinct;
  seen.device = device;
  seen.shape.clear();
  seen.strides.clear();
  Place apart = seen;  // every dimension of memory by itself
  bool fits = true;
  Shape shape;
  for (const auto& parts : dims) {
    std::int64_t size = 1;
    for (const Dim& d : parts) {
      size *= d.size;
      apart.shape.push_back(d.size);
      apart.strides.push_back(d.stride);
    }
    shape.push_back(size);
    auto one = merged(parts);
    fits &= one.has_value();
    seen.shape.push_back(size);
    seen.strides.push_back(one ? one->stride : 0);
  }
  if (fits) return seen;
  Place out = fresh(from.dtype, distinct, apart.shape);
  copy_into(apart, out);
  return *reshaped(out, shape);
}

Place Lowering::index_of_device(const Node& n) {
  std::vector<AxisId> list = transform::axes_of(n, *mesh_, true);
  std::int64_t count = 1;
  for (AxisId a : list) count *= mesh_->size_of(a);
  DType dtype = type(n.outputs[0]).dtype;
  auto buffer = around_.pool.allocate(static_cast<std::size_t>(count) * runtime::size_of(dtype));
  runtime::iota(runtime::contiguous(dtype, {count}, buffer->data()), 0);
  Place whole = dense_place(constant_storage(std::move(buffer)), dtype, {}, {count}, mesh_);
  Place p = own_part(std::move(whole), 0, list, around_.frozen, *mesh_);
  p.shape.clear();
  p.strides.clear();
  return p;
}

Place Lowering::permute_devices(const Node& n, const Place& p) {
  std::vector<AxisId> list = transform::axes_of(n, *mesh_);
  AxisSet distinct = axes(n.outputs[0]);
  bool varies = false;
  for (AxisId a : list) varies |= p.distinct.has(a) || distinct.has(a);
  if (!varies && distinct == p.distinct) return p;
  Place out = fresh(p.dtype, distinct, p.shape);
  std::vector<AxisId> others;
  for (AxisId a : distinct.list())
    if (std::find(list.begin(), list.end(), a) == list.end()) others.push_back(a);
  std::int64_t devices = 1;
  for (AxisId a : list) devices *= mesh_->size_of(a);
  auto offset = [&](const Place& q, std::int64_t position) {  // elements
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
  std::vector<AxisId> list = transform::axes_of(n, *mesh_, true);
  for (AxisId a : list)
    if (around_.frozen.has(a) && n.op->comm != Comm::Index && n.op->comm != Comm::Slice && n.op->comm != Comm::Cast)
      throw std::logic_error("a collective in a region that runs block by block");
  const ir::Var out = n.outputs[0];
  if (n.op->comm == Comm::Index) return put(out, index_of_device(n));
  if (n.op->comm == Comm::Cast) return put(out, place(n.inputs[0]));
  Place got = communicated(n, list);
  if (around_.exact) got = dense(got, got.distinct);
  put(out, std::move(got));
}

Place Lowering::communicated(const Node& n, const std::vector<AxisId>& list) {
  const Place p = place(n.inputs[0]);
  auto without = [&](AxisSet s) {
    for (AxisId a : list) s.remove(a);
    return s;
  };
  auto device_of = [&](const Place& q, AxisSet distinct) {
    Strides s;
    for (AxisId a : distinct.list()) s.push_back(q.device_stride(a));
    return s;
  };
  runtime::Reduce sum = p.dtype == DType::Bool ? runtime::Reduce::Or : runtime::Reduce::Sum;
  switch (n.op->comm) {
    case Comm::Sum: return reduce_devices(p, sum, list);
    case Comm::Max: return reduce_devices(p, runtime::Reduce::Max, list);
    case Comm::Min: return reduce_devices(p, runtime::Reduce::Min, list);
    case Comm::Permute: return permute_devices(n, p);
    case Comm::Slice: return own_part(p, dimension(n, "axis", p.shape.size()), list, around_.frozen, *mesh_);
    case Comm::ScatterSum: {  // the whole sum is as large as all its parts: they are views of it
      Place whole = reduce_devices(p, sum, list);
      int d = dimension(n, "axis", p.shape.size());
      Place part = own_part(std::move(whole), d, list, around_.frozen, *mesh_);
      if (!tiled(n)) {
        part.shape.erase(part.shape.begin() + d);
        part.strides.erase(part.strides.begin() + d);
      }
      return part;
    }
    case Comm::Gather: {
      bool tile = tiled(n);
      std::size_t rank = p.shape.size() + (tile ? 0 : 1);
      auto d = static_cast<std::size_t>(dimension(n, "axis", rank));
      auto dims = dims_of(p);
      std::vector<Dim> parts;
      for (AxisId a : list) parts.push_back({mesh_->size_of(a), p.device_stride(a)});
      if (tile)
        dims[d].insert(dims[d].begin(), parts.begin(), parts.end());
      else
        dims.insert(dims.begin() + static_cast<std::ptrdiff_t>(d), parts);
      AxisSet rest = without(p.distinct);
      return assemble(p, rest, device_of(p, rest), dims);
    }
    case Comm::AllToAll: {
      bool tile = tiled(n);
      auto s = static_cast<std::size_t>(dimension(n, "split", p.shape.size()));
      auto c = static_cast<std::size_t>(dimension(n, "concat", p.shape.size()));
      std::vector<Dim> sources;
      for (AxisId a : list) sources.push_back({mesh_->size_of(a), p.device_stride(a)});
      // The devices along the axes now see parts of dimension `split`; what they were before is a part of dimension
      // `concat`.
      Place parted = p;
      parted.distinct = without(p.distinct);
      parted.device = device_of(p, parted.distinct);
      parted = own_part(std::move(parted), static_cast<int>(s), list, around_.frozen, *mesh_);
      auto dims = dims_of(parted);
      if (tile) {
        dims[c].insert(dims[c].begin(), sources.begin(), sources.end());
      } else {
        dims.erase(dims.begin() + static_cast<std::ptrdiff_t>(s));
        dims.insert(dims.begin() + static_cast<std::ptrdiff_t>(c), sources);
      }
      return assemble(parted, parted.distinct, parted.device, dims);
    }
    case Comm::Index:
    case Comm::Cast:
    case Comm::None: break;
  }
  throw std::logic_error("`" + std::string(n.op->name) + "` moves nothing");
}

}  // namespace shard::exec
