// Windows over split dimensions. Sources send whole runs of their blocks, equal on all devices that send in one step;
// the device that gets them cuts out its own window, at a place that depends on its position.
#include "stdlib/ops/moving/halo.h"

#include <algorithm>

#include "interpreter/transform/uneven.h"
#include "stdlib/ops/moving/moving_steps.h"

namespace shard::stdlib {
namespace {

std::int64_t from_last(const Builder& b, Var x, const SplitDim& s) {
  return static_cast<std::int64_t>(s.dim) - b.type(x).rank();
}

std::int64_t block_of(const Builder& b, Var x, const SplitDim& s) { return b.type(x).shape[s.dim]; }

Var run_of(Builder& b, Var x, const SplitDim& s, std::int64_t from, std::int64_t to) {
  return part_of(b, x, from_last(b, x, s), from, to);
}

Var sent(Builder& b, Var x, const SplitDim& s, const Pairs& pairs) {
  if (std::all_of(pairs.begin(), pairs.end(), [](auto p) { return p.first == p.second; })) return x;
  Attrs attrs = over_devices(b, s.axes);
  attrs.set("pairs", pairs);
  return b.emit1(*b.core().ppermute, {x}, std::move(attrs));
}

// Device i's window: `count` elements from `first + i * step` on, of a dimension of `size` in blocks.
struct Windows {
  std::int64_t devices, block, size, first, step, count;
  std::int64_t begin(std::int64_t i) const { return first + i * step; }
  std::int64_t end(std::int64_t i) const { return std::min(begin(i) + count, size); }  // of what there is of it
  bool matters(std::int64_t i) const { return end(i) > std::max<std::int64_t>(begin(i), 0); }
  std::int64_t first_block(std::int64_t i) const { return std::max<std::int64_t>(begin(i), 0) / block; }
  std::int64_t last_block(std::int64_t i) const { return (end(i) - 1) / block; }
};

// One step: who sends to whom, and which run of its block.
struct Step {
  Pairs pairs;
  std::int64_t from = 0, to = 0;
};

// hops[h][t] brings block `base + h` to the devices i of i % rounds == t: one block may serve several devices, one
// after the other. The runs of the hops, one behind the other, hold what there is of the window.
struct Route {
  std::optional<std::int64_t> near;  // the base: so far from the device's own block; else the window's first block
  std::vector<std::vector<Step>> hops = {};
  std::int64_t rounds = 1, sent = 0;  // sent: elements along the dimension, by one device
  std::int64_t base(const Windows& w, std::int64_t i) const { return near ? i + *near : w.first_block(i); }
  // Where the window begins, counted from its base; before it where the window begins before the whole does.
  std::int64_t offset(const Windows& w, std::int64_t i) const { return w.begin(i) - base(w, i) * w.block; }
};

Route routed(const Windows& w, std::optional<std::int64_t> near) {
  Route r{near};
  std::int64_t hops = 0, in_a_row = 0, least = w.block, most = 0;
  for (std::int64_t i = 0; i < w.devices; ++i) {
    if (!w.matters(i)) continue;
    in_a_row = i > 0 && w.matters(i - 1) && r.base(w, i) == r.base(w, i - 1) ? in_a_row + 1 : 1;
    r.rounds = std::max(r.rounds, in_a_row);
    hops = std::max(hops, w.last_block(i) - r.base(w, i));
    least = std::min(least, std::max<std::int64_t>(r.offset(w, i), 0));
  }
  for (std::int64_t i = 0; i < w.devices; ++i)
    if (w.matters(i) && w.last_block(i) - r.base(w, i) == hops)
      most = std::max(most, w.end(i) - w.last_block(i) * w.block);
  for (std::int64_t h = 0; h <= hops; ++h) {
    std::vector<Step> steps(static_cast<std::size_t>(r.rounds));
    std::int64_t length = 0;
    for (std::int64_t t = 0; t < r.rounds; ++t) {
      Step& s = steps[static_cast<std::size_t>(t)];
      s.from = h == 0 ? least : 0;
      s.to = h == hops ? most : w.block;
      if (hops == 0) s = {{}, w.block, 0};  // each round a run of its own
      for (std::int64_t i = t; i < w.devices; i += r.rounds) {
        const std::int64_t from = r.base(w, i) + h;
        if (!w.matters(i) || from < w.first_block(i) || from > w.last_block(i)) continue;
        s.pairs.emplace_back(from, i);
        if (hops == 0) {
          s.from = std::min(s.from, std::max<std::int64_t>(r.offset(w, i), 0));
          s.to = std::max(s.to, w.end(i) - from * w.block);
        }
      }
      length = std::max(length, s.to - s.from);
    }
    for (Step& s : steps) {
      if (hops == 0) {  // all equally long
        s.from = std::min(s.from, w.block - length);
        s.to = s.from + length;
      }
      if (std::any_of(s.pairs.begin(), s.pairs.end(), [](auto p) { return p.first != p.second; }))
        r.sent += s.to - s.from;
    }
    r.hops.push_back(std::move(steps));
  }
  return r;
}

// Block by block from where each window begins; or from the device's own block and its neighbours', of which most often
// only the edges are sent.
Route route(const Windows& w) {
  std::optional<std::int64_t> near;
  for (std::int64_t i = 0; i < w.devices; ++i)
    if (w.matters(i)) near = std::min(near.value_or(w.devices), w.first_block(i) - i);
  Route from_begin = routed(w, std::nullopt), from_own = routed(w, near.value_or(0));
  return from_own.sent <= from_begin.sent ? from_own : from_begin;
}

// x with so many elements more before and behind, any numbers.
Var extended(Builder& b, Var x, const SplitDim& s, std::int64_t before, std::int64_t behind) {
  if (before == 0 && behind == 0) return x;
  Pairs widths(static_cast<std::size_t>(-from_last(b, x, s)), {0, 0});
  widths[0] = {before, behind};
  return b.emit1(*b.core().pad, {x, ir::constant(b, 0, b.type(x).dtype, b.type(x).weak)}, {{"widths", widths}});
}

// The window out of a run that holds it, `start` elements behind its beginning on device 0, 1, ...
Var cut_out(Builder& b, Var x, const SplitDim& s, const std::vector<std::int64_t>& starts, Var start,
            std::int64_t count) {
  if (std::all_of(starts.begin(), starts.end(), [&](auto at) { return at == starts[0]; }))
    return run_of(b, x, s, starts[0], starts[0] + count);
  return b.emit1(*b.core().dynamic_slice, {x, start}, {{"axes", Ints{from_last(b, x, s)}}, {"sizes", Ints{count}}});
}

// Gathered whole, for windows that would need as much anyway.
Var window_of_all(Builder& b, Var x, const SplitDim& s, std::int64_t first, std::int64_t step, std::int64_t count) {
  Var all = gathered(b, x, s);
  const std::int64_t last = first + (s.devices - 1) * step + count;
  const std::int64_t before = std::max<std::int64_t>(-first, 0);
  all = extended(b, all, s, before, std::max<std::int64_t>(last - s.size, 0));
  Expr at = Expr{b, device_position(b, s.axes)} * static_cast<double>(step) + static_cast<double>(first + before);
  std::vector<std::int64_t> starts;
  for (std::int64_t i = 0; i < s.devices; ++i) starts.push_back(first + before + i * step);
  return cut_out(b, all, s, starts, at, count);
}

}  // namespace

std::optional<SplitDim> split_dim(const ir::LocalCall& c, std::size_t operand, std::size_t dim) {
  const ir::DimFactors& factors = c.rule.operands[operand][dim];
  if (factors.size() != 1 || c.axes[static_cast<std::size_t>(factors[0])].empty()) return std::nullopt;
  SplitDim s{dim, c.axes[static_cast<std::size_t>(factors[0])], 1, c.call.in[operand].shape[dim]};
  for (auto a : s.axes) s.devices *= c.mesh.size_of(a);
  return s;
}

Var gathered(Builder& b, Var x, const SplitDim& s) {
  Attrs attrs = over_devices(b, s.axes);
  attrs.set("axis", from_last(b, x, s));
  attrs.set("tiled", true);
  attrs.set("to", std::string("same"));
  return run_of(b, b.emit1(*b.core().all_gather, {x}, std::move(attrs)), s, 0, s.size);
}

Var kept(Builder& b, Var x, const SplitDim& s) {
  Attrs attrs = over_devices(b, s.axes);
  attrs.set("axis", from_last(b, x, s));
  x = extended(b, x, s, 0, s.devices * s.block_of(s.size) - s.size);
  return b.emit1(*b.core().own_slice, {x}, std::move(attrs));
}

Var ended(Builder& b, Var x, const SplitDim& s, FactorReduce how) {
  return transform::filled(b, x, {s.dim, s.axes, s.size}, how);
}

Var edges_added(Builder& b, Var x, const SplitDim& s, std::int64_t before) {
  const std::int64_t block = s.block_of(s.size), reach = block_of(b, x, s);
  std::optional<Expr> all;
  for (std::int64_t far = -(s.devices - 1); far < s.devices; ++far) {  // from the device `far` behind
    const std::int64_t at = before - far * block;                      // where this block begins in its sums
    const std::int64_t from = std::max<std::int64_t>(at, 0), to = std::min(reach, at + block);
    if (from >= to) continue;
    Pairs pairs;
    for (std::int64_t i = std::max<std::int64_t>(-far, 0); i < std::min(s.devices, s.devices - far); ++i)
      pairs.emplace_back(i + far, i);
    const Expr part{b, extended(b, sent(b, run_of(b, x, s, from, to), s, pairs), s, from - at, at + block - to)};
    all = all ? *all + part : part;
  }
  return *all;
}

// Places of each device's window: `count` from `first + i * step` on, among other dimensions of size 1.
static Expr places_of(Builder& b, const SplitDim& s, std::size_t rank, std::int64_t first, std::int64_t step,
                      std::int64_t count) {
  Expr here = positions_along(b, count, rank, static_cast<std::int64_t>(s.dim) - static_cast<std::int64_t>(rank));
  Expr begin = Expr{b, device_position(b, s.axes)} * static_cast<double>(step);
  if (first != 0) begin = begin + static_cast<double>(first);
  return here + Expr{b, ir::broadcast_to(b, begin, here.type().shape)};
}

Var positions_of(Builder& b, const SplitDim& s, std::size_t rank, std::int64_t block) {
  return places_of(b, s, rank, 0, block, block);
}

Var window(Builder& b, Var x, const SplitDim& s, std::int64_t first, std::int64_t step, std::int64_t count) {
  const Windows w{s.devices, block_of(b, x, s), s.size, first, step, count};
  const Route r = route(w);
  if (r.sent >= w.devices * w.block) return window_of_all(b, x, s, first, step, count);
  const auto step_of = [&](std::size_t hop, std::int64_t t) -> const Step& {
    return r.hops[hop][static_cast<std::size_t>(t)];
  };
  Expr me{b, device_position(b, s.axes)};
  const auto is_round = [&](std::int64_t t) {
    return eq(call("mod", {me, me.number(static_cast<double>(r.rounds))}), static_cast<double>(t));
  };
  Vars parts;
  for (std::size_t h = 0; h < r.hops.size(); ++h) {
    Var got;
    for (std::int64_t t = 0; t < r.rounds; ++t) {
      Var run = sent(b, run_of(b, x, s, step_of(h, t).from, step_of(h, t).to), s, step_of(h, t).pairs);
      got = t == 0 ? run : ir::select(b, ir::broadcast_to(b, is_round(t), b.type(run).shape), run, got);
    }
    parts.push_back(got);
  }
  Var run = join_parts(b, parts, from_last(b, x, s));
  // What windows show beyond both ends of the whole may stand beyond those of the run.
  std::int64_t before = 0, behind = 0;
  std::vector<std::int64_t> starts;
  for (std::int64_t i = 0; i < s.devices; ++i) {
    if (!w.matters(i)) continue;
    starts.push_back(r.offset(w, i) - step_of(0, i % r.rounds).from);
    before = std::max(before, -starts.back());
    behind = std::max(behind, starts.back() + count - block_of(b, run, s));
  }
  if (starts.empty()) starts.push_back(0), behind = std::max<std::int64_t>(count - block_of(b, run, s), 0);
  for (auto& at : starts) at += before;
  Expr begin = me * static_cast<double>(step) + static_cast<double>(first);
  Expr offset = begin;
  if (r.near)
    offset = begin - (me + static_cast<double>(*r.near)) * static_cast<double>(w.block);
  else
    offset = select(lt(begin, 0.0), begin, call("mod", {begin, begin.number(static_cast<double>(w.block))}));
  Expr from = offset.number(static_cast<double>(step_of(0, 0).from - before));
  for (std::int64_t t = 1; t < r.rounds; ++t)
    from = select(is_round(t), from.number(static_cast<double>(step_of(0, t).from - before)), from);
  return cut_out(b, extended(b, run, s, before, behind), s, starts, offset - from, count);
}

Var window_of_zeros(Builder& b, Var x, const SplitDim& s, std::int64_t first, std::int64_t step, std::int64_t count,
                    double beyond) {
  Expr shown{b, window(b, x, s, first, step, count)};
  if (first >= 0 && first + (s.devices - 1) * step + count <= s.size) return shown;
  const Shape shape = shown.type().shape;
  Expr at = places_of(b, s, shape.size(), first, step, count);
  Expr real = both(ge(at, 0.0), lt(at, static_cast<double>(s.size)));
  return select({b, ir::broadcast_to(b, real, shape)}, shown, beyond);
}

Var rolled(Builder& b, Var x, const SplitDim& s, std::int64_t by) {
  const std::int64_t block = block_of(b, x, s), blocks = by / block, rest = by % block;
  if (block * s.devices != s.size) {  // what goes round the end does not come from the blocks before alone
    Expr at{b, positions_of(b, s, b.type(x).shape.size(), block)};
    Expr on{b, window(b, x, s, -by, block, block)}, round{b, window(b, x, s, s.size - by, block, block)};
    return ir::select(b, ir::broadcast_to(b, lt(at, static_cast<double>(by)), on.type().shape), round, on);
  }
  const auto from = [&](std::int64_t hops, std::int64_t begin, std::int64_t end) {
    Pairs pairs;
    for (std::int64_t i = 0; i < s.devices; ++i) pairs.emplace_back(i, (i + hops) % s.devices);
    return sent(b, run_of(b, x, s, begin, end), s, pairs);
  };
  if (rest == 0) return from(blocks, 0, block);
  return join_parts(b, {from(blocks + 1, block - rest, block), from(blocks, 0, block - rest)}, from_last(b, x, s));
}

Var reversed(Builder& b, Var x, const SplitDim& s) {
  Pairs pairs;
  for (std::int64_t i = 0; i < s.devices; ++i) pairs.emplace_back(i, s.devices - 1 - i);
  const std::int64_t block = block_of(b, x, s), padding = block * s.devices - s.size;
  x = b.emit1(*b.core().rev, {sent(b, x, s, pairs)}, {{"axes", Ints{from_last(b, x, s)}}});
  if (padding == 0) return x;
  SplitDim all = s;  // it has come to the front
  all.size = block * s.devices;
  return window(b, x, all, padding, block, block);
}

}  // namespace shard::stdlib
