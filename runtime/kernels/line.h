// Elements that lie some steps apart, brought side by side, and lines of few of them one after the other. Each file has
// these for itself (static): they are compiled with its options, and not all make vectors of loops.
#pragma once
#include <algorithm>
#include <array>
#include <cstdint>
#include <cstring>

#include "runtime/kernels/interleave.h"
#include "runtime/kernels/vector/loop_table.h"

namespace shard::runtime {

template <class T>
static void read_line(const T* in, std::int64_t step, T* out, std::int64_t n) {
  if (step == 1) {
    std::memcpy(out, in, static_cast<std::size_t>(n) * sizeof(T));
  } else if (step == 0) {
    std::fill_n(out, n, *in);
  } else if (sizeof(T) == sizeof(std::uint32_t) && step >= -1 && step <= 4 && n > 8) {
    vector_table().every(reinterpret_cast<const std::uint32_t*>(in), step, reinterpret_cast<std::uint32_t*>(out), n);
  } else if (step == -1) {
    for (std::int64_t i = 0; i < n; ++i) out[i] = in[-i];
  } else {
    for (std::int64_t i = 0; i < n; ++i) out[i] = in[i * step];
  }
}

template <class T>
static void copy_line(const T* in, std::int64_t in_step, T* out, std::int64_t out_step, std::int64_t n) {
  if (out_step == 1) return read_line(in, in_step, out, n);
  for (std::int64_t i = 0; i < n; ++i) out[i * out_step] = in[i * in_step];
}

// Lines of 16 to 64 bytes, one after the other: each from both ends, which meet or lie over each other.
template <class T>
static void copy_ends(const T* in, std::int64_t in_row, T* out, std::int64_t out_row, std::int64_t rows,
                      std::int64_t bytes) {
  constexpr std::int64_t kEnd = 16;
  for (std::int64_t r = 0; r < rows; ++r, in += in_row, out += out_row)
    for (std::int64_t at = 0; at == 0 || (at < 2 * kEnd && bytes > 2 * kEnd); at += kEnd) {
      const auto* from = reinterpret_cast<const char*>(in);
      auto* to = reinterpret_cast<char*>(out);
      std::array<char, kEnd> first, last;
      std::memcpy(&first, from + at, kEnd), std::memcpy(&last, from + bytes - at - kEnd, kEnd);
      std::memcpy(to + at, &first, kEnd), std::memcpy(to + bytes - at - kEnd, &last, kEnd);
    }
}

// Lines of three elements of four bytes, one behind the other: as vectors of four, of which the next one overwrites the
// last element; but for the first and the last line, beside which there may be nothing.
template <class T>
static void copy_triples(const T* in, std::int64_t in_row, T* out, std::int64_t rows) {
  const auto exact = [&](std::int64_t r) { std::memcpy(out + 3 * r, in + r * in_row, 3 * sizeof(T)); };
  if (rows == 0) return;
  exact(0);
  for (std::int64_t r = 1; r + 1 < rows; ++r) {
    std::array<T, 4> line;
    std::memcpy(&line, in + r * in_row, sizeof line);
    std::memcpy(out + 3 * r, &line, sizeof line);
  }
  exact(rows - 1);
}

// Lines of N elements, one after the other.
template <std::int64_t N, class T>
static void copy_short(const T* in, std::int64_t in_row, std::int64_t in_step, T* out, std::int64_t out_row,
                       std::int64_t out_step, std::int64_t rows) {
  if (in_step == 0 && out_step == 1 && in_row == 1 && out_row == N) {  // each element N times
    for (std::int64_t r = 0; r < rows; ++r)
      for (std::int64_t i = 0; i < N; ++i) out[r * N + i] = in[r];
  } else if (sizeof(T) == 4 && N <= 4 && in_row == 1 && out_step == 1 && out_row == N) {
    interleave<std::min<std::int64_t>(N, 4)>(reinterpret_cast<const std::uint32_t*>(in), in_step,
                                             reinterpret_cast<std::uint32_t*>(out), rows);
  } else if (sizeof(T) == 4 && N == 3 && in_step == 1 && out_step == 1 && in_row != 0 && out_row == N) {
    copy_triples(in, in_row, out, rows);
  } else if (in_step == 1 && out_step == 1) {
    for (std::int64_t r = 0; r < rows; ++r) std::memcpy(out + r * out_row, in + r * in_row, N * sizeof(T));
  } else {
    for (std::int64_t r = 0; r < rows; ++r)
      for (std::int64_t i = 0; i < N; ++i) out[r * out_row + i * out_step] = in[r * in_row + i * in_step];
  }
}

template <class T>
static void copy_lines(const T* in, std::int64_t in_row, std::int64_t in_step, T* out, std::int64_t out_row,
                       std::int64_t out_step, std::int64_t rows, std::int64_t n) {
  switch (n) {
    case 1: return copy_line(in, in_row, out, out_row, rows);
    case 2: return copy_short<2>(in, in_row, in_step, out, out_row, out_step, rows);
    case 3: return copy_short<3>(in, in_row, in_step, out, out_row, out_step, rows);
    case 4: return copy_short<4>(in, in_row, in_step, out, out_row, out_step, rows);
    case 8: return copy_short<8>(in, in_row, in_step, out, out_row, out_step, rows);
    case 16: return copy_short<16>(in, in_row, in_step, out, out_row, out_step, rows);
    default:
      if (const std::int64_t bytes = n * static_cast<std::int64_t>(sizeof(T));
          in_step == 1 && out_step == 1 && bytes >= 16 && bytes <= 64)
        return copy_ends(in, in_row, out, out_row, rows, bytes);
      for (std::int64_t r = 0; r < rows; ++r) copy_line(in + r * in_row, in_step, out + r * out_row, out_step, n);
  }
}

}  // namespace shard::runtime
