// Transposing from memory to memory.
#pragma once
#include <algorithm>
#include <cstdint>
#include <cstring>
#include <type_traits>

namespace shard::runtime {

// to[a][b] = from[a + b * step] of a square, by vectors of 16 bytes, whose lanes change places.
template <class T, std::int64_t N>
void transpose_square(const T* from, std::int64_t step, T (&to)[N][N]) {
  if constexpr (sizeof(T) == 4 || sizeof(T) == 8) {
    using Lane = std::conditional_t<sizeof(T) == 4, std::uint32_t, std::uint64_t>;
    constexpr std::int64_t kLanes = 16 / sizeof(T);
    typedef Lane V __attribute__((vector_size(16)));
    for (std::int64_t b = 0; b < N; b += kLanes)
      for (std::int64_t a = 0; a < N; a += kLanes) {
        V x[kLanes];
        for (std::int64_t l = 0; l < kLanes; ++l) std::memcpy(&x[l], from + a + (b + l) * step, sizeof(V));
        if constexpr (kLanes == 4) {
          const V low = __builtin_shuffle(x[0], x[1], V{0, 4, 1, 5}),
                  high = __builtin_shuffle(x[0], x[1], V{2, 6, 3, 7});
          const V low2 = __builtin_shuffle(x[2], x[3], V{0, 4, 1, 5}),
                  high2 = __builtin_shuffle(x[2], x[3], V{2, 6, 3, 7});
          x[0] = __builtin_shuffle(low, low2, V{0, 1, 4, 5}), x[1] = __builtin_shuffle(low, low2, V{2, 3, 6, 7});
          x[2] = __builtin_shuffle(high, high2, V{0, 1, 4, 5}), x[3] = __builtin_shuffle(high, high2, V{2, 3, 6, 7});
        } else {
          const V first = __builtin_shuffle(x[0], x[1], V{0, 2});
          x[1] = __builtin_shuffle(x[0], x[1], V{1, 3});
          x[0] = first;
        }
        for (std::int64_t l = 0; l < kLanes; ++l) std::memcpy(&to[a + l][b], &x[l], sizeof(V));
      }
  } else {
    for (std::int64_t b = 0; b < N; ++b)
      for (std::int64_t a = 0; a < N; ++a) to[a][b] = from[a + b * step];
  }
}

// out[i * out_step + j] = in[i + j * in_step] for i < rows, j < columns: one side is walked by lines, the other by
// columns. In squares of kTile, whose lines fill cache lines, and these in blocks, so that neighbouring lines of a page
// are used together.
template <class T>
void transpose(const T* in, std::int64_t in_step, T* out, std::int64_t out_step, std::int64_t rows,
               std::int64_t columns) {
  constexpr std::int64_t kTile = sizeof(T) >= 4 ? 16 : 32, kBlock = 64;
  T tile[kTile][kTile];
  const auto square = [&](std::int64_t i, std::int64_t j) {
    const std::int64_t h = std::min(kTile, rows - i), w = std::min(kTile, columns - j);
    const T* from = in + i + j * in_step;
    T* to = out + i * out_step + j;
    if (h == kTile && w == kTile) {
      // The lines that come next lie far apart: no processor foresees them.
      const bool inside = (i + kTile) % kBlock != 0 && i + 2 * kTile <= rows;
      const T* const next = inside ? to + kTile * out_step : to - i % kBlock * out_step + kBlock;
      if (inside || j + kBlock + kTile <= columns)
        for (std::int64_t a = 0; a < kTile; ++a) __builtin_prefetch(next + a * out_step, 1);
      transpose_square<T, kTile>(from, in_step, tile);
      for (std::int64_t a = 0; a < kTile; ++a) std::memcpy(to + a * out_step, tile[a], sizeof tile[a]);
    } else {
      for (std::int64_t a = 0; a < h; ++a)
        for (std::int64_t b = 0; b < w; ++b) to[a * out_step + b] = from[a + b * in_step];
    }
  };
  for (std::int64_t i0 = 0; i0 < rows; i0 += kBlock)
    for (std::int64_t j0 = 0; j0 < columns; j0 += kBlock)
      for (std::int64_t i = i0; i < std::min(rows, i0 + kBlock); i += kTile)
        for (std::int64_t j = j0; j < std::min(columns, j0 + kBlock); j += kTile) square(i, j);
}

}  // namespace shard::runtime
