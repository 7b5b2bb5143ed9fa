// Collectives that devices of several processes take part in. Of a sum each process adds up its own terms first, where
// they are neighbours, and then the processes theirs (runtime/mesh/between.h): the order is that of
// runtime::reduce_blocks over all devices, so the bits are those of one process. Of everything else the blocks of the
// others are brought here as one more storage, over a mesh that is as wide along those axes as the whole; then they are
// seen as blocks of one process are.
#include <algorithm>
#include <bit>
#include <utility>

#include "grammar/stable_sort.h"
#include "interpreter/exec/control_flow.h"
#include "interpreter/exec/lowering.h"
#include "runtime/mesh/between.h"

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

// Pieces of blocks that devices want, from process to process; all of them are of one shape.
struct BringPieces : Control {
  struct Move {
    int peer;               // the other process; this one's own pieces are only copied
    std::int64_t from, to;  // bytes: in what is here; in what comes out
  };
  std::shared_ptr<runtime::Processes> processes;
  std::vector<int> members;
  std::string what;
  View here, there, packed;          // a piece in both, and in a message
  std::vector<Move> own, sent, got;  // by peer
  std::int64_t piece_bytes() const {
    return runtime::numel(packed.shape) * static_cast<std::int64_t>(runtime::size_of(packed.dtype));
  }
  std::int64_t scratch_bytes() const override {
    return piece_bytes() * static_cast<std::int64_t>(sent.size() + got.size());
  }
  void run(Run&, void* const* in, void* const* out, char* scratch) const override {
    const auto copy = [](View from, void* source, View to, void* target) {
      from.data = source, to.data = target;
      runtime::copy(from, to);
    };
    char* const given = static_cast<char*>(in[0]);
    char* const made = static_cast<char*>(out[0]);
    const std::int64_t bytes = piece_bytes();
    std::vector<runtime::Outgoing> outgoing;
    std::vector<runtime::Incoming> incoming;
    char* at = scratch;
    for (const Move& m : sent) {
      copy(here, given + m.from, packed, at);
      if (outgoing.empty() || outgoing.back().to != m.peer) outgoing.push_back({m.peer, at, 0});
      outgoing.back().bytes += static_cast<std::size_t>(bytes);
      at += bytes;
    }
    char* const received = at;
    for (const Move& m : got) {
      if (incoming.empty() || incoming.back().from != m.peer) incoming.push_back({m.peer, at, 0});
      incoming.back().bytes += static_cast<std::size_t>(bytes);
      at += bytes;
    }
    processes->begin({what}, members, static_cast<std::size_t>(bytes), outgoing, incoming);
    at = received;
    for (const Move& m : got) copy(packed, std::exchange(at, at + bytes), there, made + m.to);
    for (const Move& m : own) copy(here, given + m.from, there, made + m.to);
  }
};

struct Between : Control {
  Between(runtime::ReduceBetween b, std::string w, bool p) : terms(std::move(b)), what(std::move(w)), parts(p) {}
  runtime::ReduceBetween terms;
  std::string what;
  bool parts;  // each process goes on with its own part of the sum
  std::int64_t scratch_bytes() const override { return terms.scratch_bytes(); }
  void run(Run&, void* const* in, void* const* out, char* scratch) const override {
    if (parts)
      terms.run_parts({what}, in[0], out[0], scratch);
    else
      terms.run({what}, in[0], out[0], scratch);
  }
};

DType sums_in(DType t) { return runtime::is_narrow(t) ? DType::F32 : t; }

}  // namespace

std::string Lowering::told(const Node& n, const StridedView& p, const std::vector<AxisId>& along) const {
  std::string axes;
  for (AxisId a : along) axes += (axes.empty() ? "@" : ", @") + around_.mesh_ref->axes[a].name;
  return std::string(n.op->name) + " of " + runtime::to_string(runtime::Type::of(p.dtype, p.shape)) + " over " + axes;
}

AxisSet Lowering::apart(const std::vector<AxisId>& list) const {
  AxisSet out;
  for (AxisId a : list)
    if (around_.part && around_.part->apart.has(a)) out.add(a);
  return out;
}

Mesh Lowering::widened(AxisSet along) const {
  Mesh wide = *mesh_;
  for (AxisId a : along.list()) wide.axes[a].size = around_.mesh_ref->size_of(a);
  return wide;
}

StridedView Lowering::brought(const Node& n, StridedView p, AxisSet along, const Mesh& wide) {
  if (along.empty()) return p;
  p = dense(p, p.distinct);
  const std::int64_t block = runtime::numel(p.shape) * static_cast<std::int64_t>(runtime::size_of(p.dtype));
  auto gather = runtime::GatherBlocks(*around_.mesh_ref, p.distinct.list(), along, block);
  const Mesh* narrow = std::exchange(mesh_, &wide);
  StridedView out = fresh(p.dtype, p.distinct, p.shape);
  mesh_ = narrow;
  if (!around_.measure) control(std::make_shared<BringBlocks>(std::move(gather), told(n, p, along.list())), {p}, {out});
  return out;
}

