// f16, bf16 and the 8-bit floats as their bits: conversions to and from f32 and f64, rounding to nearest, ties to even;
// nan stays (quiet) nan. The functions are static so that files compiled for different instruction sets never share
// one. Scalar and exact everywhere; the vector kernels use F16C where they are compiled for it and agree with these bit
// for bit.
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

// The 8-bit floats: e4m3fn has no infinities (what is too large is nan), e5m2 is the upper byte of an f16.
static inline float e5m2_to_f32(std::uint8_t h) { return f16_to_f32(static_cast<std::uint16_t>(h << 8)); }

static inline float e4m3_to_f32(std::uint8_t h) {
  const std::uint32_t sign = (h & 0x80u) << 24, mag = h & 0x7fu;
  if (mag == 0x7fu) return __builtin_bit_cast(float, sign | 0x7fc00000u);
  if (mag >= 8) return __builtin_bit_cast(float, sign | ((mag << 20) + (120u << 23)));
  return __builtin_bit_cast(float, sign | __builtin_bit_cast(std::uint32_t, static_cast<float>(mag) * 0x1p-9f));
}

// `digits` behind the point, the exponent `low` of the smallest normal number; what is `above` the largest is `over`.
static inline std::uint8_t f32_to_f8(float f, int digits, int low, std::uint32_t above, std::uint32_t over,
                                     std::uint32_t nan) {
  const std::uint32_t u = __builtin_bit_cast(std::uint32_t, f), sign = (u >> 24) & 0x80u, mag = u & 0x7fffffffu;
  std::uint32_t bits = nan;
  if (mag < static_cast<std::uint32_t>(127 + low) << 23) {  // the addition rounds at the subnormal spacing
    const std::uint32_t step = static_cast<std::uint32_t>(127 + low - digits + 23) << 23;
    bits = __builtin_bit_cast(std::uint32_t, __builtin_bit_cast(float, mag) + __builtin_bit_cast(float, step)) - step;
  } else if (mag <= 0x7f800000u) {
    const std::uint32_t cut = static_cast<std::uint32_t>(23 - digits);
    bits = (mag - (static_cast<std::uint32_t>(126 + low) << 23) + (1u << (cut - 1)) - 1 + ((mag >> cut) & 1u)) >> cut;
    if (bits >= above) bits = over;
  }
  return static_cast<std::uint8_t>(sign | bits);
}
static inline std::uint8_t f32_to_e4m3(float f) { return f32_to_f8(f, 3, -6, 0x7f, 0x7f, 0x7f); }
static inline std::uint8_t f32_to_e5m2(float f) { return f32_to_f8(f, 2, -14, 0x7c, 0x7c, 0x7e); }

static inline std::int8_t to_i4(std::int8_t x) {
  return static_cast<std::int8_t>(static_cast<std::int8_t>(x << 4) >> 4);
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
