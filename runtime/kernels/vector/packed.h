// Matrix products from packed operands: W lies by panels of columns and A by strips of rows, term after term, so that a
// tile of the result stays in registers while both are read from one end to the other. Rows of A whose terms lie side
// by side are not packed, which takes 5 % less. A kind says what an item of the operands is, what a word of a panel
// (one term or a few), and how a sum takes a word. An element of the result is one chain of terms in their order,
// whatever the sizes and cuts: its bits hang on its row of A and its column of W alone.
//
// For one .cpp file of an instruction set each: all names are the file's own.
#pragma once
#include <algorithm>
#include <cstdlib>
#include <cstring>
#include <new>
#include <type_traits>

#include "runtime/kernels/vector/common.h"
#include "runtime/kernels/vector/turn_eight.h"

namespace shard::runtime::SHARD_ISA {
namespace {

#if defined(__AVX512F__)
constexpr int kTileRows = 8, kTileRegisters = 3;
#elif defined(__AVX__)
constexpr int kTileRows = 4, kTileRegisters = 3;
#else
constexpr int kTileRows = 4, kTileRegisters = 2;
#endif
constexpr std::int64_t kFewRows = 128, kWordsAhead = 24;
constexpr std::int64_t kBlockRows = 240, kBlockWords = 384;  // of A: for the second cache
constexpr std::int64_t kBlockColumns = 1920;

template <class T>
struct Floats {
  using Item = T;
  using Word = T;
  using Sum = T;
  typedef T Sums __attribute__((vector_size(kVectorBytes)));
  static constexpr std::int64_t kTerms = 1;  // of a word
  static Sums load(const Word* w) {
    Sums v;
    std::memcpy(&v, w, sizeof v);
    return v;
  }
  static void add(Sums& sum, Word x, const Sums& w) { sum += x * w; }
  static Word word(const Item* line, std::int64_t, std::int64_t) { return *line; }
};

template <class Kind>
constexpr std::int64_t kLanes = kVectorBytes / static_cast<std::int64_t>(sizeof(typename Kind::Sum));
template <class Kind>
constexpr std::int64_t kPanel = kTileRegisters* kLanes<Kind>;

// Some rows of A: of a strip, or as they lie, `row` words from each to the next.
template <class Kind>
struct Rows {
  const typename Kind::Word* first;
  std::int64_t row;
};

// R rows, packed or as they lie, and V registers of columns of the result; `more`: there are sums of terms before
// these.
template <class Kind, bool Packed, int R, int V>
void tile(const Rows<Kind>& rows, const typename Kind::Word* w, std::int64_t w_step, std::int64_t words,
          typename Kind::Sum* c, std::int64_t c_row, bool more) {
  const typename Kind::Word* a = rows.first;
  const std::int64_t row = Packed ? 1 : rows.row;
  typename Kind::Sums sum[R][V] = {};
#pragma GCC unroll 8
  for (int r = 0; r < R; ++r)
#pragma GCC unroll 8
    for (int v = 0; v < V; ++v) __builtin_prefetch(c + (r + kTileRows) * c_row + v * kLanes<Kind>, 1);
  if (more) {
#pragma GCC unroll 8
    for (int r = 0; r < R; ++r)
#pragma GCC unroll 8
      for (int v = 0; v < V; ++v) std::memcpy(&sum[r][v], c + r * c_row + v * kLanes<Kind>, kVectorBytes);
  }
  for (std::int64_t p = 0; p < words; ++p, a += Packed ? kTileRows : 1, w += w_step) {
    decltype(Kind::load(w)) b[V];
#pragma GCC unroll 8
    for (int v = 0; v < V; ++v) b[v] = Kind::load(w + v * kLanes<Kind>);
#pragma GCC unroll 8  // from the second cache, where a panel is
    for (int v = 0; v < V; ++v) __builtin_prefetch(w + kWordsAhead * w_step + v * kLanes<Kind>);
#pragma GCC unroll 8
    for (int r = 0; r < R; ++r)
#pragma GCC unroll 8
      for (int v = 0; v < V; ++v) Kind::add(sum[r][v], a[r * row], b[v]);
  }
#pragma GCC unroll 8
  for (int r = 0; r < R; ++r)
#pragma GCC unroll 8
    for (int v = 0; v < V; ++v) std::memcpy(c + r * c_row + v * kLanes<Kind>, &sum[r][v], kVectorBytes);
}

// `lines` rows of A or columns of W, at most Width, side by side: `line` and `term` are the steps between their items,
// one of which is 1. Lines that are lacking are zero.
template <class Kind, std::int64_t Width>
void pack(const typename Kind::Item* from, std::int64_t line, std::int64_t term, std::int64_t lines, std::int64_t terms,
          typename Kind::Word* to) {
  using Word = typename Kind::Word;
  const std::int64_t words = (terms + Kind::kTerms - 1) / Kind::kTerms, whole = terms / Kind::kTerms;
  const auto some = [&](std::int64_t first, std::int64_t end, std::int64_t at, std::int64_t to_word) {
    for (std::int64_t p = at; p < to_word; ++p)
      for (std::int64_t l = first; l < end; ++l)
        to[p * Width + l] = Kind::word(from + l * line + p * Kind::kTerms * term, term, terms - p * Kind::kTerms);
  };
  if (lines < Width)
    for (std::int64_t p = 0; p < words; ++p)
      std::memset(to + p * Width + lines, 0, static_cast<std::size_t>(Width - lines) * sizeof(Word));
  if (term != 1 && lines == Width) {
    for (std::int64_t p = 0; p < whole; ++p)
      for (std::int64_t l = 0; l < Width; ++l)
        to[p * Width + l] = Kind::word(from + l + p * Kind::kTerms * term, term, Kind::kTerms);
    return some(0, Width, whole, words);
  }
  if (term != 1) return some(0, lines, 0, words);
  constexpr auto kItem = static_cast<std::int64_t>(sizeof(typename Kind::Item));
  constexpr std::int64_t kLineWords = 64 / (kItem * Kind::kTerms);  // of a line of the cache
  const std::int64_t eights = lines / 8 * 8, squares = whole / 8 * 8;
  for (std::int64_t l = 0; l < eights; l += 8)
    for (std::int64_t p = 0; p < squares; p += 8) {
      if (Width == kTileRows && p % kLineWords == 0)
#pragma GCC unroll 8
        for (int r = 0; r < 8; ++r) __builtin_prefetch(from + (l + 8 + r) * line + p * Kind::kTerms);
      turn_eight<Word>(reinterpret_cast<const unsigned char*>(from + l * line + p * Kind::kTerms), line * kItem,
                       to + p * Width + l, Width);
    }
  some(0, eights, squares, words);
  some(eights, lines, 0, words);
}

// Columns [first, columns) of W, whose rows lie in one piece: row after row, as memory has them, to all panels. Of the
// last register that columns do not fill the rest is zero.
template <class Kind>
void pack_rows(const typename Kind::Item* from, std::int64_t row, std::int64_t first, std::int64_t columns,
               std::int64_t terms, typename Kind::Word* to) {
  constexpr std::int64_t kWide = kPanel<Kind>, kVector = kLanes<Kind>;
  for (std::int64_t p = 0; p < terms; ++p, from += row)
    for (std::int64_t j = first; j < columns; j += kWide) {
      typename Kind::Word* const word = to + j * terms + p * kWide;
      const std::int64_t here = std::min(kWide, columns - j), whole = here / kVector * kVector;
      for (std::int64_t l = 0; l < whole; l += kVector) std::memcpy(word + l, from + j + l, kVectorBytes);
      for (std::int64_t l = whole; l < here; ++l) word[l] = from[j + l];
      for (std::int64_t l = here; l % kVector != 0; ++l) word[l] = 0;
    }
}

// Rows of A, a multiple of kTileRows, that lie beside each other: term after term, as memory has them, to all strips;
// two terms at a time fill a line of the cache.
template <class Kind>
void pack_columns(const typename Kind::Item* from, std::int64_t term, std::int64_t rows, std::int64_t terms,
                  typename Kind::Word* to) {
  constexpr auto kBytes = kTileRows * sizeof(typename Kind::Word);
  std::int64_t p = 0;
  for (; p + 2 <= terms; p += 2, from += 2 * term, to += 2 * kTileRows)
    for (std::int64_t i = 0; i < rows; i += kTileRows) {
      std::memcpy(to + i * terms, from + i, kBytes);
      std::memcpy(to + i * terms + kTileRows, from + term + i, kBytes);
      __builtin_prefetch(from + 8 * term + i);
      __builtin_prefetch(from + 9 * term + i);
    }
  for (std::int64_t i = 0; p < terms && i < rows; i += kTileRows) std::memcpy(to + i * terms, from + i, kBytes);
}

// Memory that a thread keeps: new pages for each call would cost 3 % of a product of 1,024 rows. Not a container, whose
// functions would be this instruction set's for all.
struct Scratch {
  void* at = nullptr;
  std::size_t size = 0;
  ~Scratch() { std::free(at); }
  void* of(std::size_t bytes) {
    if (bytes > size) {
      std::free(at);
      at = std::aligned_alloc(64, size = (bytes + 4095) / 4096 * 4096);
      if (!at) throw size = 0, std::bad_alloc();
    }
    return at;
  }
};

template <class Kind>
using Tile = void (*)(const Rows<Kind>&, const typename Kind::Word*, std::int64_t, std::int64_t, typename Kind::Sum*,
                      std::int64_t, bool);
template <class Kind, bool Packed, int R>
constexpr Tile<Kind> kTiles[3] = {tile<Kind, Packed, R, 1>, tile<Kind, Packed, R, std::min(2, kTileRegisters)>,
                                  tile<Kind, Packed, R, kTileRegisters>};

// A tile, which may be at the edge of the result; of parts of registers through memory that has room for all of it.
template <class Kind, bool Packed>
void tile_of(const Rows<Kind>& a, const typename Kind::Word* w, std::int64_t w_step, std::int64_t words,
             typename Kind::Sum* c, std::int64_t c_row, bool more, std::int64_t rows, std::int64_t columns) {
  using Sum = typename Kind::Sum;
  const std::int64_t registers = (columns + kLanes<Kind> - 1) / kLanes<Kind>;
  if (rows == kTileRows && columns == registers * kLanes<Kind>)
    return kTiles<Kind, Packed, kTileRows>[registers - 1](a, w, w_step, words, c, c_row, more);
  alignas(64) Sum all[kTileRows * kPanel<Kind>] = {};
  const auto bytes = static_cast<std::size_t>(columns) * sizeof(Sum);
  for (std::int64_t r = 0; more && r < rows; ++r) std::memcpy(all + r * kPanel<Kind>, c + r * c_row, bytes);
  const Tile<Kind>* const tiles = rows > 4 ? kTiles<Kind, Packed, kTileRows> : kTiles<Kind, Packed, 4>;
  tiles[registers - 1](a, w, w_step, words, all, kPanel<Kind>, more);
  for (std::int64_t r = 0; r < rows; ++r) std::memcpy(c + r * c_row, all + r * kPanel<Kind>, bytes);
}

template <class Kind>
void packed_product(const Gemm& g) {
  using Item = typename Kind::Item;
  using Word = typename Kind::Word;
  using Sum = typename Kind::Sum;
  constexpr std::int64_t kWide = kPanel<Kind>;
  const auto up = [](std::int64_t x, std::int64_t to) { return (x + to - 1) / to * to; };
  const Item *a = static_cast<const Item*>(g.a), *w = static_cast<const Item*>(g.w);
  Sum* c = static_cast<Sum*>(g.c);
  // Of few rows W is read where it lies: packing it would take a tenth of the time.
  const bool lies = Kind::kTerms == 1 && g.w_col == 1 && g.m <= kFewRows;
  const bool a_lies = Kind::kTerms == 1 && g.a_col == 1;  // but for rows that are too few for a tile
  const std::int64_t parts = (g.k - 1) / (kBlockWords * Kind::kTerms) + 1;
  const std::int64_t depth = up((g.k + parts - 1) / parts, 8 * Kind::kTerms);
  const std::int64_t wide = std::min(g.n, kBlockColumns), high = std::min(g.m, kBlockRows);
  const std::int64_t words = depth / Kind::kTerms, panel_words = up(wide, kWide) * words;
  static thread_local Scratch scratch;
  Word* const panels = static_cast<Word*>(
      scratch.of(static_cast<std::size_t>(panel_words + up(high, kTileRows) * words) * sizeof(Word)));
  Word* const strips = panels + panel_words;
  for (std::int64_t j0 = 0; j0 < g.n; j0 += wide)
    for (std::int64_t k0 = 0; k0 < g.k; k0 += depth) {
      const std::int64_t columns = std::min(wide, g.n - j0), terms = std::min(depth, g.k - k0),
                         count = (terms + Kind::kTerms - 1) / Kind::kTerms;
      const Item* const from = w + j0 * g.w_col + k0 * g.w_row;
      const std::int64_t first = lies ? columns / kWide * kWide : 0;
      if constexpr (Kind::kTerms == 1)
        if (g.w_col == 1) pack_rows<Kind>(from, g.w_row, first, columns, terms, panels);
      for (std::int64_t j = first; j < columns && (Kind::kTerms > 1 || g.w_col != 1); j += kWide)
        pack<Kind, kWide>(from + j * g.w_col, g.w_col, g.w_row, std::min(kWide, columns - j), terms,
                          panels + j * count);
      for (std::int64_t i0 = 0; i0 < g.m; i0 += high) {
        const std::int64_t rows = std::min(high, g.m - i0);
        const std::int64_t whole = Kind::kTerms == 1 ? rows / kTileRows * kTileRows : 0;  // not turned
        if constexpr (Kind::kTerms == 1)
          if (!a_lies) pack_columns<Kind>(a + i0 + k0 * g.a_col, g.a_col, whole, terms, strips);
        for (std::int64_t i = whole; i < rows; i += kTileRows)
          pack<Kind, kTileRows>(a + (i0 + i) * g.a_row + k0 * g.a_col, g.a_row, g.a_col,
                                std::min<std::int64_t>(kTileRows, rows - i), terms, strips + i * count);
        for (std::int64_t j = 0; j < columns; j += kWide)
          for (std::int64_t i = 0; i < rows; i += kTileRows) {
            Sum* to = c + (i0 + i) * g.c_row + j0 + j;
            const Word *strip = strips + i * count, *panel = panels + j * count;
            std::int64_t step = kWide;
            if constexpr (Kind::kTerms == 1)
              if (lies && columns - j >= kWide) panel = w + j0 + j + k0 * g.w_row, step = g.w_row;
            const std::int64_t down = std::min<std::int64_t>(kTileRows, rows - i),
                               across = std::min(kWide, columns - j);
            if constexpr (Kind::kTerms == 1)
              if (a_lies && down == kTileRows) {
                const Rows<Kind> lines{a + (i0 + i) * g.a_row + k0, g.a_row};
                tile_of<Kind, false>(lines, panel, step, count, to, g.c_row, k0 > 0, down, across);
                continue;
              }
            tile_of<Kind, true>({strip, 1}, panel, step, count, to, g.c_row, k0 > 0, down, across);
          }
      }
    }
}

}  // namespace
}  // namespace shard::runtime::SHARD_ISA