// What devices exchange in pairs: of other processes' blocks only what a device here wants. `split`: the dimension of
// which every device gets a part from every other; without it what the attribute `pairs` says goes over whole.
StridedView Lowering::exchanged(const Node& n, const StridedView& given, const std::vector<AxisId>& list,
                                const Mesh& wide, std::optional<std::size_t> split) {
  const Mesh& whole = *around_.mesh_ref;
  const runtime::MeshPart& part = *around_.part;
  const AxisSet differs = given.distinct & apart(list);
  if (differs.empty()) return given;
  const StridedView p = dense(given, given.distinct);
  std::int64_t devices = 1;
  for (AxisId a : list) devices *= whole.size_of(a);
  Shape piece = p.shape;
  if (split) piece[*split] /= devices;
  std::vector<AxisId> others;
  for (AxisId a : p.distinct.list())
    if (std::find(list.begin(), list.end(), a) == list.end()) others.push_back(a);
  StridedView from = p;
  from.shape = piece;
  const Mesh* narrow = std::exchange(mesh_, &wide);
  const StridedView out = fresh(p.dtype, p.distinct, p.shape);
  mesh_ = narrow;
  StridedView to = out;
  to.shape = piece;
  const std::vector<AxisId> over = differs.list();
  auto c = std::make_shared<BringPieces>();
  c->processes = part.processes;
  c->members = runtime::members_along(whole, over);
  c->what = told(n, p, over);
  c->here = view_of(from, others, mesh_), c->there = view_of(to, others, mesh_);
  c->packed = runtime::contiguous(p.dtype, c->here.shape);
  const auto coordinates = [&](std::int64_t position) {  // by axis of the list
    std::vector<std::int64_t> at(list.size());
    for (std::size_t i = list.size(); i-- > 0; position /= whole.size_of(list[i]))
      at[i] = position % whole.size_of(list[i]);
    return at;
  };
  // Which of the members has the device at these places; along the other axes it is a neighbour of this one.
  const auto owner = [&](const std::vector<std::int64_t>& at) {
    std::size_t index = 0;
    for (AxisId a : over) {
      const auto i = static_cast<std::size_t>(std::find(list.begin(), list.end(), a) - list.begin());
      const std::int64_t here = mesh_->size_of(a);
      index = index * static_cast<std::size_t>(whole.size_of(a) / here) + static_cast<std::size_t>(at[i] / here);
    }
    return c->members[index];
  };
  const int self = part.processes->index();
  const auto item = static_cast<std::int64_t>(runtime::size_of(p.dtype));
  const auto want = [&](std::int64_t source, std::int64_t target, std::int64_t within) {
    const auto s = coordinates(source), t = coordinates(target);
    const int has = owner(s), wants = owner(t);
    if (has != self && wants != self) return;
    BringPieces::Move m{has == self ? wants : has, within, within};
    for (std::size_t i = 0; i < list.size(); ++i) {
      m.from += (s[i] - part.first[list[i]]) * p.device_stride(list[i]);
      m.to += s[i] * out.device_stride(list[i]);
    }
    m.from *= item, m.to *= item;
    (has != wants ? has == self ? c->sent : c->got : c->own).push_back(m);
  };
  if (split) {
    for (std::int64_t s = 0; s < devices; ++s)
      for (std::int64_t t = 0; t < devices; ++t) want(s, t, t * piece[*split] * p.strides[*split]);
  } else {
    for (auto [s, t] : n.attrs.pairs("pairs")) want(s, t, 0);
  }
  for (auto* moves : {&c->sent, &c->got})
    stable_sort(*moves, [](const BringPieces::Move& x, const BringPieces::Move& y) { return x.peer < y.peer; });
  std::sort(c->members.begin(), c->members.end());
  control(std::move(c), {p}, {out});
  return out;
}

// Whether the devices here are neighbours in the order of terms: axes with one device here, then at most one that is
// cut, then axes that are whole here; all sizes powers of two, so that the tree of the terms here is a subtree.
bool Lowering::neighbours(const std::vector<AxisId>& list) const {
  const AxisSet along = apart(list);
  bool cut = false;
  for (AxisId a : list) {
    if (!std::has_single_bit(static_cast<std::uint64_t>(around_.mesh_ref->size_of(a))) || (cut && along.has(a)))
      return false;
    cut = cut || mesh_->size_of(a) > 1;
  }
  return true;
}

