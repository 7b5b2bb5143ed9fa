// Collectives that devices of several processes take part in. Of a sum each process adds up its own terms first, where
// they are neighbours, and then the processes theirs (runtime/mesh/between.h): the order is that of
// runtime::reduce_blocks over all devices, so the bits are those of one process. Of everything else the blocks of the
// others are brought here as one more storage, over a mesh that is as wide along those axes as the whole; then they are
// seen as blocks of one process are.
#include <algorithm>
#include <bit>
#include <utility>

#include "grammar/stable_sort.h"
#include "interpreter/exec/lower_collectives.h"
#include "interpreter/exec/plan.h"
#include "runtime/mesh/between.h"

namespace shard::exec {

using ir::Node;

namespace {

// One exchange with the others, over memory of its own.
struct Exchange : Control {
  using Call = std::function<void(const void* in, void* out, char* scratch)>;
  Exchange(std::int64_t s, Call c) : scratch(s), call(std::move(c)) {}
  std::int64_t scratch;
  Call call;
  std::int64_t scratch_bytes() const override { return scratch; }
  void run(Run&, void* const* in, void* const* out, char* mine) const override { call(in[0], out[0], mine); }
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
  std::int64_t piece_bytes() const { return runtime::numel(packed.shape) * item_bytes(packed.dtype); }
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

// A new place as `p` is, over another mesh.
StridedView fresh_like(Lowering& l, const Mesh& mesh, const StridedView& p) {
  const OnMesh scope(l, mesh);
  return l.fresh(p.dtype, p.distinct, p.shape);
}

DType sums_in(DType t) { return runtime::is_narrow(t) ? DType::F32 : t; }

}  // namespace

std::string CollectiveSteps::told(const StridedView& p, const std::vector<AxisId>& along) const {
  std::string axes;
  for (AxisId a : along) axes += (axes.empty() ? "@" : ", @") + whole().axes[a].name;
  return std::string(n_.op->name) + " of " + runtime::to_string(runtime::Type::of(p.dtype, p.shape)) + " over " + axes;
}

Mesh CollectiveSteps::widened() const {
  Mesh wide = here();
  for (AxisId a : apart_.list()) wide.axes[a].size = whole().size_of(a);
  return wide;
}

StridedView CollectiveSteps::brought(StridedView p, AxisSet along, const Mesh& wide) const {
  if (along.empty()) return p;
  p = l_.dense(p, p.distinct);
  runtime::GatherBlocks gather(whole(), p.distinct.list(), along, runtime::numel(p.shape) * item_bytes(p.dtype));
  StridedView out = fresh_like(l_, wide, p);
  if (!l_.around().measure)
    l_.control(std::make_shared<Exchange>(gather.scratch_bytes(),
                                          [gather, what = told(p, along.list())](const void* in, void* to, char* mine) {
                                            gather.run({what}, in, to, mine);
                                          }),
               {p}, {out});
  return out;
}

// What devices exchange in pairs: of other processes' blocks only what a device here wants. `split`: the dimension of
// which every device gets a part from every other; without it what the attribute `pairs` says goes over whole.
StridedView CollectiveSteps::exchanged(const StridedView& given, const Mesh& wide,
                                       std::optional<std::size_t> split) const {
  const runtime::MeshPart& part = *l_.around().part;
  const AxisSet differs = given.distinct & apart_;
  if (differs.empty()) return given;
  const StridedView p = l_.dense(given, given.distinct);
  const std::int64_t devices = whole().size_of(list_);
  Shape piece = p.shape;
  if (split) piece[*split] /= devices;
  const std::vector<AxisId> others = (p.distinct - AxisSet::of(list_)).list();
  StridedView from = p;
  from.shape = piece;
  const StridedView out = fresh_like(l_, wide, p);
  StridedView to = out;
  to.shape = piece;
  const std::vector<AxisId> over = differs.list();
  auto c = std::make_shared<BringPieces>();
  c->processes = part.processes;
  c->members = runtime::members_along(whole(), over);
  c->what = told(p, over);
  c->here = view_of(from, others, &here()), c->there = view_of(to, others, &here());
  c->packed = runtime::contiguous(p.dtype, c->here.shape);
  const auto coordinates = [&](std::int64_t position) {  // by axis of the list
    std::vector<std::int64_t> at(list_.size());
    for (std::size_t i = list_.size(); i-- > 0; position /= whole().size_of(list_[i]))
      at[i] = position % whole().size_of(list_[i]);
    return at;
  };
  // Which of the members has the device at these places; along the other axes it is a neighbour of this one.
  const auto owner = [&](const std::vector<std::int64_t>& at) {
    std::size_t index = 0;
    for (AxisId a : over) {
      const auto i = static_cast<std::size_t>(std::find(list_.begin(), list_.end(), a) - list_.begin());
      index = index * static_cast<std::size_t>(processes(a)) + static_cast<std::size_t>(at[i] / here().size_of(a));
    }
    return c->members[index];
  };
  const int self = part.processes->index();
  const std::int64_t item = item_bytes(p.dtype);
  const auto want = [&](std::int64_t source, std::int64_t target, std::int64_t within) {
    const auto s = coordinates(source), t = coordinates(target);
    const int has = owner(s), wants = owner(t);
    if (has != self && wants != self) return;
    BringPieces::Move m{has == self ? wants : has, within, within};
    for (std::size_t i = 0; i < list_.size(); ++i) {
      m.from += (s[i] - part.first[list_[i]]) * p.device_stride(list_[i]);
      m.to += s[i] * out.device_stride(list_[i]);
    }
    m.from *= item, m.to *= item;
    (has != wants ? has == self ? c->sent : c->got : c->own).push_back(m);
  };
  if (split) {
    for (std::int64_t s = 0; s < devices; ++s)
      for (std::int64_t t = 0; t < devices; ++t) want(s, t, t * piece[*split] * p.strides[*split]);
  } else {
    for (auto [s, t] : n_.attrs.pairs("pairs")) want(s, t, 0);
  }
  for (auto* moves : {&c->sent, &c->got})
    stable_sort(*moves, [](const BringPieces::Move& x, const BringPieces::Move& y) { return x.peer < y.peer; });
  std::sort(c->members.begin(), c->members.end());
  l_.control(std::move(c), {p}, {out});
  return out;
}

bool CollectiveSteps::neighbours() const {
  bool cut = false;
  for (AxisId a : list_) {
    if (!std::has_single_bit(static_cast<std::uint64_t>(whole().size_of(a))) || (cut && apart_.has(a))) return false;
    cut = cut || here().size_of(a) > 1;
  }
  return true;
}

StridedView CollectiveSteps::combined(StridedView p) const {
  const runtime::Reduce op = combining(p.dtype);
  if (apart_.empty()) return reduce_devices(p, op);
  const AxisSet differs = p.distinct & apart_;
  if (!neighbours() || (op == runtime::Reduce::Prod && differs != apart_)) {
    const Mesh wide = widened();
    p = brought(std::move(p), differs, wide);
    const OnMesh scope(l_, wide);
    return reduce_devices(p, op);
  }
  const DType asked = p.dtype;
  Terms own = own_terms(p);
  if (!own.over.empty()) {
    own.place = l_.dense(own.place, own.place.distinct);
    StridedView out = l_.fresh(own.place.dtype, own.place.distinct, own.place.shape);
    between(own.over, own.place, out);
    own.place = std::move(out);
  }
  return l_.converted(op == runtime::Reduce::Sum ? l_.scaled(own.place, own.same) : own.place, asked);
}

CollectiveSteps::Terms CollectiveSteps::own_terms(const StridedView& given) const {
  const AxisSet differs = given.distinct & apart_;
  Terms out{reduce_devices(l_.converted(given, sums_in(given.dtype)), combining(given.dtype)), {}, 1};
  for (AxisId a : list_) {
    if (differs.has(a))
      out.over.push_back(a);
    else if (apart_.has(a))
      out.same *= processes(a);
  }
  return out;
}

void CollectiveSteps::between(const std::vector<AxisId>& over, const StridedView& terms, const StridedView& out) const {
  runtime::ReduceBetween sum(whole(), over, combining(terms.dtype), terms.dtype,
                             elements(terms.distinct, terms.shape, &here()));
  l_.control(std::make_shared<Exchange>(sum.scratch_bytes(),
                                        [sum, what = told(terms, over)](const void* in, void* to, char* mine) {
                                          sum.run({what}, in, to, mine);
                                        }),
             {terms}, {out}, {{0, 0}});
}

// A sum of which every device keeps a part: each process gets the terms of its own devices' parts alone. Nothing where
// they are no whole stretch of the dimension, or where processes bring the same.
std::optional<StridedView> CollectiveSteps::combined_parts(const StridedView& given) const {
  if (apart_.empty() || !c_.split || c_.join || !neighbours() || (given.distinct & apart_) != apart_)
    return std::nullopt;
  std::vector<AxisId> over;
  std::int64_t count = 1;
  for (AxisId a : list_)
    if (apart_.has(a)) over.push_back(a), count *= processes(a);
  const runtime::Reduce op = combining(given.dtype);
  StridedView p = reduce_devices(l_.converted(given, sums_in(given.dtype)), op);
  const std::size_t d = dimension(c_.split, p.shape.size());
  p.shape[d] /= count;
  const Shape part = p.shape;
  p.shape.insert(p.shape.begin(), count);
  p.strides.insert(p.strides.begin(), p.strides[d] * part[d]);
  StridedView parts = l_.arranged(p.dtype, {}, count, p.distinct, part);
  l_.copy_into(p, parts);
  StridedView out = l_.fresh(p.dtype, p.distinct, part);
  runtime::ReduceBetween terms(whole(), over, op, p.dtype, elements(p.distinct, part, &here()));
  l_.control(std::make_shared<Exchange>(terms.scratch_bytes(),
                                        [terms, what = told(given, over)](const void* in, void* to, char* mine) {
                                          terms.run_parts({what}, in, to, mine);
                                        }),
             {parts}, {out});
  out = moved(l_.converted(out, given.dtype));
  const AxisSet all = out.distinct | apart_;  // what lies in one block here is another one elsewhere
  return seen_along(std::move(out), all);
}

// A place over the wide mesh, seen from this process: its own begin further on. `before`: what it was made of, where
// that was seen from here already.
StridedView CollectiveSteps::own_of(StridedView got, const StridedView& before) const {
  const std::vector<std::int64_t>& first = l_.around().part->first;
  for (AxisId a : apart_.list()) got.offset += first[a] * (got.device_stride(a) - before.device_stride(a));
  for (std::size_t i = before.frozen.size(); i < got.frozen.size(); ++i)
    if (auto [axis, step] = got.frozen[i]; apart_.has(axis)) got.offset += first[axis] * step;
  return got;
}

}  // namespace shard::exec
