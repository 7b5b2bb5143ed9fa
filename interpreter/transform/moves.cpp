// How a value gets from one layout to another: the cheapest sequence of moves, found by a search over layouts (Dijkstra
// on the bytes that one device gives, then on the number of steps), and the nodes that are made of it. The way into a
// unreduced sum, which explicit layouts can ask for, moves nothing: a value that is split is placed in zeros, one that
// is whole is kept by the first device of the axis only.
#include <algorithm>
#include <map>
#include <queue>
#include <stdexcept>
#include <tuple>

#include "interpreter/ir/collective.h"
#include "interpreter/transform/passes.h"

namespace shard::transform {
namespace {

using ir::Var;

struct Move {
  enum class Kind { Slice, Permute, Exchange, Gather, Reduce, ScatterReduce };
  Kind kind;
  Axes axes;             // major first; Permute: the axes whose devices take part, in mesh order
  int dim = 0;           // Slice, ScatterReduce: becomes split; Gather, Exchange: was split
  int to = 0;            // Exchange: becomes split
  ir::Pairs pairs = {};  // Permute: (source, destination), positions along `axes`
};

using Split = std::vector<Axes>;

struct State {
  Split split;
  AxisSet unreduced;  // axes over which a reduction is still to be done
  bool operator<(const State& o) const {
    return split != o.split ? split < o.split : unreduced.bits() < o.unreduced.bits();
  }
  bool operator==(const State&) const = default;
};

// Bytes that one device sends, then steps in which devices communicate, then steps.
struct Cost {
  std::int64_t sent = 0;
  int collectives = 0, steps = 0;
  auto operator<=>(const Cost&) const = default;
  Cost operator+(const Cost& o) const { return {sent + o.sent, collectives + o.collectives, steps + o.steps}; }
};

Cost communicating(const ir::Collective& c, std::int64_t bytes, std::int64_t devices) {
  return {ir::comm_cost(c, bytes, devices).sent, 1, 1};
}

struct Reached {
  Cost cost;
  State before;
  Move move;
  bool start = false;
};

class Search {
 public:
  Search(const Mesh& mesh, const runtime::Shape& shape, std::int64_t item, State from, State to, bool sums)
      : mesh_(mesh), shape_(shape), item_(item), from_(std::move(from)), to_(std::move(to)), sums_(sums) {
    kept_.resize(shape_.size());
    for (std::size_t d = 0; d < shape_.size(); ++d) {
      while (kept_[d] < from_.split[d].size() && kept_[d] < to_.split[d].size() &&
             from_.split[d][kept_[d]] == to_.split[d][kept_[d]])
        ++kept_[d];
      for (std::size_t i = kept_[d]; i < from_.split[d].size(); ++i) involved_.add(from_.split[d][i]);
      for (std::size_t i = kept_[d]; i < to_.split[d].size(); ++i)
        involved_.add(to_.split[d][i]), wanted_.add(to_.split[d][i]);
    }
  }

  std::vector<Move> run() {
    if (auto direct = growing()) return *direct;
    using Entry = std::tuple<Cost, int, State>;
    std::priority_queue<Entry, std::vector<Entry>, std::greater<>> open;
    int order = 0;
    reached_[from_] = {{}, {}, {}, true};
    open.emplace(Cost{}, order++, from_);
    while (!open.empty()) {
      auto [cost, unused, state] = open.top();
      open.pop();
      if (reached_[state].cost < cost) continue;
      if (state == to_) return path(state);
      for (auto& [next, move, step] : neighbours(state)) {
        Cost total = cost + step;
        auto it = reached_.find(next);
        if (it != reached_.end() && !(total < it->second.cost)) continue;
        reached_[next] = {total, state, move, false};
        open.emplace(total, order++, next);
      }
    }
    throw std::logic_error("no way between two layouts");  // gathering everything and slicing is always one
  }

 private:
  struct Neighbour {
    State state;
    Move move;
    Cost cost;
  };

  // Nothing to be gathered or moved: slices, and reductions that are scattered where their axes are wanted.
  std::optional<std::vector<Move>> growing() const {
    for (std::size_t d = 0; d < shape_.size(); ++d)
      if (kept_[d] != from_.split[d].size()) return std::nullopt;
    std::vector<Move> moves;
    AxisSet unreduced = from_.unreduced;
    auto reduce = [&] {
      if (!unreduced.empty()) moves.push_back({Move::Kind::Reduce, unreduced.list()});
      unreduced = {};
    };
    if (!sums_) reduce();
    for (std::size_t d = 0; d < shape_.size(); ++d)
      for (std::size_t i = kept_[d]; i < to_.split[d].size(); ++i) {
        AxisId a = to_.split[d][i];
        bool scatter = unreduced.has(a);
        unreduced.remove(a);
        moves.push_back({scatter ? Move::Kind::ScatterReduce : Move::Kind::Slice, {a}, static_cast<int>(d)});
      }
    reduce();
    return merged(std::move(moves));
  }

