// Reductions and the index of the extreme. The order of a reduction is a fixed tree: runs of 1,024 elements (or blocks
// of 16 rows), joined two by two, a whole subtree to a task. It depends on the shape alone, so bits do not depend on
// the threads. Inputs whose inner dimension is not dense are packed first.
#include "runtime/kernels/reduction.h"

#include <algorithm>
#include <bit>
#include <cstring>
#include <limits>
#include <memory>
#include <vector>

#include "runtime/array/half.h"
#include "runtime/kernels/leaves.h"
#include "runtime/kernels/nest.h"
#include "runtime/kernels/reduce_plan.h"
#include "runtime/kernels/spread.h"

namespace shard::runtime {
namespace {

constexpr std::int64_t kReduceColumns = 1024;   // a tile of columns: whole pages are read one after the other
constexpr std::int64_t kRows = Leaves::kLines;  // rows added one after the other
constexpr std::int64_t kSubtree = 64;  // leaves that one task joins; a power of two, so that tasks are whole subtrees
constexpr std::int64_t kReduceWork = 32 * 1024;  // elements a task should have at least
constexpr std::int64_t kShortLine = 64;          // of fewer elements a call for each takes most of the time

struct ReduceJob {
  const ReducePlan& p;
  const Nest<1>&kept, &reduced;  // dimensions of the input, merged
  const unsigned char* data;
  unsigned char* out;
};

void store_result(const ReduceJob& job, const unsigned char* wide, std::int64_t at, std::int64_t n) {
  if (job.p.store)
    job.p.store(wide, nullptr, nullptr, job.out + static_cast<std::size_t>(at) * job.p.item, n);
  else
    std::memcpy(job.out + static_cast<std::size_t>(at) * job.p.item, wide, static_cast<std::size_t>(n) * job.p.item);
}

// ---- the reduced elements lie in dense lines
void run_leaf(const ReducePlan& p, const unsigned char* data, std::int64_t n, unsigned char* result) {
  if (!p.load) return p.run(data, n, result);
  float buffer[kReduceRun];
  p.load(data, nullptr, nullptr, buffer, n);
  p.run(buffer, n, result);
}

// Leaves [lo, hi) of the lines that belong to the output whose first element is at `base`.
void lines_tree(const ReduceJob& job, std::int64_t base, std::int64_t lo, std::int64_t hi, unsigned char* result) {
  const int last = job.reduced.rank - 1;
  const std::int64_t n = job.reduced.size[last], runs = (n + kReduceRun - 1) / kReduceRun;
  alignas(16) unsigned char levels[kReduceLevels * 8];
  Tree tree(job.p, levels, 8, 1);
  Position<1> line(job.reduced, last, lo / runs);
  std::int64_t run = lo % runs;
  for (std::int64_t i = lo; i < hi; ++i) {
    const std::int64_t from = run * kReduceRun;
    run_leaf(job.p, job.data + (base + line.offset[0] + from) * static_cast<std::int64_t>(job.p.item),
             std::min(kReduceRun, n - from), tree.leaf());
    tree.push();
    if (++run == runs) {
      run = 0;
      line.next();
    }
  }
  std::memcpy(result, tree.finish(), 8);
}

void reduce_lines(const ReduceJob& job) {
  const int last = job.reduced.rank - 1;
  const std::int64_t n = job.reduced.size[last];
  const std::int64_t leaves = job.reduced.count(last) * ((n + kReduceRun - 1) / kReduceRun);
  const std::int64_t outputs = job.kept.count(job.kept.rank), each = job.reduced.count(last) * n;
  if (leaves <= kSubtree || outputs * 4 >= leaves) {
    spread(outputs, std::max<std::int64_t>(1, kReduceWork / each), [&](std::int64_t lo, std::int64_t hi) {
      if (leaves == 1 && !job.p.load) {  // short lines: straight into place
        const auto item = static_cast<std::int64_t>(job.p.item);
        const std::int64_t apart = job.kept.rank > 0 ? job.kept.stride[0][job.kept.rank - 1] : 0;
        return each_stretch(job.kept, job.kept.rank, lo, hi, [&](const auto& offset, std::int64_t some) {
          job.p.run_lines(job.data + offset[0] * item, apart, n, some, job.out + lo * item);
          lo += some;
        });
      }
      Position<1> at(job.kept, job.kept.rank, lo);
      for (std::int64_t i = lo; i < hi; ++i, at.next()) {
        alignas(16) unsigned char result[8];
        lines_tree(job, at.offset[0], 0, leaves, result);
        store_result(job, result, i, 1);
      }
    });
    return;
  }
  const std::int64_t tasks = (leaves + kSubtree - 1) / kSubtree;
  std::vector<unsigned char> part(static_cast<std::size_t>(tasks) * 8);
  Position<1> at(job.kept, job.kept.rank, 0);
  for (std::int64_t o = 0; o < outputs; ++o, at.next()) {
    spread(tasks, 1, [&](std::int64_t lo, std::int64_t hi) {
      for (std::int64_t i = lo; i < hi; ++i)
        lines_tree(job, at.offset[0], i * kSubtree, std::min(leaves, (i + 1) * kSubtree), part.data() + i * 8);
    });
    alignas(16) unsigned char levels[kReduceLevels * 8];
    Tree tree(job.p, levels, 8, 1);
    for (std::int64_t i = 0; i < tasks; ++i) {
      std::memcpy(tree.leaf(), part.data() + i * 8, 8);
      tree.push();
    }
    store_result(job, tree.finish(), o, 1);
  }
}

// ---- the kept elements lie in dense lines: whole rows are joined

// A place for each level of the tree, and the result where there is none.
std::unique_ptr<unsigned char[]> room_for_rows(std::size_t stride, std::int64_t blocks) {
  const auto levels = static_cast<std::size_t>(std::bit_width(static_cast<std::uint64_t>(blocks)) + 2);
  return std::unique_ptr<unsigned char[]>(new unsigned char[levels * stride]);
}

void rows_tree(const ReduceJob& job, std::int64_t base, std::int64_t width, std::int64_t lo, std::int64_t hi,
               unsigned char* levels, std::size_t stride, unsigned char* result) {
  float buffer[kReduceColumns];
  Tree tree(job.p, levels, stride, width);
  const std::int64_t rows = job.reduced.count(job.reduced.rank);
  Position<1> row(job.reduced, job.reduced.rank, lo * kRows);
  for (std::int64_t block = lo; block < hi; ++block) {
    unsigned char* acc = tree.leaf();
    const std::int64_t end = std::min(rows, (block + 1) * kRows);
    const auto data = [&] { return job.data + (base + row.offset[0]) * static_cast<std::int64_t>(job.p.item); };
    const auto read = [&](void* to) { job.p.load(data(), nullptr, nullptr, to, width); };
    if (job.p.load)
      read(acc);
    else
      std::memcpy(acc, data(), static_cast<std::size_t>(width) * job.p.wide);
    row.next();
    std::int64_t left = end - block * kRows - 1;
    if (!job.p.load && job.reduced.rank == 1) {
      job.p.join_rows(data(), job.reduced.stride[0][0], left, acc, width);
      for (; left > 0; --left) row.next();
    }
    for (; left > 0; --left, row.next()) {
      if (job.p.load) read(buffer);
      job.p.join(acc, job.p.load ? static_cast<const void*>(buffer) : data(), nullptr, acc, width);
    }
    tree.push();
  }
  std::memcpy(result, tree.finish(), static_cast<std::size_t>(width) * job.p.wide);
}

void reduce_rows(const ReduceJob& job) {
  const int last = job.kept.rank - 1;
  const std::int64_t n = job.kept.size[last], outer = job.kept.count(last), rows = job.reduced.count(job.reduced.rank);
  const std::int64_t blocks = (rows + kRows - 1) / kRows, tiles = (n + kReduceColumns - 1) / kReduceColumns;
  const std::int64_t width = std::min(n, kReduceColumns);
  const std::size_t stride = static_cast<std::size_t>(width) * job.p.wide;
  const auto place = [&](std::int64_t unit, std::int64_t& base, std::int64_t& from) {
    from = unit % tiles * kReduceColumns;
    base = Position<1>(job.kept, last, unit / tiles).offset[0] + from;
    return std::min(kReduceColumns, n - from);
  };
  if (blocks == 1 && tiles == 1 && !job.p.load && job.reduced.rank == 1) {  // few short rows: straight into place
    const auto item = static_cast<std::int64_t>(job.p.item), step = job.reduced.stride[0][0];
    return spread(outer, std::max<std::int64_t>(1, kReduceWork / (n * rows)), [&](std::int64_t lo, std::int64_t hi) {
      Position<1> at(job.kept, last, lo);
      for (unsigned char* to = job.out + lo * n * item; lo < hi; ++lo, at.next(), to += n * item) {
        const unsigned char* data = job.data + at.offset[0] * item;
        std::memcpy(to, data, static_cast<std::size_t>(n * item));
        job.p.join_rows(data + step * item, step, rows - 1, to, n);
      }
    });
  }
  if (blocks <= kSubtree || outer * tiles >= 64) {
    spread(outer * tiles, std::max<std::int64_t>(1, kReduceWork / (width * rows)),
           [&](std::int64_t lo, std::int64_t hi) {
             const auto levels = room_for_rows(stride, blocks), result = room_for_rows(stride, 0);
             for (std::int64_t unit = lo; unit < hi; ++unit) {
               std::int64_t base = 0, from = 0;
               const std::int64_t w = place(unit, base, from);
               rows_tree(job, base, w, 0, blocks, levels.get(), stride, result.get());
               store_result(job, result.get(), unit / tiles * n + from, w);
             }
           });
    return;
  }
  const std::int64_t tasks = (blocks + kSubtree - 1) / kSubtree;
  std::vector<unsigned char> part(static_cast<std::size_t>(tasks) * stride);
  const auto joined = room_for_rows(stride, tasks);
  for (std::int64_t unit = 0; unit < outer * tiles; ++unit) {
    std::int64_t base = 0, from = 0;
    const std::int64_t w = place(unit, base, from);
    spread(tasks, std::max<std::int64_t>(1, kReduceWork / (kSubtree * kRows * w)),
           [&](std::int64_t lo, std::int64_t hi) {
             const auto levels = room_for_rows(stride, kSubtree);
             for (std::int64_t i = lo; i < hi; ++i)
               rows_tree(job, base, w, i * kSubtree, std::min(blocks, (i + 1) * kSubtree), levels.get(), stride,
                         part.data() + static_cast<std::size_t>(i) * stride);
           });
    Tree tree(job.p, joined.get(), stride, w);
    for (std::int64_t i = 0; i < tasks; ++i) {
      std::memcpy(tree.leaf(), part.data() + static_cast<std::size_t>(i) * stride,
                  static_cast<std::size_t>(w) * job.p.wide);
      tree.push();
    }
    store_result(job, tree.finish(), unit / tiles * n + from, w);
  }
}

// Short lines, next to each other: first whole rows of them are joined, then what is left of each line.
void reduce_lines_last(Reduce op, const View& in, std::span<const int> axes, int line, const View& out) {
  std::vector<int> others, last;
  View rows{in.dtype, {}, {}, nullptr};
  for (int i = 0; i < in.rank(); ++i) {
    const bool gone = i != line && std::find(axes.begin(), axes.end(), i) != axes.end();
    if (gone) {
      others.push_back(i);
      continue;
    }
    if (i == line) last.push_back(rows.rank());
    rows.shape.push_back(in.shape[static_cast<std::size_t>(i)]);
  }
  rows.strides = row_major(rows.shape);
  const std::unique_ptr<unsigned char[]> memory(
      new unsigned char[static_cast<std::size_t>(numel(rows.shape)) * size_of(in.dtype)]);
  rows.data = memory.get();
  reduce(op, in, others, rows);
  reduce(op, rows, last, out);
}

// What an empty reduction gives.
void fill_identity(Reduce op, const View& out) {
  const double inf = std::numeric_limits<double>::infinity();
  const DType t = out.dtype;
  const int width = static_cast<int>(size_of(t)) * 8;
  const std::int64_t top = t == DType::Bool ? 1 : is_signed(t) ? INT64_MAX >> (64 - width) : -1;  // unsigned: all ones
  const std::int64_t low = is_signed(t) ? INT64_MIN >> (64 - width) : 0;
  switch (op) {
    case Reduce::Sum:
    case Reduce::Or: return fill(out, 0, 0);
    case Reduce::Prod: return fill(out, 1, 1);
    case Reduce::Max: return fill(out, -inf, low);
    case Reduce::Min: return fill(out, inf, top);
    case Reduce::And: return fill(out, 1, t == DType::Bool ? 1 : -1);
  }
}

// Packed, with the reduced dimensions last.
void reduce_packed(const ReducePlan& p, const View& in, const std::vector<bool>& gone, unsigned char* out) {
  View packed{in.dtype, {}, {}, nullptr}, source{in.dtype, {}, {}, in.data};
  std::int64_t kept_count = 1, reduced_count = 1;
  for (const bool wanted : {false, true})
    for (std::size_t i = 0; i < in.shape.size(); ++i)
      if (gone[i] == wanted) {
        source.shape.push_back(in.shape[i]);
        source.strides.push_back(in.strides[i]);
        (wanted ? reduced_count : kept_count) *= in.shape[i];
      }
  packed.shape = source.shape;
  packed.strides = row_major(packed.shape);
  const std::unique_ptr<unsigned char[]> memory(
      new unsigned char[static_cast<std::size_t>(kept_count * reduced_count) * p.item]);
  packed.data = memory.get();
  copy(source, packed);
  Nest<1> kept, reduced;
  kept.add(kept_count, {reduced_count});
  reduced.add(reduced_count, {1});
  reduce_lines({p, kept, reduced, memory.get(), out});
}

View kept_of(const View& in, const std::vector<bool>& gone) {
  View kept{in.dtype, {}, {}, in.data};
  for (std::size_t i = 0; i < in.shape.size(); ++i)
    if (!gone[i]) {
      kept.shape.push_back(in.shape[i]);
      kept.strides.push_back(in.strides[i]);
    }
  return kept;
}

}  // namespace

struct Reduction::Impl {
  enum class Way : std::uint8_t { Nothing, Identity, Copy, Lines, Rows, LinesLast, Packed };
  Reduce op;
  View in, out;
  std::vector<int> axes;
  std::vector<bool> gone;
  ReducePlan plan;
  Nest<1> kept, reduced;
  int inner = -1;  // the last dimension that is not of size 1

