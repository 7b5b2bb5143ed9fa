// Sorting, searching and scans along the last dimension. Order is JAX's: zeros of both signs are equal, every nan is
// equal to every other and larger than any number (so last, or first when descending), equals keep their order.
#include "runtime/kernels/kernels.h"

#include <algorithm>
#include <memory>
#include <vector>

#include "runtime/kernels/nest.h"
#include "runtime/kernels/spread.h"
#include "runtime/kernels/types.h"

namespace shard::runtime {
namespace {

template <class C>
bool before(C a, C b) {
  if constexpr (std::is_floating_point_v<C>)
    return a < b || (b != b && a == a);
  else
    return a < b;
}

// Sorts stably, as merges of sorted runs that are cut into pieces of their results: over threads, and asking before
// each piece. What is stable has one result, however it is cut.
template <class T, class Less>
void sort_line(T* x, std::int64_t n, Less less, const Stop* stop) {
  constexpr std::int64_t kRun = std::int64_t{1} << 15;
  if (n <= 2 * kRun) {
    std::stable_sort(x, x + n, less);
    return;
  }
  spread(
      n, kRun, [&](std::int64_t lo, std::int64_t hi) { std::stable_sort(x + lo, x + hi, less); }, stop);
  const std::unique_ptr<T[]> other(new T[static_cast<std::size_t>(n)]);
  T *from = x, *to = other.get();
  for (std::int64_t width = kRun; width < n; width *= 2) {
    const auto piece = [&](std::int64_t lo, std::int64_t hi) {
      const std::int64_t begin = lo / (2 * width) * (2 * width), middle = std::min(begin + width, n);
      const T *a = from + begin, *b = from + middle;
      const std::int64_t na = middle - begin, nb = std::min(begin + 2 * width, n) - middle;
      const auto of_a = [&](std::int64_t k) {  // how many of the first k results are of `a`
        std::int64_t least = std::max<std::int64_t>(0, k - nb), most = std::min(k, na);
        while (least < most) {
          const std::int64_t i = least + (most - least) / 2;
          less(b[k - i - 1], a[i]) ? most = i : least = i + 1;
        }
        return least;
      };
      const std::int64_t i = of_a(lo - begin), i_end = of_a(hi - begin);
      std::merge(a + i, a + i_end, b + (lo - begin - i), b + (hi - begin - i_end), to + lo, less);
    };
    spread(n, kRun, piece, stop);
    std::swap(from, to);
  }
  if (from != x) std::copy(from, from + n, x);
}

// Calls f(line of in, step of in, first index of the line in `out`) for each line; views of rank 0 are a line of one.
template <class T, class F>
void each_line(const View& in, std::int64_t n, F f, const Stop* stop = nullptr) {
  Nest<1> outer;
  for (std::size_t i = 0; i + 1 < in.shape.size(); ++i) outer.add(in.shape[i], {in.strides[i]});
  const std::int64_t step = in.shape.empty() ? 1 : in.strides.back();
  const T* data = in.as<const T>();
  spread(
      outer.count(outer.rank), std::max<std::int64_t>(1, 4096 / std::max<std::int64_t>(n, 1)),
      [&](std::int64_t lo, std::int64_t hi) {
        Position<1> at(outer, outer.rank, lo);
        for (std::int64_t i = lo; i < hi; ++i, at.next()) f(data + at.offset[0], step, i * n);
      },
      stop);
}

std::int64_t line_length(const View& v) { return v.shape.empty() ? 1 : v.shape.back(); }

template <class T>
void sort_typed(const View& in, T* out, bool descending, const Stop* stop) {
  const std::int64_t n = line_length(in);
  each_line<T>(
      in, n,
      [=](const T* x, std::int64_t step, std::int64_t at) {
        T* o = out + at;
        for (std::int64_t i = 0; i < n; ++i) o[i] = x[i * step];
        sort_line(
            o, n, [](T a, T b) { return before(to_compute(a), to_compute(b)); }, stop);
        if (descending) std::reverse(o, o + n);
      },
      stop);
}

template <class T>
void argsort_typed(const View& in, std::int32_t* out, bool descending, const Stop* stop) {
  struct Item {
    Compute<T> key;
    std::int32_t index;
  };
  const std::int64_t n = line_length(in);
  each_line<T>(
      in, n,
      [=](const T* x, std::int64_t step, std::int64_t at) {
        const std::unique_ptr<Item[]> items(new Item[static_cast<std::size_t>(n)]);
        for (std::int64_t i = 0; i < n; ++i) items[i] = {to_compute(x[i * step]), static_cast<std::int32_t>(i)};
        if (descending)
          sort_line(
              items.get(), n, [](const Item& a, const Item& b) { return before(b.key, a.key); }, stop);
        else
          sort_line(
              items.get(), n, [](const Item& a, const Item& b) { return before(a.key, b.key); }, stop);
        for (std::int64_t i = 0; i < n; ++i) out[at + i] = items[i].index;
      },
      stop);
}

template <class T>
void search_typed(const View& a, const View& v, std::int32_t* out, bool behind) {
  const std::size_t lead = a.shape.size() - 1;
  Nest<2> nest;
  for (std::size_t d = 0; d < v.shape.size(); ++d) nest.add(v.shape[d], {d < lead ? a.strides[d] : 0, v.strides[d]});
  const std::int64_t n = a.shape.back(), step = a.strides.back();
  const T *lines = a.as<const T>(), *wanted = v.as<const T>();
  spread(nest.count(nest.rank), 1024, [&](std::int64_t lo, std::int64_t hi) {
    Position<2> at(nest, nest.rank, lo);
    for (std::int64_t i = lo; i < hi; ++i, at.next()) {
      const T* line = lines + at.offset[0];
      const Compute<T> x = to_compute(wanted[at.offset[1]]);
      std::int64_t from = 0, to = n;
      while (from < to) {
        const std::int64_t middle = from + (to - from) / 2;
        const Compute<T> y = to_compute(line[middle * step]);
        if (behind ? !before(x, y) : before(y, x))
          from = middle + 1;
        else
          to = middle;
      }
      out[i] = static_cast<std::int32_t>(from);
    }
  });
}

// f32 accumulates in f64, so that long scans stay as exact as sums.
template <class C>
using Accumulator = std::conditional_t<std::is_same_v<C, float>, double, C>;

// Halves are rounded at each step, in blocks of 16 whose totals are scanned likewise: XLA's order, and its bits
// (forward).
constexpr std::int64_t kBlock = 16;

template <class T, class Op>
void scan_rounded(float* x, std::int64_t n, Op op) {
  const auto step = [&](float a, float b) { return to_compute(from_compute<T>(op(a, b))); };
  const std::int64_t blocks = (n + kBlock - 1) / kBlock;
  std::vector<float> totals(static_cast<std::size_t>(blocks));
  for (std::int64_t b = 0; b < blocks; ++b) {
    const std::int64_t end = std::min(n, (b + 1) * kBlock);
    for (std::int64_t i = b * kBlock + 1; i < end; ++i) x[i] = step(x[i - 1], x[i]);
    totals[static_cast<std::size_t>(b)] = x[end - 1];
  }
  if (blocks < 2) return;
  scan_rounded<T>(totals.data(), blocks, op);
  for (std::int64_t i = kBlock; i < n; ++i) x[i] = step(x[i], totals[static_cast<std::size_t>(i / kBlock - 1)]);
}

template <class T, class Op>
void scan_typed(const View& in, T* out, bool reverse, Op op) {
  const std::int64_t n = line_length(in);
  if (n == 0) return;
  each_line<T>(in, n, [=](const T* x, std::int64_t step, std::int64_t at) {
    const std::int64_t first = reverse ? n - 1 : 0, way = reverse ? -1 : 1;
    if constexpr (std::is_same_v<T, Half> || std::is_same_v<T, Brain>) {
      std::vector<float> line(static_cast<std::size_t>(n));
      for (std::int64_t i = 0; i < n; ++i) line[static_cast<std::size_t>(i)] = to_compute(x[(first + way * i) * step]);
      scan_rounded<T>(line.data(), n, op);
      for (std::int64_t i = 0; i < n; ++i)
        out[at + first + way * i] = from_compute<T>(line[static_cast<std::size_t>(i)]);
      return;
    }
    Accumulator<Compute<T>> acc = to_compute(x[first * step]);
    out[at + first] = x[first * step];
    for (std::int64_t i = 1; i < n; ++i) {
      const std::int64_t j = first + way * i;
      acc = op(acc, static_cast<Accumulator<Compute<T>>>(to_compute(x[j * step])));
      out[at + j] = from_compute<T>(static_cast<Compute<T>>(acc));
    }
  });
}

}  // namespace

void sort(const View& in, const View& out, bool descending, const Stop* stop) {
  visit(in.dtype, [&](auto t) { sort_typed(in, out.as<decltype(t)>(), descending, stop); });
}

void argsort(const View& in, const View& out, bool descending, const Stop* stop) {
  visit(in.dtype, [&](auto t) { argsort_typed<decltype(t)>(in, out.as<std::int32_t>(), descending, stop); });
}

void search(const View& a, const View& v, const View& out, bool behind) {
  if (numel(out.shape) == 0) return;
  visit(a.dtype, [&](auto t) { search_typed<decltype(t)>(a, v, out.as<std::int32_t>(), behind); });
}

void cumulative(Scan op, const View& in, const View& out, bool reverse) {
  visit(in.dtype, [&](auto t) {
    using T = decltype(t);
    T* o = out.as<T>();
    switch (op) {
      case Scan::Sum: return scan_typed(in, o, reverse, [](auto a, auto b) { return add_wrapped(a, b); });
      case Scan::Prod: return scan_typed(in, o, reverse, [](auto a, auto b) { return mul_wrapped(a, b); });
      case Scan::Max: return scan_typed(in, o, reverse, [](auto a, auto b) { return max_nan(a, b); });
      case Scan::Min: return scan_typed(in, o, reverse, [](auto a, auto b) { return min_nan(a, b); });
    }
  });
}

}  // namespace shard::runtime
