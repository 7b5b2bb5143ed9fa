// Moving elements: copies between any strides, fills and ramps. Runs are copied as blocks of bytes, transpositions go
// through small square tiles so that both sides are touched by whole cache lines, and large copies spread over threads.
#include "runtime/kernels/kernels.h"

#include <algorithm>
#include <cstdlib>
#include <cstring>
#include <memory>
#include <numeric>

#include "runtime/kernels/groups.h"
#include "runtime/kernels/line.h"
#include "runtime/kernels/nest.h"
#include "runtime/kernels/spread.h"
#include "runtime/kernels/transpose.h"
#include "runtime/kernels/types.h"

namespace shard::runtime {
namespace {

constexpr std::int64_t kPiece = 64 * 1024;  // bytes a thread moves at least
constexpr std::int64_t kNear = 16 * 1024;   // bytes that stay in the first cache
constexpr int kIn = 0, kOut = 1;
using Pair = Nest<2>;

// Dimensions ordered so that `out` is walked forwards in memory, then merged.
Pair ordered(const View& in, const View& out) {
  std::array<int, kNest> order;
  const int rank = out.rank();
  if (rank > kNest) throw RuntimeError("shape", "a copy of more than " + std::to_string(kNest) + " dimensions");
  const auto key = [&](int i) { return std::abs(out.strides[i]); };
  for (int i = 0; i < rank; ++i) {  // inserted: std::stable_sort would allocate
    int at = i;
    for (; at > 0 && key(order[at - 1]) < key(i); --at) order[at] = order[at - 1];
    order[at] = i;
  }
  Pair nest;
  for (int i = 0; i < rank; ++i) nest.add(out.shape[order[i]], {in.strides[order[i]], out.strides[order[i]]});
  return nest;
}

// `size` places of the d-th dimension of a nest, `apart` of its steps from one to the next, as one more.
void append(Pair& to, const Pair& from, int d, std::int64_t size, std::int64_t apart = 1) {
  to.size[to.rank] = size;
  for (std::size_t v = 0; v < to.stride.size(); ++v) to.stride[v][to.rank] = from.stride[v][d] * apart;
  ++to.rank;
}

// With the second and third last dimensions exchanged where that makes the stretches of lines longer: a repetition
// along a middle dimension has stretches of as many as it repeats. What they write stays within `near` elements, else
// equal parts of the dimension are exchanged.
Pair longer_stretches(const Pair& nest, std::int64_t near) {
  const int few = nest.rank - 2, many = nest.rank - 3;
  if (many < 0 || nest.size[few] >= 8 || nest.size[many] <= nest.size[few]) return nest;
  constexpr std::int64_t kLongEnough = 64;
  std::int64_t part = near / std::max<std::int64_t>(1, std::abs(nest.stride[kOut][many]));
  part = part >= nest.size[many] ? nest.size[many] : std::min(part, kLongEnough);
  while (part > nest.size[few] && nest.size[many] % part != 0) --part;
  if (part <= nest.size[few] || nest.rank == kNest) return nest;
  Pair made;
  for (int d = 0; d < many; ++d) append(made, nest, d, nest.size[d]);
  if (part < nest.size[many]) append(made, nest, many, nest.size[many] / part, part);
  append(made, nest, few, nest.size[few]);
  append(made, nest, many, part);
  append(made, nest, few + 1, nest.size[few + 1]);
  return made;
}

// As transpose does, which is for matrices that are neither flat nor narrow.
template <class T>
void turn(const T* in, std::int64_t in_step, T* out, std::int64_t out_step, std::int64_t rows, std::int64_t columns) {
  constexpr std::int64_t kNarrow = 16;
  if (sizeof(T) == 4 && std::min(rows, columns) < kNarrow)
    vector_table().turned(reinterpret_cast<const std::uint32_t*>(in), in_step, reinterpret_cast<std::uint32_t*>(out),
                          out_step, columns, rows);
  else
    transpose(in, in_step, out, out_step, rows, columns);
}

// By groups of few words of four bytes, where they suit `in` and `out` is written from one end to the other.
template <class T>
bool by_groups(const Pair& nest, const T* in, T* out) {
  using Word = std::uint32_t;
  constexpr std::int64_t kWords = sizeof(T) / sizeof(Word), kWorth = 4096, kLongest = 16;  // of an element; in words
  constexpr std::int64_t kLine = 16;  // words that a line of the cache has: pieces begin with one
  std::int64_t dense = nest.count(nest.rank);
  const std::int64_t all = dense * kWords;
  if (kWords == 0 || all < kWorth || nest.size[nest.rank - 1] * kWords >= kLongest) return false;
  Nest<1> from;
  for (int d = 0; d < nest.rank; ++d) {
    dense /= nest.size[d];
    if (nest.stride[kOut][d] != dense) return false;
    from.add(nest.size[d], {nest.stride[kIn][d] * kWords});
  }
  from.add(kWords, {1});
  const auto groups = Groups::of(from, sizeof(Word));
  if (!groups) return false;
  const std::int64_t n = groups->elements();
  spread(all / n, kPiece / static_cast<std::int64_t>(sizeof(Word)) / n / kLine * kLine,
         [&](std::int64_t lo, std::int64_t hi) {
           groups->bring(from, reinterpret_cast<const Word*>(in), lo * n, hi * n,
                         reinterpret_cast<Word*>(out) + lo * n);
         });
  return true;
}

template <class T>
void copy_nest(const Pair& nest, const T* in, T* out) {
  const int last = nest.rank - 1;
  if (nest.rank == 0) {
    *out = *in;
    return;
  }
  const std::int64_t n = nest.size[last], lines = nest.count(last);
  const std::int64_t in_step = nest.stride[kIn][last], out_step = nest.stride[kOut][last];
  const std::int64_t bytes = static_cast<std::int64_t>(sizeof(T));
  if (lines == 1) {  // cut the only line into pieces
    spread(n, kPiece / bytes, [&](std::int64_t lo, std::int64_t hi) {
      copy_line(in + lo * in_step, in_step, out + lo * out_step, out_step, hi - lo);
    });
    return;
  }
  // A dimension along which `in` is dense while lines of `out` are not: transpose the two.
  int dense = -1;
  if (out_step == 1 && in_step != 1 && in_step != 0 && n > 4)
    for (int i = 0; i < last; ++i)
      if (nest.stride[kIn][i] == 1 && nest.size[i] >= 4) dense = i;
  if (dense >= 0) {
    Pair outer;
    std::int64_t planes = 1;
    for (int i = 0; i < last; ++i) {
      if (i == dense) continue;
      append(outer, nest, i, nest.size[i]);
      planes *= nest.size[i];
    }
    const std::int64_t rows = nest.size[dense], row_step = nest.stride[kOut][dense];
    const auto part = [&](std::int64_t of, std::int64_t beside) {  // as many as a piece has, in whole blocks
      return std::min(of, std::max<std::int64_t>(64, kPiece / bytes / beside / 64 * 64));
    };
    const std::int64_t strip = part(rows, n), width = part(n, strip);
    const std::int64_t strips = (rows + strip - 1) / strip, across = (n + width - 1) / width, each = strips * across;
    const std::int64_t grain = std::max<std::int64_t>(1, kPiece / bytes / (strip * width));
    spread(planes * each, grain, [&](std::int64_t lo, std::int64_t hi) {
      for (std::int64_t i = lo; i < hi; ++i) {
        const Position<2> at(outer, outer.rank, i / each);
        const std::int64_t row = i % each / across * strip, column = i % across * width;
        turn(in + at.offset[kIn] + row + column * in_step, in_step, out + at.offset[kOut] + row * row_step + column,
             row_step, std::min(strip, rows - row), std::min(width, n - column));
      }
    });
    return;
  }
  if (by_groups(nest, in, out)) return;
  const Pair by_lines = longer_stretches(nest, kNear / bytes);
  const int line = by_lines.rank - 1;
  const std::int64_t in_row = by_lines.stride[kIn][line - 1], out_row = by_lines.stride[kOut][line - 1];
  spread(lines, std::max<std::int64_t>(1, kPiece / bytes / n), [&](std::int64_t lo, std::int64_t hi) {
    each_stretch(by_lines, line, lo, hi, [&](const auto& offset, std::int64_t rows) {
      copy_lines(in + offset[kIn], in_row, in_step, out + offset[kOut], out_row, out_step, rows, n);
    });
  });
}

// 0, 1, 2, ... in elements of `t`.
void ramp(DType t, std::int64_t n, void* to) {
  if (t == DType::I32) {
    std::iota(static_cast<std::int32_t*>(to), static_cast<std::int32_t*>(to) + n, 0);
    return;
  }
  const std::size_t item = size_of(t);
  for (std::int64_t i = 0; i < n; ++i)
    store_element(t, static_cast<double>(i), i, static_cast<unsigned char*>(to) + static_cast<std::size_t>(i) * item);
}

}  // namespace

void copy(const View& in, const View& out) {
  for (const std::int64_t d : out.shape)
    if (d == 0) return;
  const Pair nest = ordered(in, out);
  by_width(size_of(out.dtype), [&](auto t) {
    using T = decltype(t);
    copy_nest(nest, in.as<const T>(), out.as<T>());
  });
}

void fill(const View& out, double value, std::int64_t integer) {
  alignas(16) unsigned char element[16];
  store_element(out.dtype, value, integer, element);
  copy(View{out.dtype, out.shape, Strides(out.shape.size(), 0), element}, out);
}

void iota(const View& out, int axis) {
  if (numel(out.shape) == 0) return;
  const std::int64_t n = out.shape[static_cast<std::size_t>(axis)];
  const bool line = numel(out.shape) == n && (n == 1 || out.strides[static_cast<std::size_t>(axis)] == 1);
  if (line) return ramp(out.dtype, n, out.data);
  const std::unique_ptr<unsigned char[]> one(new unsigned char[static_cast<std::size_t>(n) * size_of(out.dtype)]);
  ramp(out.dtype, n, one.get());
  Strides strides(out.shape.size(), 0);
  strides[static_cast<std::size_t>(axis)] = 1;
  copy(View{out.dtype, out.shape, std::move(strides), one.get()}, out);
}

}  // namespace shard::runtime
