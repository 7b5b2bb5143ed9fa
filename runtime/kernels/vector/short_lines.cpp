// Lines of few elements. The lanes of every n-th vector of the result come from the same places behind its first one,
// so that a vector is one shuffle of two that are read there.
#include <utility>

#include "runtime/kernels/vector/common.h"

namespace shard::runtime::SHARD_ISA {
namespace {

constexpr int kWidth = kVectorBytes / 4, kMostElements = 16, kBits = 16, kOne = 1 << kBits;
typedef std::int32_t Shuffled __attribute__((vector_size(kVectorBytes)));

template <int... I>
constexpr Shuffled numbers(std::integer_sequence<int, I...>) {
  return Shuffled{I...};
}
constexpr Shuffled kNumbers = numbers(std::make_integer_sequence<int, kWidth>{});

// Of a vector of the result: the lowest place that it reads, and where its lanes are from there.
struct From {
  std::int64_t low;
  Shuffled lanes;
};

}  // namespace

bool short_lines(const std::uint32_t* x, std::int64_t line, std::int64_t step, std::uint32_t* out, std::int64_t lines,
                 std::int64_t n) {
  const std::int64_t all = lines * n;
  if (kVectorBytes == 16 || n >= kMostElements || all < 4 * n * kWidth) return false;
  const auto place = [=](std::int64_t i) { return i / n * line + i % n * step; };
  From from[kMostElements];
  const std::int64_t before = step < 0 ? (n - 1) * step : 0, behind = step > 0 ? (n - 1) * step : 0;
  for (std::int32_t v = 0; v < n; ++v) {
    const auto few = static_cast<std::int32_t>(n);
    const std::int32_t begin = v * kWidth, first = begin / few, last = (begin + kWidth - 1) / few;
    const std::int64_t one = first * line, other = last * line, low = (one < other ? one : other) + before;
    if ((one < other ? other : one) + behind - low >= 2 * kWidth) return false;
    const Shuffled i = kNumbers + begin, row = (i * (kOne / few + 1)) >> kBits;  // exact of so few
    from[v].low = low;
    from[v].lanes = row * static_cast<std::int32_t>(line) + (i - row * few) * static_cast<std::int32_t>(step) -
                    static_cast<std::int32_t>(low);
  }
  const std::int64_t end = (line > 0 ? (lines - 1) * line : 0) + (step > 0 ? (n - 1) * step : 0) + 1;
  std::int64_t i = 0;
  for (std::int64_t begin = 0; i + n * kWidth <= all; begin += kWidth * line)
    for (std::int64_t v = 0; v < n; ++v, i += kWidth) {
      std::int64_t low = begin + from[v].low;
      Shuffled lanes = from[v].lanes, first, second;
      if (const std::int64_t over = low + 2 * kWidth - end; over > 0)  // behind the last element there may be nothing
        low -= over, lanes += static_cast<std::int32_t>(over);
      __builtin_memcpy(&first, x + low, sizeof first), __builtin_memcpy(&second, x + low + kWidth, sizeof second);
      const Shuffled made = __builtin_shuffle(first, second, lanes);
      __builtin_memcpy(out + i, &made, sizeof made);
    }
  for (; i < all; ++i) out[i] = x[place(i)];
  return true;
}

}  // namespace shard::runtime::SHARD_ISA
