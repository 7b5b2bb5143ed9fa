// Products of 32-bit integers, which wrap: rows of W, four at a time, are added to rows of C, a few of which stay in
// the nearest cache.
#include <algorithm>
#include <cstdint>
#include <cstring>

#include "runtime/kernels/vector/common.h"

namespace shard::runtime::SHARD_ISA {
namespace {

using Word = std::uint32_t;
constexpr std::int64_t kColumns = 512, kTerms = 4;

template <std::int64_t N>
void add_rows(const Gemm& g, std::int64_t p, const Word* w, std::int64_t columns, Word* c) {
  const Word* a = static_cast<const Word*>(g.a) + p * g.a_col;
  for (std::int64_t i = 0; i < g.m; ++i, a += g.a_row, c += g.c_row) {
    Word x[N];
    for (std::int64_t t = 0; t < N; ++t) x[t] = a[t * g.a_col];
#pragma GCC ivdep
    for (std::int64_t j = 0; j < columns; ++j) {
      Word sum = c[j];
#pragma GCC unroll 4
      for (std::int64_t t = 0; t < N; ++t) sum += x[t] * w[t * g.w_row + j];
      c[j] = sum;
    }
  }
}

}  // namespace

void gemm_u32(const Gemm& g) {
  for (std::int64_t from = 0; from < g.n; from += kColumns) {
    const std::int64_t columns = std::min(kColumns, g.n - from);
    Word* c = static_cast<Word*>(g.c) + from;
    for (std::int64_t i = 0; i < g.m; ++i)
      std::memset(c + i * g.c_row, 0, static_cast<std::size_t>(columns) * sizeof(Word));
    const Word* w = static_cast<const Word*>(g.w) + from;
    std::int64_t p = 0;
    for (; p + kTerms <= g.k; p += kTerms, w += kTerms * g.w_row) add_rows<kTerms>(g, p, w, columns, c);
    for (; p < g.k; ++p, w += g.w_row) add_rows<1>(g, p, w, columns, c);
  }
}

}  // namespace shard::runtime::SHARD_ISA
