// f32 functions written without branches, so that a loop over them becomes vector code. Polynomials were fitted for
// this file (minimax by reweighted least squares; errors in comments are relative), erf and erf_inv use the published
// coefficients that XLA uses, so that samplers agree with it. Every function keeps nan, and handles infinities, zeros
// and subnormals.
#pragma once
#include <cstdint>

#include "runtime/kernels/vector/common.h"

namespace shard::runtime::SHARD_ISA {

SHARD_LOOP std::uint32_t bits(float x) { return __builtin_bit_cast(std::uint32_t, x); }
SHARD_LOOP float from_bits(std::uint32_t u) { return __builtin_bit_cast(float, u); }
SHARD_LOOP float magnitude(float x) { return from_bits(bits(x) & 0x7fffffffu); }
SHARD_LOOP float with_sign(float x, float s) { return from_bits((bits(x) & 0x7fffffffu) | (bits(s) & 0x80000000u)); }
inline constexpr float kInf = __builtin_inff(), kNan = __builtin_nanf("");

// Nearest integer as float and as int, for |x| < 2^22: adding 1.5 * 2^23 leaves the integer in the low bits.
inline constexpr float kMagic = 12582912.0f;
struct Nearest {
  float f;
  std::int32_t i;
};
SHARD_LOOP Nearest nearest(float x) {
  const float t = x + kMagic;
  return {t - kMagic, static_cast<std::int32_t>(bits(t) - 0x4b400000u)};
}

SHARD_LOOP float power_of_two(std::int32_t k) {
  return from_bits(static_cast<std::uint32_t>(k + 127) << 23);
}  // -126 <= k <= 127

// exp(r) - 1 for |r| <= ln2/2 (error 3e-10 before rounding).
SHARD_LOOP float expm1_core(float r) {
  const float p = ((((1.991503232e-04f * r + 1.394205960e-03f) * r + 8.333271369e-03f) * r + 4.166634008e-02f) * r +
                   1.666666716e-01f) *
                      r +
                  0.5f;
  return r + r * r * p;
}
struct Reduced {
  float r;
  std::int32_t k;
};
SHARD_LOOP Reduced
reduce_exp(float x) {  // x = k ln2 + r; ln2 in two parts, the first with 9 bits so that its multiples are exact
  const Nearest n = nearest(x * 1.44269504f);
  return {(x - n.f * 0.693359375f) - n.f * -2.12194440e-4f, n.i};
}

SHARD_LOOP float exp(float x) {
  float c = x < -105.0f ? -105.0f : x;
  c = c > 90.0f ? 90.0f : c;
  const Reduced d = reduce_exp(c);
  const std::int32_t half = d.k >> 1;  // two factors: the result may be subnormal or overflow while one factor may not
  return (1.0f + expm1_core(d.r)) * power_of_two(half) * power_of_two(d.k - half);
}

SHARD_LOOP float expm1(float x) {
  float c = x < -20.0f ? -20.0f : x;
  c = c > 88.75f ? 88.75f : c;
  const Reduced d = reduce_exp(c);
  const float h = power_of_two(d.k - 1);  // half of 2^k: 2^128 is not a float
  const float y = ((h - 0.5f) + h * expm1_core(d.r)) * 2.0f;
  return d.k == 0 ? (x == 0.0f ? x : expm1_core(d.r)) : y;
}

// log of m * 2^e with f = m - 1, sqrt(1/2) <= m < sqrt(2) (error 7e-9).
SHARD_LOOP float log_core(float f, float e) {
  const float q = ((((((-7.863239199e-02f * f + 1.292409748e-01f) * f - 1.314585209e-01f) * f + 1.417617798e-01f) * f -
                     1.662245840e-01f) *
                        f +
                    2.000245601e-01f) *
                       f -
                   2.500086725e-01f) *
                      f +
                  3.333331645e-01f;
  const float z = f * f;
  const float tail = f * z * q + e * -2.12194440e-4f - 0.5f * z;
  return f + tail + e * 0.693359375f;
}
SHARD_LOOP float log_positive(float x) {  // 0 < x < inf
  const bool tiny = x < 1.17549435e-38f;
  const std::uint32_t u = bits(tiny ? x * 8388608.0f : x);
  const std::uint32_t shifted = u - 0x3f3504f3u;  // bits of sqrt(1/2): the exponent field now counts from there
  const std::int32_t e = static_cast<std::int32_t>(shifted) >> 23;
  const float m = from_bits(u - (static_cast<std::uint32_t>(e) << 23));
  return log_core(m - 1.0f, static_cast<float>(e - (tiny ? 23 : 0)));
}
SHARD_LOOP float log(float x) {
  const float y = log_positive(x);
  const float special = x == 0.0f ? -kInf : x < 0.0f ? kNan : x;  // inf and nan are themselves
  return x > 0.0f && x < kInf ? y : special;
}
SHARD_LOOP float log1p(float x) {
  const float u = 1.0f + x;
  const float y = log_positive(u) + (x - (u - 1.0f)) / u;  // the second term gives back what 1 + x lost
  const float special = u == 0.0f ? -kInf : u < 0.0f ? kNan : x;
  return u > 0.0f && u < kInf && x != 0.0f ? y : special;
}

SHARD_LOOP float tanh(float x) {
  const float t = expm1(-2.0f * magnitude(x));
  return x == x ? with_sign(t / (2.0f + t), x) : x;
}
SHARD_LOOP float sigmoid(float x) { return 1.0f / (1.0f + exp(-x)); }
SHARD_LOOP float sinh(float x) {
  const float a = magnitude(x), t = expm1(a), h = exp(0.5f * a);
  const float y = a < 20.0f ? 0.5f * (t + t / (t + 1.0f)) : (0.5f * h) * h;
  return x == x ? with_sign(y, x) : x;
}
SHARD_LOOP float cosh(float x) {
  const float a = magnitude(x), e = exp(a), h = exp(0.5f * a);
  return a < 20.0f ? 0.5f * (e + 1.0f / e) : (0.5f * h) * h;
}

SHARD_LOOP float erf(float x) {
  float c = x > 4.0f ? 4.0f : x;
  c = c < -4.0f ? -4.0f : c;
  const float z = c * c;
  const float p = (((((-2.72614225801306e-10f * z + 2.77068142495902e-08f) * z - 2.10102402082508e-06f) * z -
                     5.69250639462346e-05f) *
                        z -
                    7.34990630326855e-04f) *
                       z -
                   2.95459980854025e-03f) *
                      z -
                  1.60960333262415e-02f;
  const float q =
      (((-1.45660718464996e-05f * z - 2.13374055278905e-04f) * z - 1.68282697438203e-03f) * z - 7.37332916720468e-03f) *
          z -
      1.42647390514189e-02f;
  const float y = c * (p / q);
  return y > 1.0f ? 1.0f : y < -1.0f ? -1.0f : y;
}
// 1 - erf(x), exact where that is small (Moshier's coefficients, those of XLA).
SHARD_LOOP float erfc(float x) {
  const float a = magnitude(x), q = 1.0f / (a < 1.0f ? 1.0f : a), y = q * q;
  float p = 2.326819970068386e-2f, r = -1.047766399936249e+1f;
  p = p * y - 1.387039388740657e-1f;
  p = p * y + 3.687424674597105e-1f;
  p = p * y - 5.824733027278666e-1f;
  p = p * y + 6.210004621745983e-1f;
  p = p * y - 4.944515323274145e-1f;
  p = p * y + 3.404879937665872e-1f;
  p = p * y - 2.741127028184656e-1f;
  p = p * y + 5.638259427386472e-1f;
  r = r * y + 1.297719955372516e+1f;
  r = r * y - 7.495518717768503e+0f;
  r = r * y + 2.921019019210786e+0f;
  r = r * y - 1.015265279202700e+0f;
  r = r * y + 4.218463358204948e-1f;
  r = r * y - 2.820767439740514e-1f;
  r = r * y + 5.641895067754075e-1f;
  const float tail = exp(-x * x) * q * (a < 2.0f ? p : r), far = x < 0.0f ? 2.0f - tail : tail;
  return a > 1.0f ? far : 1.0f - erf(x);
}
SHARD_LOOP float erf_inv(float x) {
  const float w0 = -log1p(-x * x);
  const float s = w0 - 2.5f, t = __builtin_sqrtf(w0) - 3.0f;
  const bool low = w0 < 5.0f;
  const float w = low ? s : t;
  float p = low ? 2.81022636e-08f : -0.000200214257f;
  p = (low ? 3.43273939e-07f : 0.000100950558f) + p * w;
  p = (low ? -3.5233877e-06f : 0.00134934322f) + p * w;
  p = (low ? -4.39150654e-06f : -0.00367342844f) + p * w;
  p = (low ? 0.00021858087f : 0.00573950773f) + p * w;
  p = (low ? -0.00125372503f : -0.0076224613f) + p * w;
  p = (low ? -0.00417768164f : 0.00943887047f) + p * w;
  p = (low ? 0.246640727f : 1.00167406f) + p * w;
  p = (low ? 1.50140941f : 2.83297682f) + p * w;
  return magnitude(x) == 1.0f ? x * kInf : p * x;
}

// Angles are reduced in f64: to an error of 1e-16 for |x| up to kAngle; beyond it the loops call the C library.
inline constexpr float kAngle = 1.0e7f;
struct Angle {
  float sine, cosine;
  std::uint32_t quadrant;
};
SHARD_LOOP Angle angle(float x) {
  const double d = x;
  const double t = d * 0.63661977236758134308 + 6755399441055744.0;  // 1.5 * 2^52: the quotient is in the low bits
  const double n = t - 6755399441055744.0;
  const std::uint32_t q = static_cast<std::uint32_t>(__builtin_bit_cast(std::uint64_t, t));
  const float r =
      static_cast<float>((d - n * 1.5707963109016418) - n * 1.5893254773528196e-8);  // pi/2 in 26 bits and the rest
  const float z = r * r;
  const float s = r + r * z * ((-1.951083832e-04f * z + 8.332131431e-03f) * z - 1.666665375e-01f);  // error 4e-9
  const float c =
      (1.0f - 0.5f * z) + z * z * ((2.443120320e-05f * z - 1.388730598e-03f) * z + 4.166664556e-02f);  // 1e-10
  return {s, c, q};
}
SHARD_LOOP float sin(float x) {
  const Angle a = angle(x);
  const float y = a.quadrant & 1u ? a.cosine : a.sine;
  return x == 0.0f ? x : from_bits(bits(y) ^ ((a.quadrant & 2u) << 30));
}
SHARD_LOOP float cos(float x) {
  const Angle a = angle(x);
  const float y = a.quadrant & 1u ? a.sine : a.cosine;
  return from_bits(bits(y) ^ (((a.quadrant + 1u) & 2u) << 30));
}
SHARD_LOOP float tan(float x) {
  const Angle a = angle(x);
  const float y = a.quadrant & 1u ? -a.cosine / a.sine : a.sine / a.cosine;
  return x == 0.0f ? x : y;
}

SHARD_LOOP float sign(float x) { return x == x ? (x == 0.0f ? x : with_sign(1.0f, x)) : x; }
// Both zeros are equal, but the larger is +0.
SHARD_LOOP float larger(float x, float y) {
  const float m = x > y ? x : x == y ? from_bits(bits(x) & bits(y)) : y;
  return x == x ? m : x;
}
SHARD_LOOP float smaller(float x, float y) {
  const float m = x < y ? x : x == y ? from_bits(bits(x) | bits(y)) : y;
  return x == x ? m : x;
}

}  // namespace shard::runtime::SHARD_ISA
