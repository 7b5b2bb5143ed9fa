// Transposing in registers. For files of an instruction set each: all names are the file's own.
#pragma once
#include <cstdint>
#include <cstring>
#include <type_traits>

#include "runtime/kernels/vector/common.h"

namespace shard::runtime::SHARD_ISA {
namespace {

template <class Word>
using EightWords [[gnu::vector_size(8 * sizeof(Word))]] =
    std::conditional_t<sizeof(Word) == 8, std::int64_t, std::int32_t>;

// Eight lines of eight become columns: halves, quarters and eighths change places.
template <class Word>
SHARD_LOOP void turn_in_registers(EightWords<Word>* x) {
  using Line = EightWords<Word>;
  const auto exchange = [&](int half, const Line& low, const Line& high) __attribute__((always_inline)) {
#pragma GCC unroll 8
    for (int i = 0; i < 8; ++i) {
      if ((i & half) != 0) continue;
      const Line first = x[i], second = x[i + half];
      x[i] = __builtin_shuffle(first, second, low);
      x[i + half] = __builtin_shuffle(first, second, high);
    }
  };
  exchange(4, Line{0, 1, 2, 3, 8, 9, 10, 11}, Line{4, 5, 6, 7, 12, 13, 14, 15});
  exchange(2, Line{0, 1, 8, 9, 4, 5, 12, 13}, Line{2, 3, 10, 11, 6, 7, 14, 15});
  exchange(1, Line{0, 8, 2, 10, 4, 12, 6, 14}, Line{1, 9, 3, 11, 5, 13, 7, 15});
}

// to[j * step + i] = from[i * line + j] of eight by eight.
template <class Word>
void turn_eight(const unsigned char* from, std::int64_t line, Word* to, std::int64_t step) {
  EightWords<Word> x[8];
#pragma GCC unroll 8
  for (int i = 0; i < 8; ++i) std::memcpy(&x[i], from + i * line, sizeof x[i]);
  turn_in_registers<Word>(x);
#pragma GCC unroll 8
  for (int j = 0; j < 8; ++j) std::memcpy(to + j * step, &x[j], sizeof x[j]);
}

}  // namespace
}  // namespace shard::runtime::SHARD_ISA
