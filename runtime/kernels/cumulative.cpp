// Sums, products, largest and smallest so far along the last dimension.
#include <vector>

#include "runtime/kernels/kernels.h"
#include "runtime/kernels/lines.h"
#include "runtime/kernels/types.h"

namespace shard::runtime {
namespace {

// One function for all four, so that there is one loop a type; a step waits for the one before it much longer than for
// this choice.
struct Combine {
  Scan op;
  template <class C>
  C operator()(C a, C b) const {
    switch (op) {
      case Scan::Sum: return add_wrapped(a, b);
      case Scan::Prod: return mul_wrapped(a, b);
      case Scan::Max: return max_nan(a, b);
      case Scan::Min: return min_nan(a, b);
    }
    return a;
  }
};

// f32 accumulates in f64, so that long scans stay as exact as sums.
template <class C>
using Accumulator = std::conditional_t<std::is_same_v<C, float>, double, C>;

// Halves are rounded at each step, in blocks of 16 whose totals are scanned likewise: XLA's order, and its bits
// (forward).
constexpr std::int64_t kBlock = 16;

template <class T>
void scan_rounded(float* x, std::int64_t n, Combine op) {
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

template <class T>
void scan_typed(const View& in, T* out, bool reverse, Combine op) {
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

void cumulative(Scan op, const View& in, const View& out, bool reverse) {
  visit(in.dtype, [&](auto t) { scan_typed(in, out.as<decltype(t)>(), reverse, Combine{op}); });
}

}  // namespace shard::runtime
