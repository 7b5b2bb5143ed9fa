// f16 and bf16 as their bits: conversions to and from f32 and f64, rounding to nearest, ties to even; nan stays (quiet)
// nan. The functions are static so that files compiled for different instruction sets never share one. Scalar and exact
// everywhere; the vector kernels use F16C where they are compiled for it and agree with these bit for bit.
#pragma once
#include <cstdint>

namespace shard::runtime {

static inline float bf16_to_f32(std::uint16_t h) { return __builtin_bit_cast(float, std::uint32_t{h} << 16); }

static inline std::uint16_t f32_to_bf16(float f) {
  const std::uint32_t u = __builtin_bit_cast(std::uint32_t, f);
  if ((u & 0x7fffffffu) > 0x7f800000u) return static_cast<std::uint16_t>((u >> 16) | 0x40u);
  return static_cast<std::uint16_t>((u + 0x7fffu + ((u >> 16) & 1u)) >> 16);
}

static inline float f16_to_f32(std::uint16_t h) {
  const std::uint32_t sign = (h & 0x8000u) << 16, mag = h & 0x7fffu;
  if (mag >= 0x7c00u)
    return __builtin_bit_cast(float, sign | 0x7f800000u | ((mag & 0x3ffu) << 13) | (mag > 0x7c00u ? 0x400000u : 0u));
  if (mag >= 0x400u) return __builtin_bit_cast(float, sign | ((mag << 13) + (112u << 23)));
  const float tiny = static_cast<float>(mag) * 0x1p-24f;  // subnormal: exact
  return __builtin_bit_cast(float, sign | __builtin_bit_cast(std::uint32_t, tiny));
}

static inline std::uint16_t f32_to_f16(float f) {
  const std::uint32_t u = __builtin_bit_cast(std::uint32_t, f), sign = (u >> 16) & 0x8000u, mag = u & 0x7fffffffu;
  if (mag > 0x7f800000u) return static_cast<std::uint16_t>(sign | 0x7e00u | ((mag >> 13) & 0x3ffu));
  if (mag >= 0x477ff000u) return static_cast<std::uint16_t>(sign | 0x7c00u);  // 65520 and above round to infinity
  if (mag < 0x38800000u) {  // below 2^-14: the addition rounds at the subnormal spacing
    const float shifted = __builtin_bit_cast(float, mag) + 0.5f;
    return static_cast<std::uint16_t>(sign | (__builtin_bit_cast(std::uint32_t, shifted) - 0x3f000000u));
  }
  return static_cast<std::uint16_t>(sign | ((mag - (112u << 23) + 0xfffu + ((mag >> 13) & 1u)) >> 13));
}

// To f32 by rounding to odd: a following rounding to fewer bits is then the correct rounding of the f64.
static inline float f64_to_f32_odd(double d) {
  const float f = static_cast<float>(d);
  const double back = f;
  if (back == d || d != d || (__builtin_bit_cast(std::uint32_t, f) & 0x7f800000u) == 0x7f800000u) return f;
  std::uint32_t u = __builtin_bit_cast(std::uint32_t, f);
  if ((back > d) == (d > 0)) --u;  // rounded away from zero: step back
  return __builtin_bit_cast(float, u | 1u);
}

}  // namespace shard::runtime
