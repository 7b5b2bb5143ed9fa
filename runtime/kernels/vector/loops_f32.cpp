// Loops of the elementwise codes over f32 (which also holds f16 and bf16 registers).
#include "runtime/kernels/vector/math_f32.h"
#include "runtime/kernels/vector/special.h"

#include <math.h>

namespace shard::runtime::SHARD_ISA {
namespace {

// Rare functions go through the C library, element by element.
template <float (*F)(float)>
void by_library(const void* a, const void*, const void*, void* out, std::int64_t n) {
  const float* x = static_cast<const float*>(a);
  float* o = static_cast<float*>(out);
  for (std::int64_t i = 0; i < n; ++i) o[i] = F(x[i]);
}

// Circular functions: vector code for usual angles, the C library where one in the group is large.
template <float (*Vector)(float), float (*Library)(float)>
SHARD_LOOP void circular(const void* a, void* out, std::int64_t n) {
  constexpr std::int64_t kGroup = 64;
  for (std::int64_t at = 0; at < n; at += kGroup) {
    const std::int64_t count = n - at < kGroup ? n - at : kGroup;
    const float* x = static_cast<const float*>(a) + at;
    float* o = static_cast<float*>(out) + at;
    int large = 0;
    for (std::int64_t i = 0; i < count; ++i) large |= magnitude(x[i]) > kAngle;
    if (!large) {
#pragma GCC ivdep
      for (std::int64_t i = 0; i < count; ++i) o[i] = Vector(x[i]);
    } else {
      for (std::int64_t i = 0; i < count; ++i) o[i] = magnitude(x[i]) > kAngle ? Library(x[i]) : Vector(x[i]);
    }
  }
}

// x^y through log2 and 2^t in f64: within an ulp everywhere. Conditions are combined without branches, or GCC gives up.
SHARD_LOOP float power(float x, float y) {
  const float a = magnitude(x), b = magnitude(y);
  const std::uint64_t u = __builtin_bit_cast(std::uint64_t, static_cast<double>(a));  // f32 subnormals are normal here
  // a = m 2^e with sqrt(1/2) <= m < sqrt(2); the exponent field of `biased` is e + 1024, made a double by way of 2^52.
  const std::uint64_t biased = u - 0x3fe6a09e667f3bcdu + (std::uint64_t{1024} << 52);
  const double e = __builtin_bit_cast(double, (biased >> 52) | 0x4330000000000000u) - 4503599627371520.0;
  const double m = __builtin_bit_cast(double, u - (biased & 0xfff0000000000000u) + (std::uint64_t{1024} << 52));
  const double s = (m - 1.0) / (m + 1.0), z = s * s;  // log m = 2 atanh(s), |s| < 0.172
  const double series =
      ((((((1.0 / 13) * z + 1.0 / 11) * z + 1.0 / 9) * z + 1.0 / 7) * z + 1.0 / 5) * z + 1.0 / 3) * z + 1.0;
  const double exact = e + s * series * 2.8853900817779268;
  const double infinite = a == 0.0f ? -static_cast<double>(kInf) : static_cast<double>(kInf);
  double t = y * ((a == 0.0f) | (a == kInf) ? infinite : exact);
  t = t > 300.0 ? 300.0 : t;
  t = t < -300.0 ? -300.0 : t;
  const double r = t + 6755399441055744.0;  // 1.5 * 2^52: the integer is in the low bits
  const double f = (t - (r - 6755399441055744.0)) * 0.69314718055994531;
  const double p =
      ((((((((f * (1.0 / 362880) + 1.0 / 40320) * f + 1.0 / 5040) * f + 1.0 / 720) * f + 1.0 / 120) * f + 1.0 / 24) *
             f +
         1.0 / 6) *
            f +
        0.5) *
           f +
       1.0) *
          f +
      1.0;
  const std::uint64_t k = __builtin_bit_cast(std::uint64_t, r) << 52;
  const float mag = static_cast<float>(__builtin_bit_cast(double, __builtin_bit_cast(std::uint64_t, p) + k));
  // Adding 2^23 shows a fraction, and leaves the last bit of an integer below 2^23; from 2^24 on floats are even.
  const float shifted = b + 8388608.0f;
  const bool small = b < 8388608.0f;
  const std::uint32_t last = (small ? bits(shifted) : b < 16777216.0f ? bits(b) : 0u) & 1u;
  const bool integer = !small | (shifted - 8388608.0f == b);
  float out = from_bits(bits(mag) | (integer ? (last << 31) & bits(x) : 0u));
  out = (x < 0.0f) & !integer & (a != kInf) ? kNan : out;  // an infinite y is an integer here
  out = (a == 1.0f) & (b == kInf) ? 1.0f : out;
  out = (x != x) | (y != y) ? kNan : out;
  return (x == 1.0f) | (y == 0.0f) ? 1.0f : out;
}

float log_gamma(float x) { return static_cast<float>(lgamma_of(static_cast<double>(x))); }
float digamma_of(float x) { return static_cast<float>(digamma(static_cast<double>(x))); }
float trigamma_of(float x) { return static_cast<float>(trigamma(static_cast<double>(x))); }

// As JAX's: the quotient is made of the remainder, so that x == (x // y) * y + x % y.
SHARD_LOOP float modulo(float x, float y) {
  const float r = fmodf(x, y);
  return r != 0.0f && (r < 0.0f) != (y < 0.0f) ? r + y : r;
}
SHARD_LOOP float floor_quotient(float x, float y) {
  if (y == 0.0f) return x / y;
  const float r = fmodf(x, y), q = (x - r) / y;
  return rintf(r != 0.0f && (r < 0.0f) != (y < 0.0f) ? q - 1.0f : q);
}

}  // namespace

#define F1(expression) SHARD_UNARY(float, float, expression)
#define F2(expression) SHARD_BINARY(float, float, expression)
#define T1(expression) SHARD_UNARY(float, std::uint8_t, expression)
#define T2(expression) SHARD_BINARY(float, std::uint8_t, expression)

Loop loop_f32(Code code) {
  switch (code) {
    case Code::Neg: return F1(-x);
    case Code::Abs: return F1(magnitude(x));
    case Code::Sign: return F1(sign(x));
    case Code::Exp: return F1(exp(x));
    case Code::Expm1: return F1(expm1(x));
    case Code::Log: return F1(log(x));
    case Code::Log1p: return F1(log1p(x));
    case Code::Sqrt: return F1(__builtin_sqrtf(x));
    case Code::Rsqrt: return F1(1.0f / __builtin_sqrtf(x));
    case Code::Square: return F1(x * x);
    case Code::Cbrt: return by_library<cbrtf>;
    case Code::Sin:
      return [](const void* a, const void*, const void*, void* out, std::int64_t n) { circular<sin, sinf>(a, out, n); };
    case Code::Cos:
      return [](const void* a, const void*, const void*, void* out, std::int64_t n) { circular<cos, cosf>(a, out, n); };
    case Code::Tan:
      return [](const void* a, const void*, const void*, void* out, std::int64_t n) { circular<tan, tanf>(a, out, n); };
    case Code::Sinh: return F1(sinh(x));
    case Code::Cosh: return F1(cosh(x));
    case Code::Tanh: return F1(tanh(x));
    case Code::Asin: return by_library<asinf>;
    case Code::Acos: return by_library<acosf>;
    case Code::Atan: return by_library<atanf>;
    case Code::Asinh: return by_library<asinhf>;
    case Code::Acosh: return by_library<acoshf>;
    case Code::Atanh: return by_library<atanhf>;
    case Code::Sigmoid: return F1(sigmoid(x));
    case Code::Erf: return F1(erf(x));
    case Code::ErfInv: return F1(erf_inv(x));
    case Code::Erfc: return F1(erfc(x));
    case Code::Lgamma: return by_library<log_gamma>;
    case Code::Digamma: return by_library<digamma_of>;
    case Code::Trigamma: return by_library<trigamma_of>;
    case Code::Floor: return F1(__builtin_floorf(x));
    case Code::Ceil: return F1(__builtin_ceilf(x));
    case Code::Round: return F1(__builtin_rintf(x));
    case Code::Reciprocal: return F1(1.0f / x);
    case Code::Identity: return F1(x);
    case Code::Not: return T1(x == 0.0f);
    case Code::IsNan: return T1(x != x);
    case Code::IsInf: return T1(magnitude(x) == kInf);
    case Code::IsFinite: return T1(magnitude(x) < kInf);
    case Code::Add: return F2(x + y);
    case Code::Sub: return F2(x - y);
    case Code::Mul: return F2(x * y);
    case Code::Div: return F2(x / y);
    case Code::FloorDiv: return F2(floor_quotient(x, y));
    case Code::Mod: return F2(modulo(x, y));
    case Code::Pow: return F2(power(x, y));
    case Code::Max: return F2(larger(x, y));
    case Code::Min: return F2(smaller(x, y));
    case Code::Atan2: return F2(atan2f(x, y));
    case Code::Eq: return T2(x == y);
    case Code::Ne: return T2(x != y);
    case Code::Lt: return T2(x < y);
    case Code::Le: return T2(x <= y);
    case Code::Gt: return T2(x > y);
    case Code::Ge: return T2(x >= y);
    default: return nullptr;
  }
}

}  // namespace shard::runtime::SHARD_ISA
