// Two to four lines of four-byte elements as one: out[r * N + i] = in[i * apart + r], by vectors of 16 bytes.
#pragma once
#include <cstdint>
#include <cstring>

#include "runtime/kernels/transpose.h"

namespace shard::runtime {

template <int N>
void interleave(const std::uint32_t* in, std::int64_t apart, std::uint32_t* out, std::int64_t rows) {
  static_assert(N >= 2 && N <= 4);
  typedef std::uint32_t V __attribute__((vector_size(16)));
  std::int64_t r = 0;
  for (; r + 4 <= rows; r += 4, out += 4 * N) {
    if constexpr (N == 4) {
      transpose_unit(in + r, apart, out, N);
      continue;
    }
    V v[N], o[N];
    for (int i = 0; i < N; ++i) std::memcpy(&v[i], in + i * apart + r, sizeof(V));
    if constexpr (N == 2) {
      o[0] = __builtin_shuffle(v[0], v[1], V{0, 4, 1, 5}), o[1] = __builtin_shuffle(v[0], v[1], V{2, 6, 3, 7});
    } else if constexpr (N == 3) {
      const V first = __builtin_shuffle(v[0], v[1], V{0, 4, 1, 5});   // a0 b0 a1 b1
      const V second = __builtin_shuffle(v[2], v[0], V{0, 0, 5, 5});  // c0 c0 a1 a1
      const V third = __builtin_shuffle(v[1], v[2], V{1, 1, 5, 5});   // b1 b1 c1 c1
      const V fourth = __builtin_shuffle(v[0], v[1], V{2, 2, 6, 6});  // a2 a2 b2 b2
      const V fifth = __builtin_shuffle(v[2], v[0], V{2, 2, 7, 7});   // c2 c2 a3 a3
      const V sixth = __builtin_shuffle(v[1], v[2], V{3, 3, 7, 7});   // b3 b3 c3 c3
      o[0] = __builtin_shuffle(first, second, V{0, 1, 4, 6});
      o[1] = __builtin_shuffle(third, fourth, V{0, 2, 4, 6});
      o[2] = __builtin_shuffle(fifth, sixth, V{0, 2, 4, 6});
    }
    std::memcpy(out, o, sizeof o);
  }
  for (; r < rows; ++r, out += N)
    for (int i = 0; i < N; ++i) out[i] = in[i * apart + r];
}

}  // namespace shard::runtime