  std::int64_t local_bytes(const State& s) const {
    double n = static_cast<double>(item_);
    for (std::size_t d = 0; d < shape_.size(); ++d)
      n *= static_cast<double>(shape_[d]) / static_cast<double>(mesh_.size_of(s.split[d]));
    return static_cast<std::int64_t>(std::min(n, 1e15));
  }
  bool fits(const Split& split, std::size_t d) const { return shape_[d] % mesh_.size_of(split[d]) == 0; }

  std::vector<Neighbour> neighbours(const State& s) const {
    std::vector<Neighbour> out;
    std::int64_t bytes = local_bytes(s);
    AxisSet placed;
    for (const auto& axes : s.split) placed |= AxisSet::of(axes);
    if (!s.unreduced.empty()) {
      Axes all = s.unreduced.list();
      std::int64_t n = mesh_.size_of(all);
      State next = s;
      next.unreduced = {};
      out.push_back({next, {Move::Kind::Reduce, all}, communicating({.combine = runtime::Reduce::Sum}, bytes, n)});
    }
    for (std::size_t d = 0; d < s.split.size(); ++d) {
      for (AxisId a : wanted_.list()) {
        bool scatter = s.unreduced.has(a);
        if (placed.has(a) || (scatter && !sums_)) continue;
        State next = s;
        next.split[d].push_back(a);
        next.unreduced.remove(a);
        if (!fits(next.split, d)) continue;
        std::int64_t n = mesh_.size_of(a);
        if (scatter)
          out.push_back({next,
                         {Move::Kind::ScatterReduce, {a}, static_cast<int>(d)},
                         communicating({.combine = runtime::Reduce::Sum, .split = "axis"}, bytes, n)});
        else
          out.push_back({next, {Move::Kind::Slice, {a}, static_cast<int>(d)}, {0, 0, 1}});
      }
      for (std::size_t k = kept_[d]; k < s.split[d].size(); ++k) {
        Axes tail(s.split[d].begin() + static_cast<std::ptrdiff_t>(k), s.split[d].end());
        std::int64_t n = mesh_.size_of(tail);
        State next = s;
        next.split[d].resize(k);
        out.push_back(
            {next, {Move::Kind::Gather, tail, static_cast<int>(d)}, communicating({.join = "axis"}, bytes, n)});
        for (std::size_t e = 0; e < s.split.size(); ++e) {
          if (e == d) continue;
          State moved = next;
          moved.split[e].insert(moved.split[e].end(), tail.begin(), tail.end());
          if (fits(moved.split, e))
            out.push_back({moved,
                           {Move::Kind::Exchange, tail, static_cast<int>(d), static_cast<int>(e)},
                           communicating({.split = "split", .join = "concat"}, bytes, n)});
        }
      }
    }
    permutations(s, bytes, out);
    return out;
  }

  // Every other split with as many parts in each dimension.
  void permutations(const State& s, std::int64_t bytes, std::vector<Neighbour>& out) const {
    State next = s;
    AxisSet used;
    for (std::size_t d = 0; d < s.split.size(); ++d) {
      next.split[d].resize(kept_[d]);
      used |= AxisSet::of(next.split[d]);
    }
    used |= s.unreduced;
    arrange(s, bytes, next, used, 0, out);
  }

  void arrange(const State& s, std::int64_t bytes, State& next, AxisSet used, std::size_t d,
               std::vector<Neighbour>& out) const {
    if (d == s.split.size()) {
      if (next != s) out.push_back({next, {Move::Kind::Permute, {}}, communicating({.pairs = true}, bytes, 1)});
      return;
    }
    std::int64_t want = mesh_.size_of(s.split[d]), have = mesh_.size_of(next.split[d]);
    if (have == want) return arrange(s, bytes, next, used, d + 1, out);
    for (AxisId a : involved_.list()) {
      if (used.has(a) || want % (have * mesh_.size_of(a))) continue;
      AxisSet more = used;
      more.add(a);
      next.split[d].push_back(a);
      arrange(s, bytes, next, more, d, out);
      next.split[d].pop_back();
    }
  }

  std::vector<Move> path(State s) const {
    std::vector<Move> moves;
    while (true) {
      const Reached& r = reached_.at(s);
      if (r.start) break;
      moves.push_back(r.move);
      if (r.move.kind == Move::Kind::Permute) route(r.before.split, s.split, moves.back());
      s = r.before;
    }
    std::reverse(moves.begin(), moves.end());
    return merged(std::move(moves));
  }