StridedView Lowering::combined(const Node& n, const ir::Collective& c, StridedView p, const std::vector<AxisId>& list) {
  const runtime::Reduce op = combining(c, p.dtype);
  const AxisSet along = apart(list);
  if (along.empty()) return reduce_devices(p, op, list);
  const AxisSet differs = p.distinct & along;
  if (!neighbours(list) || (op == runtime::Reduce::Prod && differs != along)) {
    const Mesh wide = widened(along);
    p = brought(n, std::move(p), differs, wide);
    const Mesh* narrow = std::exchange(mesh_, &wide);
    p = reduce_devices(p, op, list);
    mesh_ = narrow;
    return p;
  }
  const DType asked = p.dtype;
  Terms own = own_terms(c, p, list);
  if (!own.over.empty()) {
    own.place = dense(own.place, own.place.distinct);
    StridedView out = fresh(own.place.dtype, own.place.distinct, own.place.shape);
    between(n, own.over, own.place, out);
    own.place = std::move(out);
  }
  return converted(op == runtime::Reduce::Sum ? scaled(own.place, own.same) : own.place, asked);
}

// What the devices here have of a sum, where they are neighbours in it.
Lowering::Terms Lowering::own_terms(const ir::Collective& c, const StridedView& given,
                                    const std::vector<AxisId>& list) {
  const AxisSet along = apart(list), differs = given.distinct & along;
  Terms out{reduce_devices(converted(given, sums_in(given.dtype)), combining(c, given.dtype), list), {}, 1};
  for (AxisId a : list) {
    if (differs.has(a))
      out.over.push_back(a);
    else if (along.has(a))
      out.same *= around_.mesh_ref->size_of(a) / mesh_->size_of(a);
  }
  return out;
}

void Lowering::between(const Node& n, const std::vector<AxisId>& over, const StridedView& terms,
                       const StridedView& out) {
  runtime::ReduceBetween sum(*around_.mesh_ref, over, combining(*n.op->comm, terms.dtype), terms.dtype,
                             elements(terms.distinct, terms.shape, mesh_));
  control(std::make_shared<Between>(std::move(sum), told(n, terms, over), false), {terms}, {out}, {{0, 0}});
}

// A sum of which every device keeps a part: each process gets the terms of its own devices' parts alone. Nothing where
// they are no whole stretch of the dimension, or where processes bring the same.
std::optional<StridedView> Lowering::combined_parts(const Node& n, const ir::Collective& c, const StridedView& given,
                                                    const std::vector<AxisId>& list) {
  const AxisSet along = apart(list);
  if (along.empty() || !c.split || c.join || !neighbours(list) || (given.distinct & along) != along)
    return std::nullopt;
  std::vector<AxisId> over;
  for (AxisId a : list)
    if (along.has(a)) over.push_back(a);
  const runtime::Reduce op = combining(c, given.dtype);
  StridedView p = reduce_devices(converted(given, sums_in(given.dtype)), op, list);
  std::int64_t count = 1;
  for (AxisId a : over) count *= around_.mesh_ref->size_of(a) / mesh_->size_of(a);
  const auto d = static_cast<std::size_t>(dimension(n, c.split, p.shape.size()));
  p.shape[d] /= count;
  const Shape part = p.shape;
  p.shape.insert(p.shape.begin(), count);
  p.strides.insert(p.strides.begin(), p.strides[d] * part[d]);
  StridedView parts = arranged(p.dtype, {}, count, p.distinct, part);
  copy_into(p, parts);
  StridedView out = fresh(p.dtype, p.distinct, part);
  runtime::ReduceBetween terms(*around_.mesh_ref, over, op, p.dtype, elements(p.distinct, part, mesh_));
  control(std::make_shared<Between>(std::move(terms), told(n, given, over), true), {parts}, {out});
  out = moved(n, c, converted(out, given.dtype), list);
  AxisSet all = out.distinct | along;  // what lies in one block here is another one elsewhere
  Strides device;
  for (AxisId a : all.list()) device.push_back(out.device_stride(a));
  out.distinct = all;
  out.device = std::move(device);
  return out;
}

// A place over the wide mesh, seen from this process: its own begin further on. `before`: what it was made of, where
// that was seen from here already.
StridedView Lowering::own_of(StridedView got, const StridedView& before, AxisSet along) const {
  for (AxisId a : along.list()) got.offset += around_.part->first[a] * (got.device_stride(a) - before.device_stride(a));
  for (std::size_t i = before.frozen.size(); i < got.frozen.size(); ++i)
    if (along.has(got.frozen[i].first)) got.offset += around_.part->first[got.frozen[i].first] * got.frozen[i].second;
  return got;
}

}  // namespace shard::exec
