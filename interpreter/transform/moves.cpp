#include "interpreter/transform/moves.h"

#include <algorithm>
#include <map>
#include <queue>
#include <stdexcept>
#include <tuple>

#include "interpreter/ir/collective.h"

namespace shard::transform {
namespace {

using Split = std::vector<Axes>;

struct State {
  Split split;
  std::uint32_t unreduced = 0;  // axes over which a reduction is still to be done
  bool operator<(const State& o) const { return std::tie(split, unreduced) < std::tie(o.split, o.unreduced); }
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
    std::uint32_t unreduced = from_.unreduced;
    auto reduce = [&] {
      if (unreduced) moves.push_back({Move::Kind::Reduce, list(unreduced)});
      unreduced = 0;
    };
    if (!sums_) reduce();
    for (std::size_t d = 0; d < shape_.size(); ++d)
      for (std::size_t i = kept_[d]; i < to_.split[d].size(); ++i) {
        AxisId a = to_.split[d][i];
        bool scatter = unreduced >> a & 1u;
        unreduced &= ~(1u << a);
        moves.push_back({scatter ? Move::Kind::ScatterReduce : Move::Kind::Slice, {a}, static_cast<int>(d)});
      }
    reduce();
    return merged(std::move(moves));
  }

  std::int64_t count(const Axes& axes) const { return parts(mesh_, axes); }
  static Axes list(std::uint32_t bits) {
    Axes out;
    for (AxisId a = 0; bits >> a; ++a)
      if (bits >> a & 1u) out.push_back(a);
    return out;
  }
  std::int64_t local_bytes(const State& s) const {
    double n = static_cast<double>(item_);
    for (std::size_t d = 0; d < shape_.size(); ++d)
      n *= static_cast<double>(shape_[d]) / static_cast<double>(count(s.split[d]));
    return static_cast<std::int64_t>(std::min(n, 1e15));
  }
  bool fits(const Split& split, std::size_t d) const { return shape_[d] % count(split[d]) == 0; }

  std::vector<Neighbour> neighbours(const State& s) const {
    std::vector<Neighbour> out;
    std::int64_t bytes = local_bytes(s);
    AxisSet placed;
    for (const auto& axes : s.split)
      for (AxisId a : axes) placed.add(a);
    if (s.unreduced) {
      Axes all = list(s.unreduced);
      std::int64_t n = count(all);
      State next = s;
      next.unreduced = 0;
      out.push_back({next, {Move::Kind::Reduce, all}, communicating({.combine = runtime::Reduce::Sum}, bytes, n)});
    }
    for (std::size_t d = 0; d < s.split.size(); ++d) {
      for (AxisId a : wanted_.list()) {
        bool scatter = s.unreduced >> a & 1u;
        if (placed.has(a) || (scatter && !sums_)) continue;
        State next = s;
        next.split[d].push_back(a);
        next.unreduced &= ~(1u << a);
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
        std::int64_t n = count(tail);
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
      for (AxisId a : next.split[d]) used.add(a);
    }
    for (AxisId a : list(s.unreduced)) used.add(a);
    arrange(s, bytes, next, used, 0, out);
  }

  void arrange(const State& s, std::int64_t bytes, State& next, AxisSet used, std::size_t d,
               std::vector<Neighbour>& out) const {
    if (d == s.split.size()) {
      if (next != s) out.push_back({next, {Move::Kind::Permute, {}}, communicating({.pairs = true}, bytes, 1)});
      return;
    }
    std::int64_t want = count(s.split[d]), have = count(next.split[d]);
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
      for (AxisId a : before[d]) old_axes.add(a);
      for (AxisId a : after[d]) new_axes.add(a);
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
    for (std::int64_t to = 0; to < count(move.axes); ++to) {
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

}  // namespace

std::vector<Move> plan_moves(const Mesh& mesh, const runtime::Shape& shape, std::int64_t item_bytes,
                             const Sharding& from, const Sharding& to) {
  auto state = [&](const Sharding& s, std::uint32_t unreduced) {
    State out;
    out.split.resize(shape.size());
    for (std::size_t d = 0; d < shape.size() && d < s.dims.size(); ++d)
      for (AxisId a : s.dims[d].axes)
        if (mesh.size_of(a) > 1) out.split[d].push_back(a);
    out.unreduced = unreduced;
    return out;
  };
  std::uint32_t unreduced = 0;
  for (AxisId a : (from.unreduced - to.unreduced).list())
    if (mesh.size_of(a) > 1) unreduced |= 1u << a;
  State a = state(from, unreduced), b = state(to, 0);
  if (a == b) return {};
  return Search(mesh, shape, item_bytes, std::move(a), std::move(b), from.unreduced_kind == runtime::UnreducedKind::Sum)
      .run();
}

}  // namespace shard::transform