  // Who sends to whom. A device's place along the axes of a dimension says which block it holds; axes that only one of
  // the two layouts uses stand in for each other, so that every device sends one block and gets one.
  void route(const Split& before, const Split& after, Move& move) const {
    AxisSet old_axes, new_axes;
    std::vector<std::size_t> changed;
    for (std::size_t d = 0; d < before.size(); ++d) {
      if (before[d] == after[d]) continue;
      changed.push_back(d);
      old_axes |= AxisSet::of(before[d]);
      new_axes |= AxisSet::of(after[d]);
    }
    move.axes = (old_axes | new_axes).list();
    Axes only_new = (new_axes - old_axes).list(), only_old = (old_axes - new_axes).list();
    std::vector<std::int64_t> place(mesh_.axes.size(), 0), source(mesh_.axes.size(), 0);
    auto flat = [&](const Axes& axes, const std::vector<std::int64_t>& at) {
      std::int64_t n = 0;
      for (AxisId a : axes) n = n * mesh_.size_of(a) + at[a];
      return n;
    };
    auto spread = [&](const Axes& axes, std::int64_t n, std::vector<std::int64_t>& at) {
      for (std::size_t i = axes.size(); i-- > 0;) {
        at[axes[i]] = n % mesh_.size_of(axes[i]);
        n /= mesh_.size_of(axes[i]);
      }
    };
    for (std::int64_t to = 0; to < mesh_.size_of(move.axes); ++to) {
      spread(move.axes, to, place);
      for (std::size_t d : changed) spread(before[d], flat(after[d], place), source);
      spread(only_new, flat(only_old, place), source);
      move.pairs.emplace_back(flat(move.axes, source), to);
    }
  }

  // Neighbouring slices (and scattered sums) of one dimension are one step over several axes.
  static std::vector<Move> merged(std::vector<Move> moves) {
    std::vector<Move> out;
    for (Move& m : moves) {
      bool joins = !out.empty() && out.back().kind == m.kind && out.back().dim == m.dim &&
                   (m.kind == Move::Kind::Slice || m.kind == Move::Kind::ScatterReduce);
      if (joins)
        out.back().axes.insert(out.back().axes.end(), m.axes.begin(), m.axes.end());
      else
        out.push_back(std::move(m));
    }
    return out;
  }

  const Mesh& mesh_;
  const runtime::Shape& shape_;
  std::int64_t item_;
  State from_, to_;
  bool sums_;
  std::vector<std::size_t> kept_;  // by dimension: leading axes that both layouts have, which stay where they are
  AxisSet involved_, wanted_;
  std::map<State, Reached> reached_;
};

// Moves that bring a value of this global shape from one split to another and reduce `unreduced` (those of
// from.unreduced that to.unreduced does not keep). Axes of size 1 are ignored. Sizes divide in both layouts.
std::vector<Move> plan_moves(const Mesh& mesh, const runtime::Shape& shape, std::int64_t item_bytes,
                             const Sharding& from, const Sharding& to) {
  auto state = [&](const Sharding& s, AxisSet unreduced) {
    State out;
    out.split.resize(shape.size());
    for (std::size_t d = 0; d < shape.size() && d < s.dims.size(); ++d)
      for (AxisId a : s.dims[d].axes)
        if (mesh.size_of(a) > 1) out.split[d].push_back(a);
    out.unreduced = unreduced;
    return out;
  };
  State a = state(from, mesh.real(from.unreduced - to.unreduced)), b = state(to, {});
  if (a == b) return {};
  return Search(mesh, shape, item_bytes, std::move(a), std::move(b), from.unreduced_kind == runtime::UnreducedKind::Sum)
      .run();
}

// Makes nodes of a plan of moves.
class Emitter {
 public:
  Emitter(ir::Builder& b, const ir::Type& global, const Mesh& mesh, runtime::UnreducedKind kind)
      : b_(b), core_(b.core()), global_(global), rank_(static_cast<std::int64_t>(global.shape.size())), kind_(kind) {
    mesh_ref_ =
        global.mesh && runtime::same_devices(*global.mesh, mesh) ? global.mesh : std::make_shared<const Mesh>(mesh);
    if (b.graph().mesh) mesh_ref_ = b.graph().mesh;
  }