  Impl(Reduce how, const View& from, std::span<const int> over, const View& to)
      : op(how),
        in(from),
        out(to),
        axes(over.begin(), over.end()),
        gone(from.shape.size(), false),
        plan(reduce_plan(how, from.dtype)) {
    for (const int a : axes) gone[static_cast<std::size_t>(a)] = true;
    for (std::size_t i = 0; i < in.shape.size(); ++i) {
      (gone[i] ? reduced : kept).add(in.shape[i], {in.strides[i]});
      if (in.shape[i] != 1) inner = static_cast<int>(i);
    }
    way = choose();
  }
  Way way = Way::Nothing;

 private:
  Way choose() const {
    std::int64_t kept_count = 1, reduced_count = 1;
    for (std::size_t i = 0; i < in.shape.size(); ++i) (gone[i] ? reduced_count : kept_count) *= in.shape[i];
    if (kept_count == 0) return Way::Nothing;
    if (reduced_count == 0) return Way::Identity;
    if (reduced_count == 1) return Way::Copy;
    const auto dense = [](const Nest<1>& n) { return n.rank > 0 && n.stride[0][n.rank - 1] == 1; };
    const auto last = [](const Nest<1>& n) { return n.size[n.rank - 1]; };
    const auto at = static_cast<std::size_t>(inner);
    if (!plan.load && reduced.rank > 1 && dense(reduced) && last(reduced) < kShortLine && inner > 0 && !gone[at - 1])
      return Way::LinesLast;
    if (inner >= 0 && in.strides[at] == 1) {
      if (gone[at] && dense(reduced)) return Way::Lines;
      if (!gone[at] && dense(kept)) return Way::Rows;
    } else if (dense(kept) && last(kept) >= 16) {
      return Way::Rows;  // a transposed view: its dense dimension is kept
    } else if (dense(reduced) && last(reduced) >= 16) {
      return Way::Lines;
    }
    return Way::Packed;
  }
};

Reduction::Reduction(Reduce op, const View& in, std::span<const int> axes, const View& out)
    : impl_(new Impl(op, in, axes, out)) {}
Reduction::~Reduction() = default;

void Reduction::run(const void* in, void* out) const {
  using Way = Impl::Way;
  const Impl& r = *impl_;
  const ReduceJob job{r.plan, r.kept, r.reduced, static_cast<const unsigned char*>(in),
                      static_cast<unsigned char*>(out)};
  const auto from = [&] { return View{r.in.dtype, r.in.shape, r.in.strides, const_cast<void*>(in)}; };
  const auto to = [&] { return View{r.out.dtype, r.out.shape, r.out.strides, out}; };
  switch (r.way) {
    case Way::Nothing: return;
    case Way::Identity: return fill_identity(r.op, to());
    case Way::Copy: {
      const View kept = kept_of(from(), r.gone);
      return copy(kept, View{r.out.dtype, kept.shape, row_major(kept.shape), out});
    }
    case Way::Lines: return reduce_lines(job);
    case Way::Rows: return reduce_rows(job);
    case Way::LinesLast: return reduce_lines_last(r.op, from(), r.axes, r.inner, to());
    case Way::Packed: return reduce_packed(r.plan, from(), r.gone, job.out);
  }
}

void reduce(Reduce op, const View& in, std::span<const int> axes, const View& out) {
  Reduction(op, in, axes, out).run(in.data, out.data);
}

}  // namespace shard::runtime
