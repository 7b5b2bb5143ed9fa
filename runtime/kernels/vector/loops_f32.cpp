// Loops of the elementwise codes over f32 (which also holds f16 and bf16 registers).
#include "runtime/kernels/vector/functions.h"

namespace shard::runtime::SHARD_ISA {
namespace codes {

// Vector code for usual operands, the C library where one in the group is not.
template <class Usual, class Vector, class Library>
SHARD_LOOP void by_groups(float* out, std::int64_t n, Usual usual, Vector vector, Library library) {
  constexpr std::int64_t kGroup = 64;
  for (std::int64_t at = 0; at < n; at += kGroup) {
    const std::int64_t end = n - at < kGroup ? n : at + kGroup;
    int rare = 0;
    for (std::int64_t i = at; i < end; ++i) rare |= !usual(i);
    if (!rare) {
#pragma GCC ivdep
      for (std::int64_t i = at; i < end; ++i) out[i] = vector(i);
    } else {
      for (std::int64_t i = at; i < end; ++i) out[i] = usual(i) ? vector(i) : library(i);
    }
  }
}

template <float (*Vector)(float), float (*Library)(float)>
static void circular(const void* a, const void*, const void*, void* out, std::int64_t n) {
  const float* x = static_cast<const float*>(a);
  by_groups(
      static_cast<float*>(out), n, [x](std::int64_t i) { return !(magnitude(x[i]) > kAngle); },
      [x](std::int64_t i) { return Vector(x[i]); }, [x](std::int64_t i) { return Library(x[i]); });
}

// The whole quotient times the divisor is exact in f64 as long as the quotient has 29 bits.
SHARD_LOOP float short_remainder(float x, float y) {
  const double wide = x, q = __builtin_trunc(wide / y);
  return with_sign(static_cast<float>(wide - q * y), x);
}
template <float (*Of)(float, float, float)>
static void divided(const void* a, const void* b, const void*, void* out, std::int64_t n) {
  const float *x = static_cast<const float*>(a), *y = static_cast<const float*>(b);
  by_groups(
      static_cast<float*>(out), n,
      [=](std::int64_t i) { return (magnitude(x[i]) < 5e8f * magnitude(y[i])) & IsFinite(y[i]); },
      [=](std::int64_t i) { return Of(x[i], y[i], short_remainder(x[i], y[i])); },
      [=](std::int64_t i) { return Of(x[i], y[i], fmodf(x[i], y[i])); });
}

template <class T>
static Loop single(Code code) {
  switch (code) { SHARD_CODES(SHARD_LOOP_OF) }
  return nullptr;
}

}  // namespace codes

Loop loop_f32(Code code) {
  switch (code) {
    case Code::Sin: return codes::circular<codes::Sin, sinf>;
    case Code::Cos: return codes::circular<codes::Cos, cosf>;
    case Code::Tan: return codes::circular<codes::Tan, tanf>;
    case Code::Mod: return codes::divided<codes::mod_of<float>>;
    case Code::FloorDiv: return codes::divided<codes::floor_div_of<float>>;
    default: return codes::single<float>(code);
  }
}

}  // namespace shard::runtime::SHARD_ISA
