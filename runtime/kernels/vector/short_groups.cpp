// Lines of few elements, of one array or of two. The lanes of every n-th vector of the result come from the same places
// behind its first one, so that a vector is one shuffle of two that are read there.
#include "runtime/kernels/vector/common.h"

namespace shard::runtime::SHARD_ISA {
namespace {

constexpr int kWidth = kVectorBytes / 4;
typedef std::int32_t Shuffled __attribute__((vector_size(kVectorBytes)));

// A vector of what lies from `low` on, in as many places as it has lanes (Near), or twice as many.
template <bool Near>
Shuffled shuffled(const std::uint32_t* x, std::int64_t low, Shuffled lanes) {
  Shuffled first, second;
  __builtin_memcpy(&first, x + low, sizeof first);
  if constexpr (Near) return __builtin_shuffle(first, lanes);
  __builtin_memcpy(&second, x + low + kWidth, sizeof second);
  return __builtin_shuffle(first, second, lanes);
}

template <bool Near>
void groups_of(const ShortGroups& g, const std::uint32_t* x, std::uint32_t* out, std::int64_t groups) {
  constexpr std::int64_t kReach = Near ? kWidth : 2 * kWidth;
  const std::int64_t all = groups * g.n, far = (groups - 1) * g.line, end = (far > 0 ? far : 0) + g.high + 1,
                     least = (far < 0 ? far : 0) + g.low, each = g.round * g.n;
  const GroupVector *const behind = g.vectors + each / kWidth, *v = g.vectors;
  std::int64_t i = 0, begin = 0;
  const auto one = [&](std::int64_t over) {
    Shuffled lanes;
    __builtin_memcpy(&lanes, v->lanes, sizeof lanes);
    const Shuffled made = shuffled<Near>(x, begin + v->low - over, lanes + static_cast<std::int32_t>(over));
    __builtin_memcpy(out + i, &made, sizeof made);
    i += kWidth;
  };
  const auto next = [&] {
    if (++v == behind) v = g.vectors, begin += g.round * g.line;
  };
  while (end - least >= kReach && i + kWidth <= all) {
    for (; v == g.vectors && i + each <= all && begin + g.most + kReach <= end;
         begin += g.round * g.line, v = g.vectors)
      for (; v < behind; ++v) one(0);
    if (i + kWidth > all) break;
    const std::int64_t over = begin + v->low + kReach - end;  // behind the last element there may be nothing
    one(over > 0 ? over : 0), next();
  }
  for (; i < all; next())
    for (std::int64_t l = 0; l < kWidth && i < all; ++l) out[i++] = x[begin + v->low + v->lanes[l]];
}

}  // namespace

void short_groups(const ShortGroups& g, const std::uint32_t* x, std::uint32_t* out, std::int64_t groups) {
  g.near ? groups_of<true>(g, x, out, groups) : groups_of<false>(g, x, out, groups);
}

void joined_lines(const Joined& j, const std::uint32_t* first, const std::uint32_t* second, std::uint32_t* out,
                  std::int64_t lines) {
  const std::int64_t all = lines * j.n;
  const JoinedVector *const behind = j.vectors + j.round * j.n / kWidth, *v = j.vectors;
  std::int64_t i = 0, x = 0, y = 0;
  const auto next = [&] {
    if (++v == behind) v = j.vectors, x += j.round * j.first, y += j.round * j.second;
  };
  const auto there = [&] {
    return i + kWidth <= all && x + v->first + kWidth <= j.first_end && y + v->second + kWidth <= j.second_end;
  };
  for (; there(); i += kWidth, next()) {
    Shuffled lanes, one, other;
    __builtin_memcpy(&lanes, v->lanes, sizeof lanes);
    __builtin_memcpy(&one, first + x + v->first, sizeof one);
    __builtin_memcpy(&other, second + y + v->second, sizeof other);
    const Shuffled made = __builtin_shuffle(one, other, lanes);
    __builtin_memcpy(out + i, &made, sizeof made);
  }
  for (; i < all; next())
    for (std::int64_t l = 0; l < kWidth && i < all; ++l)
      out[i++] =
          v->lanes[l] < kWidth ? first[x + v->first + v->lanes[l]] : second[y + v->second + v->lanes[l] - kWidth];
}

}  // namespace shard::runtime::SHARD_ISA
