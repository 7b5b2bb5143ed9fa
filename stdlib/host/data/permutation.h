// A permutation of any length that is computed and not kept: where row i of an epoch comes from is a function of a key
// and i alone, so that an order over 10^9 examples takes no memory and begins anywhere at once.
#pragma once
#include <array>
#include <cstdint>

namespace shard::stdlib {

class KeyedOrder {
 public:
  // `length` > 0; the words of a key.
  KeyedOrder(std::uint64_t length, std::uint32_t k0, std::uint32_t k1);
  std::uint64_t operator[](std::uint64_t i) const;  // of 0 .. length - 1, each once

 private:
  static constexpr int kRounds = 8;
  std::uint64_t length_;
  int half_ = 1;  // bits of each half
  std::array<std::uint64_t, kRounds> keys_;
};

}  // namespace shard::stdlib
