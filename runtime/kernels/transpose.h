// Transposing from memory to memory.
#pragma once
#include <algorithm>
#include <cstdint>
#include <cstring>

namespace shard::runtime {

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
      for (std::int64_t b = 0; b < kTile; ++b)
        for (std::int64_t a = 0; a < kTile; ++a) tile[a][b] = from[a + b * in_step];
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
