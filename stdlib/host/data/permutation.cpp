// A Feistel network over the smallest power of four that holds the length; what falls outside is sent round again
// ("cycle walking"), fewer than four times on average. Sources: Black and Rogaway, "Ciphers with arbitrary finite
// domains" (2002); the mixing function is Vigna's splitmix64.
#include "stdlib/host/data/permutation.h"

#include <algorithm>
#include <bit>

namespace shard::stdlib {
namespace {

std::uint64_t mixed(std::uint64_t x) {
  x = (x ^ (x >> 30)) * 0xbf58476d1ce4e5b9;
  x = (x ^ (x >> 27)) * 0x94d049bb133111eb;
  return x ^ (x >> 31);
}

}  // namespace

KeyedOrder::KeyedOrder(std::uint64_t length, std::uint32_t k0, std::uint32_t k1) : length_(length) {
  half_ = std::max(1, (static_cast<int>(std::bit_width(length - 1)) + 1) / 2);
  std::uint64_t state = std::uint64_t{k0} << 32 | k1;
  for (std::uint64_t& key : keys_) key = mixed(state += 0x9e3779b97f4a7c15);
}

std::uint64_t KeyedOrder::operator[](std::uint64_t i) const {
  const std::uint64_t mask = (std::uint64_t{1} << half_) - 1;
  do {
    std::uint64_t left = i >> half_, right = i & mask;
    for (const std::uint64_t key : keys_) {
      const std::uint64_t next = left ^ (mixed(right ^ key) & mask);
      left = right;
      right = next;
    }
    i = left << half_ | right;
  } while (i >= length_);
  return i;
}

}  // namespace shard::stdlib
