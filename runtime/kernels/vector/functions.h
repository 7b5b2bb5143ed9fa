// Long: a function for each code. What the elementwise codes compute, named as they are, for every type that they take
// (codes.h). The loops over arrays are made of them (SHARD_LOOP_OF in common.h).
// f32: functions written without branches, so that a loop over them becomes vector code. Polynomials were fitted for
// this file (minimax by reweighted least squares; errors in comments are relative), erf and erf_inv use the published
// coefficients that XLA uses, so that samplers agree with it. Every function keeps nan, and handles infinities, zeros
// and subnormals. f64: those of the C library, and here what it has not, or not for several threads.
// Integers: what they have alone is in loops.cpp.
#pragma once
#include <math.h>

#include <cstdint>

#include "runtime/kernels/vector/common.h"

namespace shard::runtime::SHARD_ISA::codes {

template <class T>
struct Unsigned {  // not promoted to int
  using type = std::conditional_t<sizeof(T) == 8, std::uint64_t, std::uint32_t>;
};
template <class T>
using U = typename Unsigned<T>::type;
template <class T>
inline constexpr bool kSigned = static_cast<T>(-1) < static_cast<T>(1);
template <class T>
inline constexpr bool kWhole = static_cast<T>(0.5) == T{0};
template <class T>
concept Integer = kWhole<T>;
template <class T>
concept Floating = !Integer<T>;
SHARD_LOOP std::uint32_t bits(float x) { return __builtin_bit_cast(std::uint32_t, x); }
SHARD_LOOP float from_bits(std::uint32_t u) { return __builtin_bit_cast(float, u); }
SHARD_LOOP std::int32_t to_signed(std::uint32_t u) { return static_cast<std::int32_t>(u); }
SHARD_LOOP std::uint32_t to_unsigned(std::int32_t i) { return static_cast<std::uint32_t>(i); }
SHARD_LOOP float root(float x) { return __builtin_sqrtf(x); }
SHARD_LOOP float to_float(std::int32_t i) { return static_cast<float>(i); }
SHARD_LOOP double widened(float x) { return x; }
SHARD_LOOP float narrowed(double x) { return static_cast<float>(x); }
SHARD_LOOP std::uint64_t wide_bits(double x) { return __builtin_bit_cast(std::uint64_t, x); }
SHARD_LOOP double from_wide_bits(std::uint64_t u) { return __builtin_bit_cast(double, u); }
SHARD_LOOP std::uint32_t low_bits(double x) { return static_cast<std::uint32_t>(wide_bits(x)); }
template <class T>
SHARD_LOOP T pick(bool condition, T x, T y) {
  return condition ? x : y;
}
// x * y + z, rounded once. Without an instruction for it: in f64 the product is exact; the sum is rounded to odd, so
// that rounding it again is harmless.
SHARD_LOOP float fused(float x, float y, float z) {
#ifdef __FMA__
  return __builtin_fmaf(x, y, z);
#else
  const double p = static_cast<double>(x) * y, s = p + z, added = s - p, lost = (p - (s - added)) + (z - added);
  const std::uint64_t u = __builtin_bit_cast(std::uint64_t, s), up = (lost > 0) == (s > 0) ? 1 : ~std::uint64_t{0};
  const bool inexact = ((lost > 0) | (lost < 0)) & ((u & 1) == 0);
  return static_cast<float>(__builtin_bit_cast(double, u + (inexact ? up : 0)));
#endif
}
// float, and what stands for one where a formula is written down rather than computed (generated/recorded.h). Formulas
// over it choose by `pick`, join conditions with & and |, and see numbers as bits by the functions below.
template <class T>
concept Single = Floating<T> && std::is_same_v < U<T>,
decltype(bits(T{})) > ;

// The number in the type that sums and products are formed in.
SHARD_LOOP auto ring(Integer auto x) { return static_cast<U<decltype(x)>>(x); }
SHARD_LOOP auto ring(Floating auto x) { return x; }

template <class T>
inline constexpr TypeSet kTypes = Integer<T> ? kIntegers : kFloats;
// Circular functions and remainders of f32 have loops of their own (loops_f32.cpp).
template <class T>
constexpr bool own_loop(Code code) {
  return Floating<T> && sizeof(T) == 4 &&
         (code == Code::Sin || code == Code::Cos || code == Code::Tan || code == Code::Mod || code == Code::FloorDiv);
}

// ---- all numbers

SHARD_LOOP auto Identity(auto x) { return x; }
SHARD_LOOP auto Neg(auto x) { return static_cast<decltype(x)>(-ring(x)); }
SHARD_LOOP auto Square(auto x) { return ring(x) * ring(x); }
SHARD_LOOP auto Add(auto x, auto y) { return ring(x) + ring(y); }
SHARD_LOOP auto Sub(auto x, auto y) { return ring(x) - ring(y); }
SHARD_LOOP auto Mul(auto x, auto y) { return ring(x) * ring(y); }
SHARD_LOOP auto Not(auto x) { return x == 0; }
SHARD_LOOP auto Eq(auto x, auto y) { return x == y; }
SHARD_LOOP auto Ne(auto x, auto y) { return x != y; }
SHARD_LOOP auto Lt(auto x, auto y) { return x < y; }
SHARD_LOOP auto Le(auto x, auto y) { return x <= y; }
SHARD_LOOP auto Gt(auto x, auto y) { return x > y; }
SHARD_LOOP auto Ge(auto x, auto y) { return x >= y; }

// ---- f32

SHARD_LOOP auto magnitude(Single auto x) { return from_bits(bits(x) & 0x7fffffffu); }
template <Single F>
SHARD_LOOP F with_sign(F x, F s) {
  return from_bits((bits(x) & 0x7fffffffu) | (bits(s) & 0x80000000u));
}
inline constexpr float kInf = __builtin_inff(), kNan = __builtin_nanf("");

// p[0] x^n + ... + p[n]
template <Single F, class... P>
SHARD_LOOP F polynomial(F x, float first, P... rest) {
  F sum = first;
  ((sum = fused(sum, x, F(rest))), ...);
  return sum;
}

SHARD_LOOP auto power_of_two(auto biased) { return from_bits(biased << 23); }  // 1 <= k + 127 <= 254, in the last bits

// exp(Part r) - 1 over Part, for |Part r| <= ln2/2 (error 3e-10 before rounding). Part is a power of two, so that the
// bits are those of Part 1.
template <int Part, Single F>
SHARD_LOOP F expm1_core(F r) {
  constexpr float q = Part;
  const F p =
      polynomial(r, 1.991503232e-04f * q * q * q * q * q * q, 1.394205960e-03f * q * q * q * q * q,
                 8.333271369e-03f * q * q * q * q, 4.166634008e-02f * q * q * q, 1.666666716e-01f * q * q, 0.5f * q);
  return fused(r * r, p, r);
}
// Adding 1.5 * 2^23 to a float leaves the nearest integer in its low bits; with 127 more, the exponent field of 2 to
// the power of that integer.
inline constexpr float kMagic = 12582912.0f + 127.0f;
inline constexpr std::uint32_t kMagicBits = 0x4b400000u + 127u;
template <class F, class U>
struct Reduced {
  F r, whole;
  U biased;  // `whole` + 127 in the last bits
};
// Part x = k ln2 + Part r; ln2 in two parts, the first with 9 bits so that its multiples are exact. No x is halfway
// between two k for |k| < 1000.
template <int Part, Single F>
SHARD_LOOP auto reduce_exp(F x) {
  constexpr float q = Part;
  const F t = fused(x, F(1.44269504f * q), F(kMagic)), k = t - kMagic;
  return Reduced{fused(k, F(2.12194440e-4f / q), fused(k, F(-0.693359375f / q), x)), k, bits(t)};
}

// x * 2^k, by two factors: the result may be subnormal or overflow while one factor may not. `whole`: k as a float.
template <Single F>
SHARD_LOOP F scaled(F x, [[maybe_unused]] F whole, auto biased) {
  const auto k = to_signed(biased - kMagicBits), half = k >> 1;
  return x * power_of_two(to_unsigned(half + 127)) * power_of_two(to_unsigned(k - half + 127));
}

// What is masked, as by -1e9, is 0 without being computed: a result too small for a float takes processors 150 cycles.
template <Single F>
SHARD_LOOP F Exp(F x) {
  const auto none = x < -104.0f;
  const auto d = reduce_exp<1>(pick(none, F(0.0f), pick(x > 90.0f, F(90.0f), x)));
  return pick(none, F(0.0f), scaled(1.0f + expm1_core<1>(d.r), d.whole, d.biased));
}

template <Single F>
SHARD_LOOP F Expm1(F x) {
  F c = pick(x < -20.0f, F(-20.0f), x);
  c = pick(c > 88.75f, F(88.75f), c);
  const auto d = reduce_exp<1>(c);
  const F core = expm1_core<1>(d.r), h = power_of_two(d.biased - 1u);  // half of 2^k: 2^128 is not a float
  const F y = fused(h, core, h - 0.5f) * 2.0f;
  return pick(d.whole == 0.0f, pick(x == 0.0f, x, core), y);
}

// log of m * 2^e with f = m - 1, sqrt(1/2) <= m < sqrt(2) (error 7e-9).
template <Single F>
SHARD_LOOP F log_core(F f, F e) {
  const F q = polynomial(f, -7.863239199e-02f, 1.292409748e-01f, -1.314585209e-01f, 1.417617798e-01f, -1.662245840e-01f,
                         2.000245601e-01f, -2.500086725e-01f, 3.333331645e-01f);
  const F z = f * f;
  const F tail = fused(F(-0.5f), z, fused(e, F(-2.12194440e-4f), f * z * q));
  return fused(e, F(0.693359375f), f + tail);
}
template <Single F>
SHARD_LOOP F log_positive(F x) {  // 0 < x < inf
  const auto tiny = x < 1.17549435e-38f;
  const auto u = bits(pick(tiny, x * 8388608.0f, x));
  const auto shifted = u - 0x3f3504f3u;  // bits of sqrt(1/2): the exponent field now counts from there
  const auto e = to_signed(shifted) >> 23;
  const F m = from_bits(u - (to_unsigned(e) << 23));
  return log_core(m - 1.0f, to_float(pick(tiny, e - 23, e)));
}
template <Single F>
SHARD_LOOP F Log(F x) {
  const F y = log_positive(x);
  const F special = pick(x == 0.0f, F(-kInf), pick(x < 0.0f, F(kNan), x));  // inf and nan are themselves
  return pick((x > 0.0f) & (x < kInf), y, special);
}
template <Single F>
SHARD_LOOP F Log1p(F x) {
  const F u = 1.0f + x;
  const F y = log_positive(u) + (x - (u - 1.0f)) / u;  // the second term gives back what 1 + x lost
  const F special = pick(u == 0.0f, F(-kInf), pick(u < 0.0f, F(kNan), x));
  return pick((u > 0.0f) & (u < kInf) & (x != 0.0f), y, special);
}

template <Single F>
SHARD_LOOP F Tanh(F x) {
  // Of t = expm1(-2 |x|) / 2, which is as good without the cares of Expm1: 2^k is a normal float, and k = 0 gives the
  // core itself.
  F c = from_bits(bits(x) | 0x80000000u);
  c = pick(c < -10.0f, F(-10.0f), c);
  const auto d = reduce_exp<2>(c);
  const F two_k = power_of_two(d.biased), t = fused(two_k, expm1_core<2>(d.r), fused(two_k, F(0.5f), F(-0.5f)));
  return with_sign(t / (1.0f + t), x);
}
template <Single F>
SHARD_LOOP F Sigmoid(F x) {
  return 1.0f / (1.0f + Exp(-x));
}
template <Single F>
SHARD_LOOP F Sinh(F x) {
  const F a = magnitude(x), t = Expm1(a), h = Exp(0.5f * a);
  const F y = pick(a < 20.0f, 0.5f * (t + t / (t + 1.0f)), (0.5f * h) * h);
  return pick(x == x, with_sign(y, x), x);
}
template <Single F>
SHARD_LOOP F Cosh(F x) {
  const F a = magnitude(x), e = Exp(a), h = Exp(0.5f * a);
  return pick(a < 20.0f, 0.5f * (e + 1.0f / e), (0.5f * h) * h);
}

// log(1 + y) where `far` is not, else log(2 (1 + y)): of numbers whose square would be infinite.
template <Single F>
SHARD_LOOP F log1p_or_doubled(F y, const auto& far) {
  return Log1p(y) + pick(far, F(0.693147181f), F(0.0f));
}
template <Single F>
SHARD_LOOP F Asinh(F x) {
  const F a = magnitude(x), z = a * a;
  const auto far = a > 1e9f;
  return with_sign(log1p_or_doubled(pick(far, a, a + z / (1.0f + root(z + 1.0f))), far), x);
}
template <Single F>
SHARD_LOOP F Acosh(F x) {
  const F t = x - 1.0f;
  const auto far = t > 1e9f;
  return log1p_or_doubled(pick(far, t, t + root(t * (t + 2.0f))), far);
}
template <Single F>
SHARD_LOOP F Atanh(F x) {
  const F a = magnitude(x);
  return with_sign(0.5f * Log1p(2.0f * a / (1.0f - a)), x);
}

template <Single F>
SHARD_LOOP F Erf(F x) {
  F c = pick(x > 4.0f, F(4.0f), x);
  c = pick(c < -4.0f, F(-4.0f), c);
  const F z = c * c;
  const F p =
      polynomial(z, -2.72614225801306e-10f, 2.77068142495902e-08f, -2.10102402082508e-06f, -5.69250639462346e-05f,
                 -7.34990630326855e-04f, -2.95459980854025e-03f, -1.60960333262415e-02f);
  const F q = polynomial(z, -1.45660718464996e-05f, -2.13374055278905e-04f, -1.68282697438203e-03f,
                         -7.37332916720468e-03f, -1.42647390514189e-02f);
  const F y = c * (p / q);
  return pick(y > 1.0f, F(1.0f), pick(y < -1.0f, F(-1.0f), y));
}
// 1 - erf(x), exact where that is small (Moshier's coefficients, those of XLA).
template <Single F>
SHARD_LOOP F Erfc(F x) {
  const F a = magnitude(x), q = 1.0f / pick(a < 1.0f, F(1.0f), a), y = q * q;
  const F p = polynomial(y, 2.326819970068386e-2f, -1.387039388740657e-1f, 3.687424674597105e-1f,
                         -5.824733027278666e-1f, 6.210004621745983e-1f, -4.944515323274145e-1f, 3.404879937665872e-1f,
                         -2.741127028184656e-1f, 5.638259427386472e-1f);
  const F r =
      polynomial(y, -1.047766399936249e+1f, 1.297719955372516e+1f, -7.495518717768503e+0f, 2.921019019210786e+0f,
                 -1.015265279202700e+0f, 4.218463358204948e-1f, -2.820767439740514e-1f, 5.641895067754075e-1f);
  const F tail = Exp(-x * x) * q * pick(a < 2.0f, p, r), far = pick(x < 0.0f, 2.0f - tail, tail);
  return pick(a > 1.0f, far, 1.0f - Erf(x));
}
template <Single F>
SHARD_LOOP F ErfInv(F x) {
  const F w0 = -Log1p(-x * x);
  const F s = w0 - 2.5f, t = root(w0) - 3.0f;
  const auto low = w0 < 5.0f;
  const F w = pick(low, s, t);
  F p = pick(low, F(2.81022636e-08f), F(-0.000200214257f));
  p = fused(p, w, pick(low, F(3.43273939e-07f), F(0.000100950558f)));
  p = fused(p, w, pick(low, F(-3.5233877e-06f), F(0.00134934322f)));
  p = fused(p, w, pick(low, F(-4.39150654e-06f), F(-0.00367342844f)));
  p = fused(p, w, pick(low, F(0.00021858087f), F(0.00573950773f)));
  p = fused(p, w, pick(low, F(-0.00125372503f), F(-0.0076224613f)));
  p = fused(p, w, pick(low, F(-0.00417768164f), F(0.00943887047f)));
  p = fused(p, w, pick(low, F(0.246640727f), F(1.00167406f)));
  p = fused(p, w, pick(low, F(1.50140941f), F(2.83297682f)));
  return pick(magnitude(x) == 1.0f, x * kInf, p * x);
}

// To the nearest bf16, ties to even; nan stays one (runtime/array/half.h).
inline constexpr std::uint32_t kUpperHalf = 0xffff0000u;
template <Single F>
SHARD_LOOP F rounded_to_bf16(F x) {
  const auto u = bits(x);
  return from_bits(pick(x == x, u + 0x7fffu + ((u >> 16) & 1u), u | 0x400000u) & kUpperHalf);
}

// Angles are reduced in f64: to an error of 1e-16 for |x| up to kAngle; beyond it the C library does it.
inline constexpr float kAngle = 1.0e7f;
template <class F>
struct Angle {
  F sine, cosine;
  U<F> quadrant;
};
template <Single F>
SHARD_LOOP Angle<F> angle(F x) {
  const auto d = widened(x);
  const auto t = d * 0.63661977236758134308 + 6755399441055744.0;  // 1.5 * 2^52: the quotient is in the low bits
  const auto n = t - 6755399441055744.0;
  // pi/2 in 26 bits and the rest
  const F r = narrowed((d - n * 1.5707963109016418) - n * 1.5893254773528196e-8);
  const F z = r * r;
  const F s = r + r * z * ((-1.951083832e-04f * z + 8.332131431e-03f) * z - 1.666665375e-01f);  // error 4e-9
  const F c = (1.0f - 0.5f * z) + z * z * ((2.443120320e-05f * z - 1.388730598e-03f) * z + 4.166664556e-02f);  // 1e-10
  return {s, c, low_bits(t)};
}
template <Single F>
SHARD_LOOP F Sin(F x) {
  const auto [sine, cosine, quadrant] = angle(x);
  const F y = pick((quadrant & 1u) != 0u, cosine, sine);
  return pick(x == 0.0f, x, from_bits(bits(y) ^ ((quadrant & 2u) << 30)));
}
template <Single F>
SHARD_LOOP F Cos(F x) {
  const auto [sine, cosine, quadrant] = angle(x);
  const F y = pick((quadrant & 1u) != 0u, sine, cosine);
  return from_bits(bits(y) ^ (((quadrant + 1u) & 2u) << 30));
}
template <Single F>
SHARD_LOOP F Tan(F x) {
  const auto [sine, cosine, quadrant] = angle(x);
  const F y = pick((quadrant & 1u) != 0u, -cosine / sine, sine / cosine);
  return pick(x == 0.0f, x, y);
}

template <Single F>
SHARD_LOOP F Sign(F x) {
  return pick((x == x) & (x != 0.0f), with_sign(F(1.0f), x), x);
}
// Both zeros are equal, but the larger is +0.
template <Single F>
SHARD_LOOP F Max(F x, F y) {
  const F m = pick(x > y, x, pick(x == y, from_bits(bits(x) & bits(y)), y));
  return pick(x == x, m, x);
}
template <Single F>
SHARD_LOOP F Min(F x, F y) {
  const F m = pick(x < y, x, pick(x == y, from_bits(bits(x) | bits(y)), y));
  return pick(x == x, m, x);
}
// x^y through log2 and 2^t in f64: within an ulp everywhere. Conditions are combined without branches, or GCC gives up.
template <Single F>
SHARD_LOOP F Pow(F x, F y) {
  using D = decltype(widened(x));
  const F a = magnitude(x), b = magnitude(y);
  const auto u = wide_bits(widened(a));  // f32 subnormals are normal here
  // a = m 2^e with sqrt(1/2) <= m < sqrt(2); the exponent field of `biased` is e + 1024, made a double by way of 2^52.
  const auto biased = u - 0x3fe6a09e667f3bcdu + (std::uint64_t{1024} << 52);
  const D e = from_wide_bits((biased >> 52) | 0x4330000000000000u) - 4503599627371520.0;
  const D m = from_wide_bits(u - (biased & 0xfff0000000000000u) + (std::uint64_t{1024} << 52));
  // log m = 2 atanh(s), |s| < 0.172. Terms in pairs, here and below, wait less for one another.
  const D s = (m - 1.0) / (m + 1.0), z = s * s, z2 = z * z;
  const D series = ((1.0 + z * (1.0 / 3)) + z2 * (1.0 / 5 + z * (1.0 / 7))) +
                   z2 * z2 * ((1.0 / 9 + z * (1.0 / 11)) + z2 * (1.0 / 13));
  const D exact = e + s * series * 2.8853900817779268;
  constexpr double kWide = static_cast<double>(kInf);
  const D infinite = pick(a == 0.0f, D(-kWide), D(kWide));
  D t = widened(y) * pick((a == 0.0f) | (a == kInf), infinite, exact);
  t = pick(t > 300.0, D(300.0), t);
  t = pick(t < -300.0, D(-300.0), t);
  const D r = t + 6755399441055744.0;  // 1.5 * 2^52: the integer is in the low bits
  const D f = (t - (r - 6755399441055744.0)) * 0.69314718055994531;
  const D f2 = f * f, f4 = f2 * f2;
  const D p = ((1.0 + f) + f2 * (0.5 + f * (1.0 / 6))) +
              f4 * (((1.0 / 24 + f * (1.0 / 120)) + f2 * (1.0 / 720 + f * (1.0 / 5040))) +
                    f4 * (1.0 / 40320 + f * (1.0 / 362880)));
  const F mag = narrowed(from_wide_bits(wide_bits(p) + (wide_bits(r) << 52)));
  // Adding 2^23 shows a fraction, and leaves the last bit of an integer below 2^23; from 2^24 on floats are even.
  const F shifted = b + 8388608.0f;
  const auto small = b < 8388608.0f, fraction = small & (shifted - 8388608.0f != b);
  const auto last = pick(small, bits(shifted), pick(b < 16777216.0f, bits(b), U<F>(0u))) & 1u;
  F out = from_bits(bits(mag) | pick(fraction, U<F>(0u), (last << 31) & bits(x)));
  out = pick((x < 0.0f) & fraction & (a != kInf), F(kNan), out);  // an infinite y is an integer here
  out = pick((a == 1.0f) & (b == kInf), F(1.0f), out);
  out = pick((x != x) | (y != y), F(kNan), out);
  return pick((x == 1.0f) | (y == 0.0f), F(1.0f), out);
}

// ---- f64

SHARD_LOOP double magnitude(double x) { return __builtin_fabs(x); }
SHARD_LOOP double Sign(double x) { return x > 0.0 ? 1.0 : x < 0.0 ? -1.0 : x; }
// As of f32 (x + y of two zeros is -0 only where both are).
SHARD_LOOP double Max(double x, double y) {
  const double m = x > y ? x : x == y ? (x == 0.0 ? x + y : x) : y;
  return x == x ? m : x;
}
SHARD_LOOP double Min(double x, double y) {
  const double m = x < y ? x : x == y ? (x == 0.0 ? -(-x - y) : x) : y;
  return x == x ? m : x;
}
SHARD_LOOP double Exp(double x) { return exp(x); }
SHARD_LOOP double Expm1(double x) { return expm1(x); }
SHARD_LOOP double Log(double x) { return log(x); }
SHARD_LOOP double Log1p(double x) { return log1p(x); }
SHARD_LOOP double Sin(double x) { return sin(x); }
SHARD_LOOP double Cos(double x) { return cos(x); }
SHARD_LOOP double Tan(double x) { return tan(x); }
SHARD_LOOP double Sinh(double x) { return sinh(x); }
SHARD_LOOP double Cosh(double x) { return cosh(x); }
SHARD_LOOP double Tanh(double x) { return tanh(x); }
SHARD_LOOP double Asinh(double x) { return asinh(x); }
SHARD_LOOP double Acosh(double x) { return acosh(x); }
SHARD_LOOP double Atanh(double x) { return atanh(x); }
SHARD_LOOP double Sigmoid(double x) { return 1.0 / (1.0 + exp(-x)); }
SHARD_LOOP double Erf(double x) { return erf(x); }
SHARD_LOOP double Erfc(double x) { return erfc(x); }
SHARD_LOOP double Pow(double x, double y) { return pow(x, y); }

// Giles' single-precision start would be good to 1e-7; two steps of Halley's method against erfc bring it to f64.
SHARD_LOOP double ErfInv(double x) {
  const double a = fabs(x);
  if (!(a < 1.0)) return a == 1.0 ? x * HUGE_VAL : NAN;
  if (a == 0.0) return x;
  const double l = log1p(-a * a), t = 4.330746750799873 + 0.5 * l;  // 2 / (pi * 0.147) + l / 2 (Winitzki's formula)
  double y = sqrt(sqrt(t * t - l / 0.147) - t);
  const double rest = 1.0 - a;  // exact for a >= 1/2, where erfc keeps the digits that erf loses
  for (int i = 0; i < 3; ++i) {
    const double e = a < 0.5 ? erf(y) - a : rest - erfc(y);
    const double step = e / (1.1283791670955126 * exp(-y * y));  // 2 / sqrt(pi)
    y -= step / (1.0 + y * step);
  }
  return copysign(y, x);
}

SHARD_LOOP double Lgamma(double x) {  // lgamma itself keeps the sign where all threads write it
  int sign = 0;
  return x == -HUGE_VAL ? HUGE_VAL : lgamma_r(x, &sign);
}

// Made of elementary functions of numbers of type By.
// By recurrence up to 10 and an asymptotic series from there; by reflection below 1/2. nan at the poles, as XLA has it.
template <class By>
SHARD_LOOP double digamma_by(double x) {
  constexpr double kPi = 3.14159265358979323846;
  if (x != x || x == -HUGE_VAL || (x <= 0.0 && x == floor(x))) return NAN;
  double sum = 0.0;
  if (x < 0.5) {
    const double part = x - floor(x);  // the tangent's argument, small
    sum = -kPi / Tan(By(kPi * part));
    x = 1.0 - x;
  }
  if (x == HUGE_VAL) return x;
  for (; x < 10.0; x += 1.0) sum -= 1.0 / x;
  const double z = 1.0 / (x * x);
  return sum + Log(By(x)) - 0.5 / x -
         z * (1.0 / 12 - z * (1.0 / 120 - z * (1.0 / 252 - z * (1.0 / 240 - z * (1.0 / 132 - z * (691.0 / 32760))))));
}

// The derivative of digamma, likewise.
template <class By>
SHARD_LOOP double trigamma_by(double x) {
  constexpr double kPi = 3.14159265358979323846;
  if (x != x || x == -HUGE_VAL || (x <= 0.0 && x == floor(x))) return x == x && x != -HUGE_VAL ? HUGE_VAL : NAN;
  double sum = 0.0, sign = 1.0;
  if (x < 0.5) {
    const double s = kPi / Sin(By(kPi * (x - floor(x))));
    sum = s * s;
    sign = -1.0;
    x = 1.0 - x;
  }
  double rest = 0.0;
  for (; x < 10.0; x += 1.0) rest += 1.0 / (x * x);
  const double z = 1.0 / (x * x);
  rest += 1.0 / x + 0.5 * z +
          z / x * (1.0 / 6 - z * (1.0 / 30 - z * (1.0 / 42 - z * (1.0 / 30 - z * (5.0 / 66 - z * (691.0 / 2730))))));
  return sum + sign * rest;
}
SHARD_LOOP double Digamma(double x) { return digamma_by<double>(x); }
SHARD_LOOP double Trigamma(double x) { return trigamma_by<double>(x); }

// ---- f32 and f64 alike

SHARD_LOOP float Lgamma(float x) { return static_cast<float>(Lgamma(static_cast<double>(x))); }
SHARD_LOOP float Digamma(float x) { return static_cast<float>(digamma_by<float>(x)); }
SHARD_LOOP float Trigamma(float x) { return static_cast<float>(trigamma_by<float>(x)); }

#define SHARD_BY_LIBRARY(code, name)                    \
  SHARD_LOOP float code(float x) { return name##f(x); } \
  SHARD_LOOP double code(double x) { return name(x); }
SHARD_BY_LIBRARY(Sqrt, __builtin_sqrt)
SHARD_BY_LIBRARY(Cbrt, cbrt)
SHARD_BY_LIBRARY(Asin, asin)
SHARD_BY_LIBRARY(Acos, acos)
SHARD_BY_LIBRARY(Atan, atan)
SHARD_BY_LIBRARY(Floor, __builtin_floor)
SHARD_BY_LIBRARY(Ceil, __builtin_ceil)
SHARD_BY_LIBRARY(Round, __builtin_rint)
#undef SHARD_BY_LIBRARY
SHARD_LOOP float Atan2(float x, float y) { return atan2f(x, y); }
SHARD_LOOP double Atan2(double x, double y) { return atan2(x, y); }

// Whether a remainder that is not 0 has the other sign than the divisor.
SHARD_LOOP bool crosses(auto r, auto y) { return (r != 0) & ((r < 0) != (y < 0)); }

SHARD_LOOP auto Abs(Floating auto x) { return magnitude(x); }
SHARD_LOOP auto Rsqrt(Floating auto x) { return 1 / Sqrt(x); }
SHARD_LOOP auto Reciprocal(Floating auto x) { return 1 / x; }
SHARD_LOOP auto IsNan(Floating auto x) { return x != x; }
SHARD_LOOP auto IsInf(Floating auto x) { return magnitude(x) == kInf; }
SHARD_LOOP auto IsFinite(Floating auto x) { return magnitude(x) < kInf; }
SHARD_LOOP auto Div(Floating auto x, Floating auto y) { return x / y; }
// As JAX's: the quotient is made of the remainder r, so that x == (x // y) * y + x % y.
template <class T>
SHARD_LOOP T mod_of(T, T y, T r) {
  return pick(crosses(r, y), r + y, r);
}
template <class T>
SHARD_LOOP T floor_div_of(T x, T y, T r) {
  const T q = (x - r) / y;
  return pick(y == T{0}, x / y, Round(pick(crosses(r, y), q - T{1}, q)));
}
SHARD_LOOP double Mod(double x, double y) { return mod_of(x, y, fmod(x, y)); }
SHARD_LOOP double FloorDiv(double x, double y) { return floor_div_of(x, y, fmod(x, y)); }

}  // namespace shard::runtime::SHARD_ISA::codes
