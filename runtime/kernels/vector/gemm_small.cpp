// Small matrix products, whose operands lie in the nearest cache: tiles of the result stay in registers and operands
// are read as they lie. Eigen packs both first, which takes longer than such a product itself. Its packets are used, of
// the instruction set's width, halved for narrow results.
#include "runtime/kernels/vector/parts.h"

#include <cstring>

namespace shard::runtime::SHARD_ISA {
namespace {

#if defined(__AVX512F__)
constexpr int kWidest = 64;
#elif defined(__AVX__)
constexpr int kWidest = 32;
#else
constexpr int kWidest = 16;
#endif

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
  for (std::int64_t p = 0; p < g.k; ++p) {
    P b[V];
#pragma GCC unroll 8
    for (int v = 0; v < V; ++v) b[v] = P::of(w + p * g.w_row + v * P::kSize);
#pragma GCC unroll 8
    for (int r = 0; r < R; ++r) {
      const T x = a[r * g.a_row + p * g.a_col];
#pragma GCC unroll 8
      for (int v = 0; v < V; ++v) sum[r][v].v += x * b[v].v;
    }
  }
  T* c = static_cast<T*>(g.c) + i * g.c_row + j;
#pragma GCC unroll 8
  for (int r = 0; r < R; ++r)
#pragma GCC unroll 8
    for (int v = 0; v < V; ++v) sum[r][v].to(c + r * g.c_row + v * P::kSize);
}

// All columns of R rows. The last packet begins where it ends with the row, so that it makes some elements again.
template <class T, int B, int R, int V>
void rows(const Gemm& g, std::int64_t i) {
  constexpr std::int64_t kSize = Packet<T, B>::kSize;
  std::int64_t j = 0;
  for (; j + V * kSize <= g.n; j += V * kSize) tile<T, B, R, V>(g, i, j);
  for (; j + kSize <= g.n; j += kSize) tile<T, B, R, 1>(g, i, j);
  if (j < g.n) tile<T, B, R, 1>(g, i, g.n - kSize);
}

template <class T, int B>
void by_rows(const Gemm& g) {
  if constexpr (B > 16)
    if (g.n < Packet<T, B>::kSize) return by_rows<T, B / 2>(g);
  std::int64_t i = 0;
  if (g.n < 2 * Packet<T, B>::kSize)
    for (; i + 8 <= g.m; i += 8) rows<T, B, 8, 1>(g, i);
  for (; i + 4 <= g.m; i += 4) rows<T, B, 4, 2>(g, i);
  for (; i < g.m; ++i) rows<T, B, 1, 4>(g, i);
}

// R elements of column j, where both operands' terms lie one after the other.
template <class T, int R>
void dots(const Gemm& g, std::int64_t i, std::int64_t j) {
  using P = Packet<T, kWidest>;
  const T* a = static_cast<const T*>(g.a) + i * g.a_row;
  const T* w = static_cast<const T*>(g.w) + j * g.w_col;
  P sum[R] = {};
  std::int64_t p = 0;
  for (; p + P::kSize <= g.k; p += P::kSize) {
    const P b = P::of(w + p);
#pragma GCC unroll 8
    for (int r = 0; r < R; ++r) sum[r].v += P::of(a + r * g.a_row + p).v * b.v;
  }
#pragma GCC unroll 8
  for (int r = 0; r < R; ++r) {
    T total = sum[r].sum();
    for (std::int64_t q = p; q < g.k; ++q) total += a[r * g.a_row + q] * w[q];
    static_cast<T*>(g.c)[(i + r) * g.c_row + j] = total;
  }
}

// A vector times a matrix in any order, and a matrix by rows times a vector, which is the same.
template <class T>
bool small(const Gemm& g) {
  constexpr auto kLeast = Packet<T, 16>::kSize;
  if (g.w_col == 1 && g.n >= kLeast) return by_rows<T, kWidest>(g), true;
  if (g.n == 1 && g.a_row == 1 && g.c_row == 1 && g.m >= kLeast)
    return by_rows<T, kWidest>({1, g.m, g.k, g.w, 0, g.w_row, g.a, g.a_col, 1, g.c, g.m}), true;
  if ((g.n > 1 && g.m > 1) || g.a_col != 1 || g.w_row != 1) return false;
  for (std::int64_t j = 0; j < g.n; ++j) {
    std::int64_t i = 0;
    for (; i + 4 <= g.m; i += 4) dots<T, 4>(g, i, j);
    for (; i < g.m; ++i) dots<T, 1>(g, i, j);
  }
  return true;
}

}  // namespace

bool gemm_small_f32(const Gemm& g) { return small<float>(g); }
bool gemm_small_f64(const Gemm& g) { return small<double>(g); }

}  // namespace shard::runtime::SHARD_ISA
