// Deflation, and the products that make the vectors of the whole.
#include "runtime/kernels/dense/divide.h"

#include <algorithm>
#include <cmath>
#include <tuple>

#include "runtime/kernels/spread.h"

namespace shard::runtime::dense {

std::vector<Index> deflate(const std::vector<double>& d, std::vector<double>& z, const std::vector<Index>& order,
                           double small_d, double small_z,
                           const std::function<void(Index, Index, double, double)>& turn) {
  std::vector<Index> kept;
  for (const Index j : order) {
    if (std::abs(z[u(j)]) <= small_z) continue;
    if (!kept.empty() && d[u(j)] - d[u(kept.back())] <= small_d) {
      const Index i = kept.back();  // z of the earlier one goes over to this one
      const double r = std::hypot(z[u(i)], z[u(j)]), c = z[u(j)] / r, s = z[u(i)] / r;
      turn(i, j, c, s);
      z[u(j)] = r;
      z[u(i)] = 0;
      kept.back() = j;
      continue;
    }
    kept.push_back(j);
  }
  return kept;
}

void turn_columns(Block m, Index i, Index j, double c, double s) {
  for (Index k = 0; k < m.rows; ++k) {
    const double a = m(k, i), b = m(k, j);
    m(k, i) = c * a - s * b;
    m(k, j) = s * a + c * b;
  }
}

void mix_columns(Block vectors, Index middle, const std::vector<Index>& kept, const std::vector<std::uint8_t>& halves,
                 Block mix, const Stop* stop) {
  const Index n = static_cast<Index>(kept.size());
  Matrix out(vectors.rows, n);
  for (const auto& [half, begin, end] :
       {std::tuple(kUpper, Index{0}, middle), std::tuple(kLower, middle, vectors.rows)}) {
    std::vector<Index> used;  // positions in kept
    for (Index k = 0; k < n; ++k)
      if (halves[u(kept[u(k)])] & half) used.push_back(k);
    const Index count = static_cast<Index>(used.size()), rows = end - begin;
    if (count == 0 || rows == 0) continue;
    Matrix columns(rows, count), weights(count, n);
    spread(count, 16, [&, begin_row = begin](Index lo, Index hi) {
      for (Index k = lo; k < hi; ++k)
        std::copy_n(&vectors(begin_row, kept[u(used[u(k)])]), rows, columns.all().data + k * rows);
    });
    spread(n, 16, [&](Index lo, Index hi) {
      for (Index j = lo; j < hi; ++j)
        for (Index k = 0; k < count; ++k) weights(k, j) = mix(used[u(k)], j);
    });
    multiply(columns, Way::Plain, weights, Way::Plain, out.all().part(begin, 0, rows, n), stop);
  }
  spread(n, 16, [&](Index lo, Index hi) {
    for (Index j = lo; j < hi; ++j) std::copy_n(&out(0, j), vectors.rows, &vectors(0, kept[u(j)]));
  });
}

}  // namespace shard::runtime::dense
