// Loop nests over several views of one shape: dimensions of size 1 dropped, neighbours merged where every view allows
// it, and a position that walks the outer dimensions. No allocation.
#pragma once
#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <span>

#include "runtime/array/view.h"

namespace shard::runtime {

inline constexpr int kNest =
    64;  // a physical array has up to 32 axes in front of 16 dimensions; splitting may add some

template <int N>
struct Nest {
  int rank = 0;
  std::array<std::int64_t, kNest> size;
  std::array<std::array<std::int64_t, kNest>, N> stride;

  Nest() = default;
  Nest(const Nest& o) { *this = o; }
  Nest& operator=(const Nest& o) {  // what is used of it
    rank = o.rank;
    std::copy_n(o.size.begin(), rank, size.begin());
    for (std::size_t v = 0; v < N; ++v) std::copy_n(o.stride[v].begin(), rank, stride[v].begin());
    return *this;
  }

  void add(std::int64_t n, const std::array<std::int64_t, N>& s) {
    if (n == 1) return;
    if (rank == kNest)
      throw RuntimeError("shape", "an operation would need more than " + std::to_string(kNest) + " nested loops");
    if (rank > 0) {
      bool joins = true;
      for (int v = 0; v < N; ++v) joins = joins && stride[v][rank - 1] == s[v] * n;
      if (joins) {
        size[rank - 1] *= n;
        for (int v = 0; v < N; ++v) stride[v][rank - 1] = s[v];
        return;
      }
    }
    size[rank] = n;
    for (int v = 0; v < N; ++v) stride[v][rank] = s[v];
    ++rank;
  }

  // The number of positions of the first `dims` dimensions.
  std::int64_t count(int dims) const {
    std::int64_t n = 1;
    for (int i = 0; i < dims; ++i) n *= size[i];
    return n;
  }
};

// A position in the first `dims` dimensions of a nest, and the offset of each view there.
template <int N>
class Position {
 public:
  Position(const Nest<N>& nest, int dims, std::int64_t flat) : nest_(nest), dims_(dims) {
    offset.fill(0);
    for (int i = dims; i-- > 0;) {
      at_[i] = flat % nest.size[i];
      flat /= nest.size[i];
      for (int v = 0; v < N; ++v) offset[v] += at_[i] * nest.stride[v][i];
    }
  }
  void next() {
    for (int i = dims_; i-- > 0;) {
      for (int v = 0; v < N; ++v) offset[v] += nest_.stride[v][i];
      if (++at_[i] < nest_.size[i]) return;
      for (int v = 0; v < N; ++v) offset[v] -= nest_.stride[v][i] * nest_.size[i];
      at_[i] = 0;
    }
  }
  std::array<std::int64_t, N> offset;

 private:
  const Nest<N>& nest_;
  int dims_;
  std::array<std::int64_t, kNest> at_;
};

// Positions [lo, hi) of the first `dims` dimensions, by stretches along the last of these: f(offsets of the first one,
// how many).
template <int N, class F>
void each_stretch(const Nest<N>& nest, int dims, std::int64_t lo, std::int64_t hi, F f) {
  const auto last = static_cast<std::size_t>(std::max(dims - 1, 0));
  const std::int64_t length = dims > 0 ? nest.size[last] : 1;
  Position<N> at(nest, static_cast<int>(last), lo / length);
  for (std::int64_t from = lo % length; lo < hi; from = 0, at.next()) {
    const std::int64_t some = std::min(length - from, hi - lo);
    std::array<std::int64_t, N> offset = at.offset;
    for (std::size_t v = 0; v < N && from > 0; ++v) offset[v] += from * nest.stride[v][last];
    f(offset, some);
    lo += some;
  }
}

}  // namespace shard::runtime
