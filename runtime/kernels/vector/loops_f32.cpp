// Loops of the elementwise codes over f32 (which also holds f16 and bf16 registers).
#include "runtime/kernels/vector/functions.h"

namespace shard::runtime::SHARD_ISA {
namespace codes {

// Circular functions: vector code for usual angles, the C library where one in the group is large.
template <float (*Vector)(float), float (*Library)(float)>
static void circular(const void* a, const void*, const void*, void* out, std::int64_t n) {
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
    default: return codes::single<float>(code);
  }
}

}  // namespace shard::runtime::SHARD_ISA
