// Small matrix products, whose operands lie in the nearest cache: tiles of the result stay in registers and operands
// are read as they lie. Eigen packs both first, which takes longer than such a product itself. Packets are of the
// instruction set's width, halved for narrow results.
#include "runtime/kernels/vector/common.h"
#include "runtime/kernels/vector/turn_eight.h"

#include <algorithm>
#include <cstring>
#include <type_traits>
#include <utility>

// Of the terms of a tile two in a turn: else its speed hangs on where the code lies (8 %).
#if defined(__AVX512F__)
#define SHARD_TWO_TERMS _Pragma("GCC unroll 2")
#else
#define SHARD_TWO_TERMS
#endif

namespace shard::runtime::SHARD_ISA {
namespace {

// B bytes of T, added and multiplied together (fused: this file is compiled with -ffp-contract=fast).
template <class T, int B>
struct Packet {
  static constexpr std::int64_t kSize = B / static_cast<int>(sizeof(T));
  typedef T V __attribute__((vector_size(B)));
  V v;
  static Packet of(const T* from) {
    Packet p;
    std::memcpy(&p.v, from, B);
    return p;
  }
  void to(T* at) const { std::memcpy(at, &v, B); }
  T sum() const {  // of halves, and of their halves
    if constexpr (B > 16) {
      Packet<T, B / 2> low, high;
      std::memcpy(&low.v, &v, B / 2);
      std::memcpy(&high.v, reinterpret_cast<const char*>(&v) + B / 2, B / 2);
      low.v += high.v;
      return low.sum();
    } else if constexpr (kSize == 4) {
      return (v[0] + v[2]) + (v[1] + v[3]);
    } else {
      return v[0] + v[1];
    }
  }
};

// R rows and V packets of columns of the result, from element (i, j) on; columns of w lie one after the other.
template <class T, int B, int R, int V>
void tile(const Gemm& g, std::int64_t i, std::int64_t j) {
  using P = Packet<T, B>;
  const T* a = static_cast<const T*>(g.a) + i * g.a_row;
  const T* w = static_cast<const T*>(g.w) + j;
  P sum[R][V] = {};
  const std::int64_t each = g.k / g.part_count;
  T* c = static_cast<T*>(g.c) + i * g.c_row + j;
#pragma GCC unroll 8
  for (int r = 0; r < R; ++r)
#pragma GCC unroll 8
    for (int v = 0; v < V; ++v) __builtin_prefetch(c + r * g.c_row + v * P::kSize, 1);
  for (std::int64_t part = 0; part < g.part_count; ++part) {
    const T* x = a + (g.parts ? g.parts[part] : 0);
    SHARD_TWO_TERMS
    for (std::int64_t p = 0; p < each; ++p, x += g.a_col, w += g.w_row) {
      P b[V];
#pragma GCC unroll 8
      for (int v = 0; v < V; ++v) b[v] = P::of(w + v * P::kSize);
#pragma GCC unroll 8
      for (int r = 0; r < R; ++r)
#pragma GCC unroll 8
        for (int v = 0; v < V; ++v) sum[r][v].v += x[r * g.a_row] * b[v].v;
    }
  }
#pragma GCC unroll 8
  for (int r = 0; r < R; ++r)
#pragma GCC unroll 8
    for (int v = 0; v < V; ++v) sum[r][v].to(c + r * g.c_row + v * P::kSize);
}

// All columns of R rows at a time, from row i on. Gives the first row that is left. Of some rows, V packets of columns
// come after V packets: those of w stay in the nearest cache. The last packet begins where it ends with the row, so
// that it makes some elements again.
template <class T, int B, int R, int V>
std::int64_t rows(const Gemm& g, std::int64_t i) {
  constexpr std::int64_t kSize = Packet<T, B>::kSize, kSome = 64;
  for (std::int64_t end = i; (end = std::min(g.m, i + kSome) / R * R) > i; i = end) {
    const auto panel = [&](auto tile_at) {
      for (std::int64_t r = i; r < end; r += R) tile_at(r);
    };
    std::int64_t j = 0;
    for (; j + V * kSize <= g.n; j += V * kSize) panel([&](std::int64_t r) { tile<T, B, R, V>(g, r, j); });
    if constexpr (V > 4)
      for (; j + 4 * kSize <= g.n; j += 4 * kSize) panel([&](std::int64_t r) { tile<T, B, R, 4>(g, r, j); });
    for (; j + kSize <= g.n; j += kSize) panel([&](std::int64_t r) { tile<T, B, R, 1>(g, r, j); });
    if (j < g.n) panel([&](std::int64_t r) { tile<T, B, R, 1>(g, r, g.n - kSize); });
  }
  return i;
}

template <class T, int B>
void by_rows(const Gemm& g) {
  if constexpr (B > 16)
    if (g.n < Packet<T, B>::kSize) return by_rows<T, B / 2>(g);
  std::int64_t i = 0;
  if (kVectorBytes == 64 || g.n < 2 * Packet<T, B>::kSize) {
    constexpr int kColumns = kVectorBytes == 64 ? 2 : 1;
    i = rows<T, B, 8, kColumns>(g, i);  // the last rows, as the last columns, some again
    if (i > 0 && g.m - i > 4) rows<T, B, 8, kColumns>(g, g.m - 8), i = g.m;
  }
  i = rows<T, B, 4, 2>(g, i);
  if (i > 0 && i < g.m) rows<T, B, 4, 2>(g, g.m - 4), i = g.m;
  rows<T, B, 1, 8>(g, i);
}

// Columns that do not fill a packet, or do not lie side by side, of many rows: of `w` with more columns of zeros, each
// row goes once. The same bits.
template <class T>
bool filled_up(const Gemm& g) {
  constexpr std::int64_t kRows = 64, kMost = 8192, kWide = Packet<T, kVectorBytes>::kSize;
  std::int64_t n = Packet<T, 16>::kSize;
  while (n < g.n) n *= 2;
  const bool as_it_lies = g.w_col == 1 && (n == g.n || n == Packet<T, 16>::kSize);
  if (as_it_lies || g.n < Packet<T, 16>::kSize || n > kWide || g.m < kRows || g.k * n > kMost || g.part_count != 1)
    return false;
  alignas(64) T w[kMost], c[kRows * kWide];
  for (std::int64_t p = 0; p < g.k; ++p) {
    const T* from = static_cast<const T*>(g.w) + p * g.w_row;
    for (std::int64_t j = 0; j < n; ++j) w[p * n + j] = j < g.n ? from[j * g.w_col] : T{0};
  }
  for (std::int64_t i = 0; i < g.m; i += kRows) {
    const std::int64_t rows = std::min(kRows, g.m - i);
    by_rows<T, kVectorBytes>({rows, n, g.k, static_cast<const T*>(g.a) + i * g.a_row, g.a_row, g.a_col, w, n, 1, c, n});
    T* to = static_cast<T*>(g.c) + i * g.c_row;
    for (std::int64_t r = 0; r < rows; ++r, to += g.c_row)
      for (std::int64_t j = 0; j < g.n; ++j) to[j] = c[r * n + j];
  }
  return true;
}

// Columns whose terms lie side by side, of some rows: of `w` turned, in the nearest cache. Where packing gives other
// bits it is done for any rows.
template <class T>
bool turned(const Gemm& g) {
  constexpr std::int64_t kRows = kPackedAlike ? 16 : 2;
  if (g.w_row != 1 || g.w_col == 1 || g.n % 8 != 0 || g.k % 8 != 0 || g.m < kRows || g.n * g.k > kTurnedSmall ||
      g.part_count != 1)
    return false;
  alignas(64) T w[kTurnedSmall];
  for (std::int64_t j = 0; j < g.n; j += 8)
    for (std::int64_t p = 0; p < g.k; p += 8)
      turn_eight<T>(reinterpret_cast<const unsigned char*>(static_cast<const T*>(g.w) + j * g.w_col + p),
                    g.w_col * static_cast<std::int64_t>(sizeof(T)), w + p * g.n + j, g.n);
  by_rows<T, kVectorBytes>({g.m, g.n, g.k, g.a, g.a_row, g.a_col, w, g.n, 1, g.c, g.c_row});
  return true;
}

// The lanes of `to` that come from `from`: of two packets in parts of S lanes each, the lower or the upper halves of
// all parts.
template <int S, int From, int... I>
auto halves_mask(std::integer_sequence<int, I...>) {
  typedef int M __attribute__((vector_size(sizeof...(I) * sizeof(int))));
  return M{(I / (S / 2) * S + I % (S / 2) + From)...};
}

// sums[r] gets the sum of the lanes of packet r, added in the order of Packet::sum: two packets at a time become one of
// their halves' sums, until each lane holds the sum of one packet.
template <class T, int B, int S = B / static_cast<int>(sizeof(T))>
void sum_lanes(Packet<T, B>* packets) {
  using P = Packet<T, B>;
  if constexpr (S > 1) {
    typedef std::conditional_t<sizeof(T) == 8, std::int64_t, std::int32_t> M __attribute__((vector_size(B)));
    constexpr auto kLanes = std::make_integer_sequence<int, static_cast<int>(P::kSize)>{};
    const M low = __builtin_convertvector(halves_mask<S, 0>(kLanes), M);
    const M high = __builtin_convertvector((halves_mask<S, S / 2>(kLanes)), M);
#pragma GCC unroll 16
    for (int i = 0; i < S / 2; ++i) {
      const auto x = packets[2 * i].v, y = packets[2 * i + 1].v;
      packets[i].v = __builtin_shuffle(x, y, low) + __builtin_shuffle(x, y, high);
    }
    sum_lanes<T, B, S / 2>(packets);
  }
}

// The bits of lanes: of the last `some` lanes all, of those before none.
template <class T, int B>
auto last_lanes(std::int64_t some) {
  constexpr std::int64_t kSize = Packet<T, B>::kSize;
  typedef std::conditional_t<sizeof(T) == 8, std::int64_t, std::int32_t> Bits __attribute__((vector_size(B)));
  Bits bits;
  for (std::int64_t l = 0; l < kSize; ++l) bits[l] = l + some < kSize ? 0 : -1;
  return bits;
}

// R products of a row of `a` with one vector, where both operands' terms lie one after the other.
template <class T, int B, int R>
void dots(const Gemm& g, std::int64_t i) {
  using P = Packet<T, B>;
  const T* a = static_cast<const T*>(g.a) + i * g.a_row;
  const T* w = static_cast<const T*>(g.w);
  P sum[R] = {};
  std::int64_t p = 0;
  for (; p + P::kSize <= g.k; p += P::kSize) {
    const P b = P::of(w + p);
#pragma GCC unroll 16
    for (int r = 0; r < R; ++r) sum[r].v += P::of(a + r * g.a_row + p).v * b.v;
  }
  if (p > 0 && p < g.k) {  // a packet of the last terms, without those that were there before
    const auto bits = last_lanes<T, B>(g.k - p);
    const P b = P::of(w + g.k - P::kSize);
#pragma GCC unroll 16
    for (int r = 0; r < R; ++r) {
      const auto x = reinterpret_cast<decltype(bits)>(P::of(a + r * g.a_row + g.k - P::kSize).v) & bits;
      sum[r].v += reinterpret_cast<typename P::V>(x) * b.v;
    }
    p = g.k;
  }
  if constexpr (R == P::kSize) {
    sum_lanes<T, B>(sum);
  } else {
    P totals = {};
#pragma GCC unroll 16
    for (int r = 0; r < R; ++r) totals.v[r] = sum[r].sum();
    sum[0] = totals;
  }
  T* c = static_cast<T*>(g.c) + i * g.c_row;
  if (R == P::kSize && g.c_row == 1 && p == g.k) return sum[0].to(c);
  for (int r = 0; r < R; ++r) {
    T total = sum[0].v[r];
    for (std::int64_t q = p; q < g.k; ++q) total += a[r * g.a_row + q] * w[q];
    c[r * g.c_row] = total;
  }
}

// Packets are no longer than the vector.
template <class T, int B = kVectorBytes>
void all_dots(const Gemm& g) {
  constexpr int kMany = Packet<T, B>::kSize;
  if constexpr (B > 16)
    if (g.k < kMany) return all_dots<T, B / 2>(g);
  std::int64_t i = 0;
  for (; i + kMany <= g.m; i += kMany) dots<T, B, kMany>(g, i);
  if constexpr (kMany > 4)
    for (; i + 4 <= g.m; i += 4) dots<T, B, 4>(g, i);
  for (; i < g.m; ++i) dots<T, B, 1>(g, i);
}

constexpr std::int64_t kNarrowRows = 64, kShortRow = 32;

// Few columns of many rows that lie beside each other: the transposed product, whose lines are long, piece by piece.
template <class T>
void narrow(const Gemm& g) {
  alignas(64) T turned[Packet<T, kVectorBytes>::kSize][kNarrowRows], lines[kShortRow][kNarrowRows];
  const bool turns = g.a_row != 1;
  for (std::int64_t next = 0; next < g.m; next += kNarrowRows) {
    const std::int64_t i = std::min(next, g.m - kNarrowRows);  // the last rows, some again
    const T* a = static_cast<const T*>(g.a) + i * g.a_row;
    for (std::int64_t r = 0; turns && r < kNarrowRows; r += 8)  // short rows are turned before
      for (std::int64_t p0 = 0; p0 < g.k; p0 += 8) {
        const std::int64_t p = std::min(p0, g.k - 8);
        turn_eight<T>(reinterpret_cast<const unsigned char*>(a + r * g.a_row + p),
                      g.a_row * static_cast<std::int64_t>(sizeof(T)), &lines[p][r], kNarrowRows);
      }
    by_rows<T, kVectorBytes>({g.n, kNarrowRows, g.k, g.w, g.w_col, g.w_row, turns ? lines[0] : a,
                              turns ? kNarrowRows : g.a_col, 1, turned, kNarrowRows});
    T* c = static_cast<T*>(g.c) + i * g.c_row;
    for (std::int64_t r = 0; r < kNarrowRows; ++r, c += g.c_row)
      for (std::int64_t j = 0; j < g.n; ++j) c[j] = turned[j][r];
  }
}

// N columns and few rows, of which V packets beside each other hold all, term after term: what a packet reads behind
// the rows belongs to the next term, and the last terms go from a copy.
template <class T, int N, int V>
void few_sums(const Gemm& g) {
  using P = Packet<T, kVectorBytes>;
  constexpr std::int64_t kLine = V * P::kSize;
  const T* a = static_cast<const T*>(g.a);
  const T* w = static_cast<const T*>(g.w);
  P sum[N][V] = {};
  const auto add = [&](const T* line) {
#pragma GCC unroll 8
    for (int v = 0; v < V; ++v) {
      const P x = P::of(line + v * P::kSize);
#pragma GCC unroll 8
      for (int j = 0; j < N; ++j) sum[j][v].v += x.v * w[j];
    }
    w += g.w_row;
  };
  const std::int64_t behind = (kLine - g.m + g.a_col - 1) / g.a_col;
  std::int64_t p = 0;
  for (; p < g.k - behind; ++p) add(a + p * g.a_col);
  for (; p < g.k; ++p) {
    T line[kLine] = {};
    std::memcpy(line, a + p * g.a_col, static_cast<std::size_t>(g.m) * sizeof(T));
    add(line);
  }
  T* c = static_cast<T*>(g.c);
  for (std::int64_t i = 0; i < g.m; ++i)
    for (int j = 0; j < N; ++j) c[i * g.c_row + j] = sum[j][i / P::kSize].v[i % P::kSize];
}

// Where they suit the sizes.
template <class T, int N>
bool all_few_sums(const Gemm& g) {
  constexpr auto kSize = Packet<T, kVectorBytes>::kSize;
  if (g.m > 4 * kSize) return false;
  if (g.m > 2 * kSize) return few_sums<T, N, 4>(g), true;
  if (g.m > kSize) return few_sums<T, N, 2>(g), true;
  return few_sums<T, N, 1>(g), true;
}

// N columns of rows of few terms, each row by itself.
template <class T, int N>
void short_rows(const Gemm& g) {
  constexpr int kMost = Packet<T, 32>::kSize;
  T w[kMost][N] = {};
  for (std::int64_t p = 0; p < g.k; ++p)
    for (int j = 0; j < N; ++j) w[p][j] = static_cast<const T*>(g.w)[p * g.w_row + j * g.w_col];
  const T* a = static_cast<const T*>(g.a);
  T* c = static_cast<T*>(g.c);
  for (std::int64_t i = 0; i < g.m; ++i, a += g.a_row, c += g.c_row) {
    T sum[N] = {};
    for (std::int64_t p = 0; p < g.k; ++p)
      for (int j = 0; j < N; ++j) sum[j] += a[p] * w[p][j];
    for (int j = 0; j < N; ++j) c[j] = sum[j];
  }
}

// Few columns of rows whose terms lie one after the other: rows that stay in the nearest cache by one column after the
// other. It takes a load for as many terms as a packet has, and some to add up its lanes; `by_rows` takes one a term.
template <class T>
struct Columns {
  static constexpr std::int64_t kSize = Packet<T, kVectorBytes>::kSize, kMost = 8192;  // elements of w
  static bool suit(const Gemm& g) {
    const bool few = g.n < 4 || g.n * (g.k + 7 * kSize) < g.k * kSize;
    return few && g.n > 1 && g.m > 1 && g.a_col == 1 && g.n * g.k <= kMost && g.part_count == 1;
  }
  static void run(const Gemm& g) {
    if (g.k >= 8 && g.k <= kShortRow && g.m >= kNarrowRows && g.n <= kSize) return narrow<T>(g);
    if (g.k < Packet<T, 32>::kSize) return g.n == 2 ? short_rows<T, 2>(g) : short_rows<T, 3>(g);
    constexpr std::int64_t kNear = 4096;  // terms
    alignas(64) T turned[kMost];
    for (std::int64_t j = 0; g.w_row != 1 && j < g.n; ++j)
      for (std::int64_t p = 0; p < g.k; ++p)
        turned[j * g.k + p] = static_cast<const T*>(g.w)[p * g.w_row + j * g.w_col];
    const std::int64_t rows = std::max<std::int64_t>(kNear / g.k / 16 * 16, 16);
    for (std::int64_t i = 0; i < g.m; i += rows)
      for (std::int64_t j = 0; j < g.n; ++j) {
        const T* w = g.w_row == 1 ? static_cast<const T*>(g.w) + j * g.w_col : turned + j * g.k;
        all_dots<T>({std::min(rows, g.m - i), 1, g.k, static_cast<const T*>(g.a) + i * g.a_row, g.a_row, 1, w, 1, 0,
                     static_cast<T*>(g.c) + i * g.c_row + j, g.c_row});
      }
  }
};

// A vector times a matrix in any order, and a matrix by rows times a vector, which is the same.
template <class T>
bool small(const Gemm& g) {
  constexpr auto kLeast = Packet<T, 16>::kSize;
  if (g.w_col == 1 && g.n > 1 && g.n < Packet<T, kVectorBytes>::kSize && g.a_row == 1 && g.m >= kNarrowRows &&
      g.part_count == 1)
    return narrow<T>(g), true;
  if ((g.w_col == 1 || g.n == 1) && g.n < 4 && g.a_row == 1 && g.a_col != 1 && g.k >= 16 && g.part_count == 1)
    if (g.n == 1 ? all_few_sums<T, 1>(g) : g.n == 2 ? all_few_sums<T, 2>(g) : all_few_sums<T, 3>(g)) return true;
  if (g.n == 1 && g.a_col == 1 && g.w_row == 1 && g.k < kLeast && g.m > 1 && g.part_count == 1)
    return short_rows<T, 1>(g), true;
  if (Columns<T>::suit(g)) return Columns<T>::run(g), true;
  if (filled_up<T>(g) || turned<T>(g)) return true;
  if (g.w_col == 1 && g.n >= kLeast) return by_rows<T, kVectorBytes>(g), true;
  if (g.n == 1 && g.a_row == 1 && g.c_row == 1 && g.m >= kLeast)
    return by_rows<T, kVectorBytes>({1, g.m, g.k, g.w, 0, g.w_row, g.a, g.a_col, 1, g.c, g.m}), true;
  if ((g.n > 1 && g.m > 1) || g.a_col != 1 || g.w_row != 1) return false;
  if (g.n == 1)
    all_dots<T>(g);
  else
    all_dots<T>({g.n, 1, g.k, g.w, g.w_col, 1, g.a, 1, 0, g.c, 1});
  return true;
}

}  // namespace

bool gemm_small_f32(const Gemm& g) { return small<float>(g); }
bool gemm_small_f64(const Gemm& g) { return small<double>(g); }

}  // namespace shard::runtime::SHARD_ISA
