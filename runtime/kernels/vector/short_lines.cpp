// Lines of few elements, of one array or of two. The lanes of every n-th vector of the result come from the same places
// behind its first one, so that a vector is one shuffle of two that are read there.
#include <utility>

#include "runtime/kernels/vector/common.h"

namespace shard::runtime::SHARD_ISA {
namespace {

constexpr int kWidth = kVectorBytes / 4, kMostElements = 15, kBits = 16, kOne = 1 << kBits;
typedef std::int32_t Shuffled __attribute__((vector_size(kVectorBytes)));

template <int... I>
constexpr Shuffled numbers(std::integer_sequence<int, I...>) {
  return Shuffled{I...};
}
constexpr Shuffled kNumbers = numbers(std::make_integer_sequence<int, kWidth>{});

}  // namespace

void short_groups(const ShortGroups& g, const std::uint32_t* x, std::uint32_t* out, std::int64_t groups) {
  const std::int64_t all = groups * g.n, far = (groups - 1) * g.line, end = (far > 0 ? far : 0) + g.high + 1,
                     least = (far < 0 ? far : 0) + g.low, each = g.round * g.n;
  std::int64_t i = 0, begin = 0;
  for (; end - least >= 2 * kWidth && i + each <= all; begin += g.round * g.line)
    for (const GroupVector* v = g.vectors; v < g.vectors + each / kWidth; ++v, i += kWidth) {
      std::int64_t low = begin + v->low;
      Shuffled lanes, first, second;
      __builtin_memcpy(&lanes, v->lanes, sizeof lanes);
      if (const std::int64_t over = low + 2 * kWidth - end; over > 0)  // behind the last element there may be nothing
        low -= over, lanes += static_cast<std::int32_t>(over);
      __builtin_memcpy(&first, x + low, sizeof first), __builtin_memcpy(&second, x + low + kWidth, sizeof second);
      const Shuffled made = __builtin_shuffle(first, second, lanes);
      __builtin_memcpy(out + i, &made, sizeof made);
    }
  for (; i < all; begin += g.round * g.line)
    for (const GroupVector* v = g.vectors; v < g.vectors + each / kWidth && i < all; ++v)
      for (std::int64_t l = 0; l < kWidth && i < all; ++l) out[i++] = x[begin + v->low + v->lanes[l]];
}

bool short_lines(const std::uint32_t* x, std::int64_t line, std::int64_t step, std::uint32_t* out, std::int64_t lines,
                 std::int64_t n) {
  if (kVectorBytes == 16 || n > kMostElements || lines < 4 * kWidth) return false;
  GroupVector vectors[kMostElements];
  const std::int64_t before = step < 0 ? (n - 1) * step : 0, behind = step > 0 ? (n - 1) * step : 0;
  for (std::int32_t v = 0; v < n; ++v) {
    const auto few = static_cast<std::int32_t>(n);
    const std::int32_t begin = v * kWidth, first = begin / few, last = (begin + kWidth - 1) / few;
    const std::int64_t one = first * line, other = last * line, low = (one < other ? one : other) + before;
    if ((one < other ? other : one) + behind - low >= 2 * kWidth) return false;
    const Shuffled i = kNumbers + begin, row = (i * (kOne / few + 1)) >> kBits;  // exact of so few
    const Shuffled lanes = row * static_cast<std::int32_t>(line) + (i - row * few) * static_cast<std::int32_t>(step) -
                           static_cast<std::int32_t>(low);
    vectors[v].low = low;
    __builtin_memcpy(vectors[v].lanes, &lanes, sizeof lanes);
  }
  short_groups({n, line, before, behind, kWidth, vectors}, x, out, lines);
  return true;
}

void joined_lines(const Joined& j, const std::uint32_t* first, const std::uint32_t* second, std::uint32_t* out,
                  std::int64_t lines) {
  const std::int64_t n = j.first + j.second, all = lines * n, ends = j.there * j.first, other_ends = j.there * j.second;
  std::int64_t i = 0, x = 0, y = 0;
  const auto there = [&](const JoinedVector& v) {
    return i + kWidth <= all && x + v.first + kWidth <= ends && y + v.second + kWidth <= other_ends;
  };
  for (const JoinedVector *v = j.vectors, *end = v + j.round * n / kWidth; there(*v);) {
    Shuffled lanes, one, other;
    __builtin_memcpy(&lanes, v->lanes, sizeof lanes);
    __builtin_memcpy(&one, first + x + v->first, sizeof one);
    __builtin_memcpy(&other, second + y + v->second, sizeof other);
    const Shuffled made = __builtin_shuffle(one, other, lanes);
    __builtin_memcpy(out + i, &made, sizeof made);
    i += kWidth;
    if (++v == end) v = j.vectors, x += j.round * j.first, y += j.round * j.second;
  }
  for (; i < all; ++i)
    out[i] = i % n < j.first ? first[i / n * j.first + i % n] : second[i / n * j.second + i % n - j.first];
}

}  // namespace shard::runtime::SHARD_ISA
