// Products of bf16 by the processor's own instructions. What is too small for a normal number counts as zero.
#include <immintrin.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "runtime/kernels/vector/packed.h"

namespace shard::runtime::SHARD_ISA {
namespace {

// By AVX512_BF16: a word is two terms, whose products it adds to a sum of f32.
struct Halves {
  using Item = std::uint16_t;
  using Word = std::uint32_t;
  using Sum = float;
  typedef float Sums __attribute__((vector_size(kVectorBytes)));
  static constexpr std::int64_t kTerms = 2;
  static __m512bh load(const Word* w) { return reinterpret_cast<__m512bh>(_mm512_loadu_si512(w)); }
  static void add(Sums& sum, Word x, const __m512bh& w) {
    sum = _mm512_dpbf16_ps(sum, reinterpret_cast<__m512bh>(_mm512_set1_epi32(static_cast<int>(x))), w);
  }
  static Word word(const Item* line, std::int64_t term, std::int64_t left) {
    return static_cast<Word>(line[0]) | (left > 1 ? static_cast<Word>(line[term]) << 16 : 0);
  }
};

// ---- by tiles (AMX): one of 16 rows of 32 terms and one of 16 columns of 32 terms add to one of 16 by 16 sums. Two by
// two of them are done together.
constexpr std::int64_t kSide = 16, kTileTerms = 32, kTileWords = kSide * kSide, kPair = 2 * kSide;
constexpr std::int64_t kTermsAtOnce = 768, kRowsAtOnce = 256;  // of A: for the second cache
using Word = Halves::Word;

struct Tiles {  // eight of 16 lines of 64 bytes, as long as one lives
  struct alignas(64) Shapes {
    std::uint8_t palette = 1, start = 0, reserved[14] = {};
    std::uint16_t bytes[16] = {64, 64, 64, 64, 64, 64, 64, 64};
    std::uint8_t lines[16] = {16, 16, 16, 16, 16, 16, 16, 16};
  };
  Tiles() {
    const Shapes shapes;
    _tile_loadconfig(&shapes);
  }
  ~Tiles() { _tile_release(); }
};

// `a`: two times `tiles` tiles, those of a row one behind the other; `w`: a panel of two tiles beside each other.
void pair(const Word* a, const Word* w, std::int64_t tiles, float* c, std::int64_t c_row, bool more) {
  const auto step = static_cast<std::size_t>(c_row) * sizeof(float);
  float* const below = c + kSide * c_row;
  if (more) {
    _tile_loadd(0, c, step);
    _tile_loadd(1, c + kSide, step);
    _tile_loadd(2, below, step);
    _tile_loadd(3, below + kSide, step);
  } else {
    _tile_zero(0);
    _tile_zero(1);
    _tile_zero(2);
    _tile_zero(3);
  }
  const Word* const a_below = a + tiles * kTileWords;
  for (std::int64_t t = 0; t < tiles; ++t) {
    _tile_loadd(4, a + t * kTileWords, 64);
    _tile_loadd(6, w + t * 2 * kTileWords, 128);
    _tile_loadd(7, w + t * 2 * kTileWords + kSide, 128);
    _tile_loadd(5, a_below + t * kTileWords, 64);
    _tile_dpbf16ps(0, 4, 6);
    _tile_dpbf16ps(1, 4, 7);
    _tile_dpbf16ps(2, 5, 6);
    _tile_dpbf16ps(3, 5, 7);
  }
  _tile_stored(0, c, step);
  _tile_stored(1, c + kSide, step);
  _tile_stored(2, below, step);
  _tile_stored(3, below + kSide, step);
}

// At the edge of the result.
void edge(const Word* a, const Word* w, std::int64_t tiles, float* c, std::int64_t c_row, bool more, std::int64_t rows,
          std::int64_t columns) {
  alignas(64) float all[kPair * kPair] = {};
  const auto bytes = static_cast<std::size_t>(columns) * sizeof(float);
  for (std::int64_t r = 0; more && r < rows; ++r) std::memcpy(all + r * kPair, c + r * c_row, bytes);
  pair(a, w, tiles, all, kPair, more);
  for (std::int64_t r = 0; r < rows; ++r) std::memcpy(c + r * c_row, all + r * kPair, bytes);
}

// Up to 16 rows of A as tiles; terms and rows that are lacking are zero.
void pack_rows(const std::uint16_t* from, std::int64_t row, std::int64_t term, std::int64_t rows, std::int64_t terms,
               Word* to) {
  for (std::int64_t at = 0; at < terms; at += kTileTerms, to += kTileWords) {
    const std::int64_t some = std::min(kTileTerms, terms - at);
    if (rows < kSide || some < kTileTerms) std::memset(to, 0, kTileWords * sizeof(Word));
    if (term == 1) {
      for (std::int64_t r = 0; r < rows; ++r)
        std::memcpy(to + r * kSide, from + r * row + at, static_cast<std::size_t>(some) * sizeof(*from));
      continue;
    }
    alignas(64) Word turned[kTileWords] = {};
    pack<Halves, kSide>(from + at * term, row, term, rows, some, turned);
    for (std::int64_t r = 0; r < kSide; r += 8)
      for (std::int64_t p = 0; p < kSide; p += 8)
        turn_eight<Word>(reinterpret_cast<const unsigned char*>(turned + p * kSide + r), kSide * sizeof(Word),
                         to + r * kSide + p, kSide);
  }
}

void by_tiles(const Gemm& g) {
  const auto up = [](std::int64_t x, std::int64_t to) { return (x + to - 1) / to * to; };
  const auto *a = static_cast<const std::uint16_t*>(g.a), *w = static_cast<const std::uint16_t*>(g.w);
  auto* c = static_cast<float*>(g.c);
  const std::int64_t parts = (g.k - 1) / kTermsAtOnce + 1, depth = up((g.k + parts - 1) / parts, kTileTerms);
  const std::int64_t wide = std::min(g.n, kBlockColumns), high = std::min(g.m, kRowsAtOnce), words = depth / 2;
  static thread_local Scratch scratch;
  auto* const panels = static_cast<Word*>(
      scratch.of(static_cast<std::size_t>((up(wide, kPair) + up(high, kPair)) * words) * sizeof(Word)));
  Word* const strips = panels + up(wide, kPair) * words;
  const Tiles configured;
  for (std::int64_t j0 = 0; j0 < g.n; j0 += wide)
    for (std::int64_t k0 = 0; k0 < g.k; k0 += depth) {
      const std::int64_t columns = std::min(wide, g.n - j0), terms = std::min(depth, g.k - k0),
                         tiles = (terms + kTileTerms - 1) / kTileTerms, count = tiles * kSide;
      for (std::int64_t j = 0; j < columns; j += kPair) {
        Word* const panel = panels + j * count;
        pack<Halves, kPair>(w + (j0 + j) * g.w_col + k0 * g.w_row, g.w_col, g.w_row, std::min(kPair, columns - j),
                            terms, panel);
        const std::int64_t filled = (terms + 1) / 2;
        std::memset(panel + filled * kPair, 0, static_cast<std::size_t>((count - filled) * kPair) * sizeof(Word));
      }
      for (std::int64_t i0 = 0; i0 < g.m; i0 += high) {
        const std::int64_t rows = std::min(high, g.m - i0);
        for (std::int64_t i = 0; i < up(rows, kPair); i += kSide)
          pack_rows(a + (i0 + i) * g.a_row + k0 * g.a_col, g.a_row, g.a_col,
                    std::clamp<std::int64_t>(rows - i, 0, kSide), terms, strips + i * count);
        for (std::int64_t j = 0; j < columns; j += kPair)
          for (std::int64_t i = 0; i < rows; i += kPair) {
            const Word *strip = strips + i * count, *panel = panels + j * count;
            float* const to = c + (i0 + i) * g.c_row + j0 + j;
            if (rows - i >= kPair && columns - j >= kPair)
              pair(strip, panel, tiles, to, g.c_row, k0 > 0);
            else
              edge(strip, panel, tiles, to, g.c_row, k0 > 0, std::min(kPair, rows - i), std::min(kPair, columns - j));
          }
      }
    }
}

bool may_use_tiles() {
  if (!__builtin_cpu_supports("amx-bf16")) return false;
  // ARCH_REQ_XCOMP_PERM: before its first tile a program has to ask; its signals take 8 KB more of a stack then.
  constexpr long kAskFor = 0x1023, kTileData = 18;
  return syscall(SYS_arch_prctl, kAskFor, kTileData) == 0;
}

}  // namespace

void gemm_bf16(const Gemm& g) {
  static const auto best = may_use_tiles() ? by_tiles : packed_product<Halves>;
  best(g);
}

}  // namespace shard::runtime::SHARD_ISA
