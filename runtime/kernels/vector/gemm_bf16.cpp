// Products of bf16 by the processor's own instruction (AVX512_BF16): a word is two terms, whose products it adds to a
// sum of f32. What is too small for a normal number counts as zero.
#include <immintrin.h>

#include "runtime/kernels/vector/packed.h"

namespace shard::runtime::SHARD_ISA {
namespace {

struct Halves {
  using Item = std::uint16_t;
  using Word = std::uint32_t;
  using Sum = float;
  typedef float Sums __attribute__((vector_size(kRegister)));
  static constexpr std::int64_t kTerms = 2;
  static __m512bh load(const Word* w) { return reinterpret_cast<__m512bh>(_mm512_loadu_si512(w)); }
  static void add(Sums& sum, Word x, const __m512bh& w) {
    sum = _mm512_dpbf16_ps(sum, reinterpret_cast<__m512bh>(_mm512_set1_epi32(static_cast<int>(x))), w);
  }
  static Word word(const Item* line, std::int64_t term, std::int64_t left) {
    return static_cast<Word>(line[0]) | (left > 1 ? static_cast<Word>(line[term]) << 16 : 0);
  }
};

}  // namespace

void gemm_bf16(const Gemm& g) { packed_product<Halves>(g); }

}  // namespace shard::runtime::SHARD_ISA