  Var move(Var x, const Move& m) {
    switch (m.kind) {
      case Move::Kind::Slice: return b_.emit1(*core_.own_slice, {x}, along(m.axes, m.dim));
      case Move::Kind::Gather: {
        ir::Attrs attrs = along(m.axes, m.dim);
        attrs.set("tiled", true);
        attrs.set("to", std::string("same"));
        return b_.emit1(*core_.all_gather, {x}, std::move(attrs));
      }
      case Move::Kind::ScatterReduce: {
        ir::Attrs attrs = along(m.axes, m.dim);
        attrs.set("tiled", true);
        return b_.emit1(*core_.psum_scatter, {x}, std::move(attrs));
      }
      case Move::Kind::Exchange: {
        ir::Attrs attrs = over(m.axes);
        attrs.set("split", m.to - rank_);
        attrs.set("concat", m.dim - rank_);
        attrs.set("tiled", true);
        return b_.emit1(*core_.all_to_all, {x}, std::move(attrs));
      }
      case Move::Kind::Permute: {
        ir::Attrs attrs = over(m.axes);
        attrs.set("pairs", m.pairs);
        return b_.emit1(*core_.ppermute, {x}, std::move(attrs));
      }
      case Move::Kind::Reduce: {
        const ir::OpDef* row = kind_ == runtime::UnreducedKind::Sum   ? core_.psum
                               : kind_ == runtime::UnreducedKind::Max ? core_.pmax
                                                                      : core_.pmin;
        return b_.emit1(*row, {x}, over(m.axes));
      }
    }
    return x;
  }

  // The first device along the axes keeps x, the others have zeros.
  Var keep_first(Var x, const Axes& axes) {
    Var here =
        ir::broadcast_to(b_, b_.emit1(*core_.eq, {position(axes), ir::constant_int(b_, 0)}, {}), b_.type(x).shape);
    return ir::select(b_, here, x, zeros(b_.type(x).shape));
  }

  // A block of dimension `dim` that was split by `axis` (its last one), in its place among zeros.
  Var place(Var x, int dim, AxisId axis, std::int64_t n) {
    runtime::Shape shape = b_.type(x).shape, more = shape, out = shape;
    auto d = static_cast<std::size_t>(dim);
    more.insert(more.begin() + dim, 1);
    out[d] *= n;
    Var block = ir::reshape(b_, x, more);
    more[d] = n;
    block = ir::broadcast_to(b_, block, more);
    ir::Attrs attrs{{"shape", ir::Ints{n}}, {"axis", std::int64_t{-1}}, {"dtype", runtime::DType::I32}};
    Var which = b_.emit1(*core_.iota, {}, std::move(attrs));
    Var here = b_.emit1(*core_.eq, {which, ir::broadcast_to(b_, position({axis}), {n})}, {});
    runtime::Shape column(more.size(), 1);
    column[d] = n;
    here = ir::broadcast_to(b_, ir::reshape(b_, here, column), more);
    return ir::reshape(b_, ir::select(b_, here, block, zeros(more)), out);
  }

 private:
  ir::Attrs over(const Axes& axes) const {
    return {{"axes", ir::Ints(axes.begin(), axes.end())}, {"mesh", ir::Layout{mesh_ref_, {}}}, {"written", false}};
  }
  ir::Attrs along(const Axes& axes, int dim) const {
    ir::Attrs attrs = over(axes);
    attrs.set("axis", dim - rank_);
    return attrs;
  }
  Var position(const Axes& axes) { return b_.emit(*core_.axis_index, std::span<const Var>{}, over(axes)).at(0); }
  Var zeros(const runtime::Shape& shape) {
    return ir::broadcast_to(b_, ir::constant(b_, 0, global_.dtype, global_.weak), shape);
  }

  ir::Builder& b_;
  const ir::CoreOps& core_;
  const ir::Type& global_;
  std::int64_t rank_;
  runtime::UnreducedKind kind_;
  runtime::MeshRef mesh_ref_;
};

}  // namespace

Var reshard(ir::Builder& b, Var x, const ir::Type& global, const Mesh& mesh, const Sharding& from, const Sharding& to) {
  Emitter emit(b, global, mesh, from.unreduced_kind);
  Sharding now = from;
  Axes fresh;  // axes that become unreduced and are not split: masked at the end
  for (AxisId a : (to.unreduced - from.unreduced).list()) {
    if (mesh.size_of(a) == 1) continue;
    bool placed = false;
    for (std::size_t d = 0; d < now.dims.size(); ++d) {
      Axes& axes = now.dims[d].axes;
      if (axes.empty() || axes.back() != a) continue;
      x = emit.place(x, static_cast<int>(d), a, mesh.size_of(a));
      axes.pop_back();
      now.unreduced.add(a);
      placed = true;
    }
    if (!placed) fresh.push_back(a);
  }
  auto item = static_cast<std::int64_t>(runtime::size_of(global.dtype));
  for (const Move& m : plan_moves(mesh, global.shape, item, now, to)) x = emit.move(x, m);
  return fresh.empty() ? x : emit.keep_first(x, fresh);
}

}  // namespace shard::transform
