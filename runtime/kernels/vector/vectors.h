// What reductions and positions of extremes have of each other: vectors of 32 bytes, and what is most extreme in them.
#pragma once
#include <utility>

#include "runtime/kernels/vector/functions.h"

namespace shard::runtime::SHARD_ISA {
namespace {

// Whether vectors of 32 bytes are one register; where they are not, loops over lanes are shorter.
#ifdef __AVX__
constexpr bool kWide = true;
#else
constexpr bool kWide = false;
#endif

// Lanes as vectors, which stay in registers: as an array the compiler brings them to memory and back.
template <class T>
struct Vectors {
  static constexpr int kWidth = 32 / static_cast<int>(sizeof(T));
  typedef T V __attribute__((vector_size(32)));
  typedef codes::U<T> Bits __attribute__((vector_size(32)));
  SHARD_LOOP void load(V& v, const T* x) { __builtin_memcpy(&v, x, sizeof v); }
  // f of what has lane j + half of v in lane j, for each half of the lanes: 4, 2 and 1 of eight.
  template <int Half = kWidth / 2>
  SHARD_LOOP void fold(auto& v, auto f) {
    [&]<int... J>(std::integer_sequence<int, J...>) __attribute__((always_inline)) {
      f(__builtin_shufflevector(v, v, (J + Half) % kWidth...), v);
    }
    (std::make_integer_sequence<int, kWidth>());
    if constexpr (Half > 1) fold<Half / 2>(v, f);
  }
  // The last n < kWidth of the elements before x, and -0, which adds nothing.
  SHARD_LOOP void load_last(V& to, const T* x, std::int64_t n) {
    Bits lane{};
    for (std::int64_t j = 0; j < kWidth; ++j) lane[j] = static_cast<codes::U<T>>(j);
    load(to, x - kWidth);
    const auto given = static_cast<codes::U<T>>(n), lacking = static_cast<codes::U<T>>(kWidth - n);
    to = lane < given ? __builtin_shuffle(to, lane + lacking) : -V{};
  }
};

// x where it comes before y, else y; of a nan y. Of vectors too.
template <bool kLargest>
SHARD_LOOP void take_first(const auto& x, auto& y) {
  if constexpr (kLargest)
    y = x > y ? x : y;
  else
    y = x < y ? x : y;
}

// The most extreme of n >= kWidth elements by comparing alone, which passes over a nan and takes either zero; and
// whether there is a nan. In any order: vectors that begin before the end go over some elements twice.
template <std::int64_t kVectors, bool kLargest, class T>
SHARD_LOOP T extreme_in(const T* x, std::int64_t n, bool& nan) {
  using Vs = Vectors<T>;
  constexpr std::int64_t kWidth = Vs::kWidth, kSeen = kVectors * kWidth;
  const std::int64_t last = n - kWidth;
  typename Vs::V most[kVectors], next;
  decltype(next != next) nans[kVectors];
  const auto see = [&](std::int64_t v, std::int64_t at) __attribute__((always_inline)) {
    Vs::load(next, x + at);
    take_first<kLargest>(next, most[v]);
    nans[v] |= next != next;
  };
#pragma GCC unroll 8
  for (std::int64_t v = 0; v < kVectors; ++v)
    Vs::load(most[v], x + (v * kWidth < last ? v * kWidth : last)), nans[v] = most[v] != most[v];
  std::int64_t i = kSeen;
  for (; i + kSeen <= n; i += kSeen)
#pragma GCC unroll 8
    for (std::int64_t v = 0; v < kVectors; ++v) see(v, i + v * kWidth);
  for (; i < n; i += kWidth) see(0, i < last ? i : last);
#pragma GCC unroll 4
  for (std::int64_t half = kVectors / 2; half >= 1; half /= 2)
#pragma GCC unroll 8
    for (std::int64_t v = 0; v < half; ++v) {
      take_first<kLargest>(most[v + half], most[v]);
      nans[v] |= nans[v + half];
    }
  Vs::fold(
      most[0], [](const auto& from, auto& to) __attribute__((always_inline)) { take_first<kLargest>(from, to); });
  Vs::fold(
      nans[0], [](const auto& from, auto& to) __attribute__((always_inline)) { to |= from; });
  nan = nans[0][0] != 0;
  return most[0][0];
}
template <bool kLargest, class T>
SHARD_LOOP T extreme_in(const T* x, std::int64_t n, bool& nan) {
  return n <= 2 * Vectors<T>::kWidth ? extreme_in<2, kLargest>(x, n, nan)
                                     : extreme_in<4, kLargest>(x, n, nan);  // registers of AVX2
}

// Elements of the longest lines that are done eight together.
constexpr std::int64_t kShortLine = 64;

// Four elements of each of eight lines: element l of the lines in the lanes of line[l].
template <class T, class V>
SHARD_LOOP void four_of_eight(const T* x, std::int64_t apart, V (&line)[4]) {
  typedef T Half __attribute__((vector_size(16)));
  V pair[4];
#pragma GCC unroll 4
  for (std::int64_t l = 0; l < 4; ++l) {
    Half low, high;
    __builtin_memcpy(&low, x + l * apart, sizeof low);
    __builtin_memcpy(&high, x + (l + 4) * apart, sizeof high);
    line[l] = __builtin_shufflevector(low, high, 0, 1, 2, 3, 4, 5, 6, 7);
  }
#pragma GCC unroll 2
  for (std::int64_t l = 0; l < 4; l += 2) {
    pair[l] = __builtin_shufflevector(line[l], line[l + 1], 0, 8, 1, 9, 4, 12, 5, 13);
    pair[l + 1] = __builtin_shufflevector(line[l], line[l + 1], 2, 10, 3, 11, 6, 14, 7, 15);
  }
#pragma GCC unroll 2
  for (std::int64_t h = 0; h < 2; ++h) {
    line[2 * h] = __builtin_shufflevector(pair[h], pair[h + 2], 0, 1, 8, 9, 4, 5, 12, 13);
    line[2 * h + 1] = __builtin_shufflevector(pair[h], pair[h + 2], 2, 3, 10, 11, 6, 7, 14, 15);
  }
}

}  // namespace
}  // namespace shard::runtime::SHARD_ISA
