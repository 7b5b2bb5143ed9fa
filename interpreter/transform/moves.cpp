// How a value gets from one layout to another: the cheapest sequence of moves, found by a search over layouts (A* on
// the bytes that one device gives, then on the number of steps).
#include "interpreter/transform/moves.h"

#include <algorithm>
#include <map>
#include <queue>
#include <tuple>
#include <utility>

#include "interpreter/ir/collective.h"

namespace shard::transform {
namespace {

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

class Search {
 public:
  Search(const Mesh& mesh, const runtime::Shape& shape, std::int64_t item, State from, State to, bool sums)
      : mesh_(mesh), shape_(shape), item_(item), from_(std::move(from)), to_(std::move(to)), sums_(sums) {
    kept_.resize(shape_.size());
    for (std::size_t d = 0; d < shape_.size(); ++d) {
      const Axes &a = from_.split[d], &b = to_.split[d];
      kept_[d] = static_cast<std::size_t>(common(from_.split, d));
      wanted_.insert(wanted_.end(), b.begin() + static_cast<std::ptrdiff_t>(kept_[d]), b.end());
      for (std::size_t i = kept_[d]; i < a.size(); ++i) involved_.add(a[i]);
    }
    const AxisSet leaving = involved_ - AxisSet::of(wanted_);
    involved_ |= AxisSet::of(wanted_);
    every_way_ = involved_.count() <= 4;
    least_ = local_bytes(to_) / mesh_.size_of(leaving);
  }

  std::vector<Move> run() {
    constexpr int kMost = 4000;  // steps that are looked at before the rest is gathered
    using Entry = std::tuple<Cost, Cost, int, const Known*>;
    std::priority_queue<Entry, std::vector<Entry>, std::greater<>> open;
    int order = 0, looked = 0;
    const Known* best = &*reached_.emplace(from_, Way{}).first;
    Cost most = price_of_rest(from_);
    if (grows(from_)) return path(*best);
    open.emplace(ahead(from_), Cost{}, order++, best);
    while (!open.empty() && (every_way_ || looked < kMost)) {
      auto [unused, cost, number, known] = open.top();
      open.pop();
      const auto& [state, way] = *known;
      if (way.cost < cost) continue;
      if (state == to_) return path(*known);
      for (auto& [next, move, step] : neighbours(state)) {
        ++looked;
        const Cost total = cost + step, least = total + ahead(next);
        if (least > most) continue;
        auto [it, fresh] = reached_.try_emplace(std::move(next));
        if (!fresh && !(total < it->second.cost)) continue;
        it->second = {total, known, std::move(move)};
        open.emplace(least, total, order++, &*it);
        if (const Cost end = total + price_of_rest(it->first); end < most) most = end, best = &*it;
      }
    }
    return path(*best);
  }

 private:
  struct Neighbour {
    State state;
    Move move;
    Cost cost;
  };
  struct Way;
  using Known = std::pair<const State, Way>;
  struct Way {
    Cost cost;
    const Known* before = nullptr;  // null: the start
    Move move;
  };

  // Axes of dimension d that are as in the target, from the first one on.
  std::ptrdiff_t common(const Split& split, std::size_t d) const {
    const Axes &a = split[d], &b = to_.split[d];
    return std::mismatch(a.begin(), a.end(), b.begin(), b.end()).first - a.begin();
  }
  std::int64_t astray(const Split& split, std::size_t d) const {  // parts by the others
    std::int64_t n = 1;
    for (auto a = split[d].begin() + common(split, d); a != split[d].end(); ++a) n *= mesh_.size_of(*a);
    return n;
  }

  // Nothing is to be gathered or moved.
  bool grows(const State& s) const {
    for (std::size_t d = 0; d < shape_.size(); ++d)
      if (astray(s.split, d) > 1) return false;
    return true;
  }

  // From anywhere: what is not as in the target is gathered; the rest are slices, and reductions that are scattered
  // where their axes are wanted.
  std::vector<Move> rest(const State& s) const {
    std::vector<Move> moves;
    AxisSet unreduced = s.unreduced;
    auto reduce = [&] {
      if (!unreduced.empty()) moves.push_back({Move::Kind::Reduce, unreduced.list()});
      unreduced = {};
    };
    if (!sums_ || !grows(s)) reduce();
    for (std::size_t d = 0; d < shape_.size(); ++d)
      if (astray(s.split, d) > 1)
        moves.push_back(
            {Move::Kind::Gather, {s.split[d].begin() + common(s.split, d), s.split[d].end()}, static_cast<int>(d)});
    for (std::size_t d = 0; d < shape_.size(); ++d)
      for (auto i = static_cast<std::size_t>(common(s.split, d)); i < to_.split[d].size(); ++i) {
        AxisId a = to_.split[d][i];
        bool scatter = unreduced.has(a);
        unreduced.remove(a);
        moves.push_back({scatter ? Move::Kind::ScatterReduce : Move::Kind::Slice, {a}, static_cast<int>(d)});
      }
    reduce();
    return moves;
  }
  // At most; several steps for slices.
  Cost price_of_rest(const State& s) const {
    const std::int64_t bytes = local_bytes(s), n = mesh_.size_of(s.unreduced);
    Cost out{0, 0, static_cast<int>(wanted_.size())};
    if (n > 1) out = out + communicating({.combine = runtime::Reduce::Sum}, bytes, n);
    std::int64_t parts = 1;
    for (std::size_t d = 0; d < shape_.size(); ++d)
      if (const std::int64_t tail = astray(s.split, d); tail > 1)
        out = out + communicating({.join = "axis"}, bytes * std::exchange(parts, parts * tail), tail);
    return out;
  }

