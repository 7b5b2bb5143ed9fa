// Elements as unsigned integers in JAX's order: what is less has the lesser key. Zeros of both signs have one key, and
// every nan has one, above all numbers.
#pragma once
#include <bit>
#include <cstdint>
#include <type_traits>

#include "runtime/kernels/types.h"

namespace shard::runtime {

template <class T>
constexpr bool kFloat = std::is_floating_point_v<Compute<T>>;

template <class T>
using OrderKey = std::conditional_t<sizeof(T) <= 4, std::uint32_t, std::uint64_t>;

namespace order {

template <class T>
using Bits = std::conditional_t<sizeof(T) == 1, std::uint8_t,
                                std::conditional_t<sizeof(T) == 2, std::uint16_t,
                                                   std::conditional_t<sizeof(T) == 4, std::uint32_t, std::uint64_t>>>;
template <class T>
constexpr Bits<T> kSign = static_cast<Bits<T>>(Bits<T>{1} << (8 * sizeof(T) - 1));
template <class T>
constexpr Bits<T> kAll = static_cast<Bits<T>>(~Bits<T>{0});
template <class T>
constexpr bool kSigned = std::is_signed_v<Compute<T>>;

// Infinity is a type's largest exponent and no digits; above it are nans.
template <class T>
constexpr Bits<T> infinity() {
  if constexpr (std::is_same_v<T, Half>) return 0x7c00;
  if constexpr (std::is_same_v<T, Brain>) return 0x7f80;
  if constexpr (std::is_same_v<T, float>) return 0x7f800000u;
  if constexpr (std::is_same_v<T, double>) return 0x7ff0000000000000u;
  return 0;
}

}  // namespace order

template <class T>
constexpr OrderKey<T> kZeroKey = order::kSign<T>;  // of floats
template <class T>
constexpr OrderKey<T> kNanKey = order::kAll<T>;

template <class T>
OrderKey<T> order_key(T x) {
  using Bits = order::Bits<T>;
  const Bits sign = order::kSign<T>, bits = std::bit_cast<Bits>(x);
  if constexpr (kFloat<T>) {
    const Bits size = static_cast<Bits>(bits & ~sign);
    if (size > order::infinity<T>()) return kNanKey<T>;
    if (size == 0) return kZeroKey<T>;
    return static_cast<Bits>(bits & sign ? ~bits : bits | sign);
  }
  return order::kSigned<T> ? static_cast<Bits>(bits ^ sign) : bits;
}

// The value that has this key: of zeros the positive one, of nans one.
template <class T>
T order_value(OrderKey<T> key) {
  using Bits = order::Bits<T>;
  const Bits sign = order::kSign<T>;
  if constexpr (kFloat<T>) return std::bit_cast<T>(static_cast<Bits>(key & sign ? key ^ sign : ~key));
  return std::bit_cast<T>(static_cast<Bits>(order::kSigned<T> ? key ^ sign : key));
}

}  // namespace shard::runtime
