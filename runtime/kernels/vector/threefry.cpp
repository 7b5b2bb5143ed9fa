// Threefry-2x32 with 20 rounds (Salmon and others, 2011) over consecutive counters.
#include "runtime/kernels/vector/common.h"

namespace shard::runtime::SHARD_ISA {
namespace {

SHARD_LOOP std::uint32_t rotated(std::uint32_t x, int r) { return (x << r) | (x >> (32 - r)); }

struct Words {
  std::uint32_t a, b;
};
SHARD_LOOP Words cipher(const std::uint32_t k[3], std::uint32_t x0, std::uint32_t x1) {
  x0 += k[0];
  x1 += k[1];
#define SHARD_ROUND(r) \
  x0 += x1;            \
  x1 = rotated(x1, r); \
  x1 ^= x0;
#define SHARD_FOUR(r0, r1, r2, r3, i)                                               \
  SHARD_ROUND(r0) SHARD_ROUND(r1) SHARD_ROUND(r2) SHARD_ROUND(r3) x0 += k[(i) % 3]; \
  x1 += k[((i) + 1) % 3] + (i);
  SHARD_FOUR(13, 15, 26, 6, 1u)
  SHARD_FOUR(17, 29, 16, 24, 2u)
  SHARD_FOUR(13, 15, 26, 6, 3u)
  SHARD_FOUR(17, 29, 16, 24, 4u)
  SHARD_FOUR(13, 15, 26, 6, 5u)
#undef SHARD_FOUR
#undef SHARD_ROUND
  return {x0, x1};
}

}  // namespace

void threefry(std::uint32_t k0, std::uint32_t k1, std::uint64_t counter, std::int64_t n, std::uint32_t* o0,
              std::uint32_t* o1) {
  const std::uint32_t k[3] = {k0, k1, k0 ^ k1 ^ 0x1BD11BDAu};
  while (n > 0) {
    // As far as the low word of the counter does not wrap.
    const std::uint32_t low = static_cast<std::uint32_t>(counter), high = static_cast<std::uint32_t>(counter >> 32);
    const std::uint64_t left = (std::uint64_t{1} << 32) - low;
    const std::uint32_t count =
        left < static_cast<std::uint64_t>(n) ? static_cast<std::uint32_t>(left) : static_cast<std::uint32_t>(n);
#pragma GCC ivdep
    for (std::uint32_t i = 0; i < count; ++i) {
      const Words w = cipher(k, high, low + i);
      o0[i] = w.a;
      o1[i] = w.b;
    }
    counter += count;
    n -= count;
    o0 += count;
    o1 += count;
  }
}

}  // namespace shard::runtime::SHARD_ISA