  // What is still to be sent, at least: an axis that is astray leaves its dimension, alone or by a permutation of all,
  // after which only what the target has no place for leaves. Gathers send what a value grows by.
  Cost ahead(const State& s) const {
    auto leaves = [&](std::int64_t n) { return Cost{least_ / n * (n - 1), 1, 1}; };
    Cost alone, permuted, out;
    for (std::size_t d = 0; d < shape_.size(); ++d) {
      const std::int64_t tail = astray(s.split, d);
      if (tail == 1) continue;
      alone = alone + leaves(tail);
      const std::int64_t extra = mesh_.size_of(s.split[d]) / mesh_.size_of(to_.split[d]);
      if (extra > 1) permuted = permuted + leaves(extra);
    }
    if (alone.steps > 0) {
      const std::int64_t growth = local_bytes(to_) - local_bytes(s);
      alone.sent = std::max(alone.sent, growth);
      permuted.sent = std::max(permuted.sent, growth);
      out = std::min(alone, permuted + Cost{least_, 1, 1});
    }
    return s.unreduced.empty() ? out : out + leaves(mesh_.size_of(s.unreduced));
  }

  std::int64_t local_bytes(const State& s) const {
    double n = static_cast<double>(item_);
    for (std::size_t d = 0; d < shape_.size(); ++d)
      n *= static_cast<double>(shape_[d]) / static_cast<double>(mesh_.size_of(s.split[d]));
    return static_cast<std::int64_t>(std::min(n, 1e15));
  }
  bool fits(const Split& split, std::size_t d) const { return shape_[d] % mesh_.size_of(split[d]) == 0; }

  // Of these axes the ones to try at the end of `axes`, dimension d. Where there are many, the target's next one, and
  // one of each size: they are as good as each other until a permutation.
  Axes candidates(const Axes& axes, std::size_t d, AxisSet among, AxisSet unreduced) const {
    if (every_way_) return among.list();
    Axes out;
    std::vector<std::int64_t> sizes;
    auto offer = [&](AxisId a) {
      const std::int64_t n = unreduced.has(a) ? -mesh_.size_of(a) : mesh_.size_of(a);
      if (!among.has(a) || std::find(sizes.begin(), sizes.end(), n) != sizes.end()) return;
      sizes.push_back(n);
      out.push_back(a);
    };
    const Axes& target = to_.split[d];
    if (axes.size() < target.size() && std::equal(axes.begin(), axes.end(), target.begin())) offer(target[axes.size()]);
    for (AxisId a : (among - AxisSet::of(wanted_)).list()) offer(a);
    for (AxisId a : target) offer(a);
    for (AxisId a : wanted_) offer(a);
    return out;
  }

  std::vector<Neighbour> neighbours(const State& s) const {
    std::vector<Neighbour> out;
    std::int64_t bytes = local_bytes(s);
    AxisSet free = AxisSet::of(wanted_);
    for (const auto& axes : s.split) free = free - AxisSet::of(axes);
    if (!sums_) free = free - s.unreduced;
    if (!s.unreduced.empty()) {
      Axes all = s.unreduced.list();
      std::int64_t n = mesh_.size_of(all);
      State next = s;
      next.unreduced = {};
      out.push_back({next, {Move::Kind::Reduce, all}, communicating({.combine = runtime::Reduce::Sum}, bytes, n)});
    }
    for (std::size_t d = 0; d < s.split.size(); ++d) {
      for (AxisId a : candidates(s.split[d], d, free, s.unreduced)) {
        State next = s;
        next.split[d].push_back(a);
        next.unreduced.remove(a);
        if (!fits(next.split, d)) continue;
        if (s.unreduced.has(a))
          out.push_back({next,
                         {Move::Kind::ScatterReduce, {a}, static_cast<int>(d)},
                         communicating({.combine = runtime::Reduce::Sum, .split = "axis"}, bytes, mesh_.size_of(a))});
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
    State next = s;
    for (std::size_t d = 0; d < s.split.size(); ++d) next.split[d].resize(kept_[d]);
    arrange(s, bytes, next, involved_ - s.unreduced, 0, out);
    return out;
  }

  // Other splits with as many parts in each dimension: every one, or the one that is nearest to the target.
  bool arrange(const State& s, std::int64_t bytes, State& next, AxisSet among, std::size_t d,
               std::vector<Neighbour>& out) const {
    if (d == s.split.size()) {
      if (next != s) out.push_back({next, {Move::Kind::Permute, {}}, communicating({.pairs = true}, bytes, 1)});
      return !every_way_;
    }
    std::int64_t want = mesh_.size_of(s.split[d]), have = mesh_.size_of(next.split[d]);
    if (have == want) return arrange(s, bytes, next, among, d + 1, out);
    for (AxisId a : candidates(next.split[d], d, among, {})) {
      if (want % (have * mesh_.size_of(a))) continue;
      AxisSet others = among;
      others.remove(a);
      next.split[d].push_back(a);
      if (arrange(s, bytes, next, others, d, out)) return true;
      next.split[d].pop_back();
    }
    return false;
  }

  // To this one, and on by what rest() says.
  std::vector<Move> path(const Known& end) const {
    std::vector<Move> moves;
    for (const Known* at = &end; const Known* before = at->second.before; at = before) {
      moves.push_back(at->second.move);
      if (moves.back().kind == Move::Kind::Permute) route(before->first.split, at->first.split, moves.back());
    }
    std::reverse(moves.begin(), moves.end());
    for (Move& m : rest(end.first)) moves.push_back(std::move(m));
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
  AxisSet involved_;               // the others
  Axes wanted_;                    // those that the target has
  bool every_way_;                 // few axes: every arrangement is tried
  std::int64_t least_;             // bytes of the smallest block on the way
  std::map<State, Way> reached_;
};

}  // namespace

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

}  // namespace shard::transform
