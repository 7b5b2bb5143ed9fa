// Conversions between element types, and narrow floats to and from the f32 that holds them in registers.
#include "runtime/array/half.h"
#include "runtime/kernels/vector/functions.h"

#ifdef __F16C__
#include <immintrin.h>
#endif

namespace shard::runtime::SHARD_ISA {
namespace {

template <class T>
inline constexpr bool kFloat = false;
template <>
inline constexpr bool kFloat<float> = true;
template <>
inline constexpr bool kFloat<double> = true;

// A float to an integer is cut off and clamped; nan is 0. `kTop` is 2^digits, the first value too large.
template <class From, class To>
SHARD_LOOP To cut(From x) {
  constexpr bool is_signed = static_cast<To>(-1) < static_cast<To>(1);
  constexpr int digits = sizeof(To) * 8 - (is_signed ? 1 : 0);
  constexpr From top =
      static_cast<From>(digits == 64 ? 0x1p64 : static_cast<double>(std::uint64_t{1} << (digits & 63)));
  constexpr From low = is_signed ? -top : From{0};
  constexpr To largest = static_cast<To>(~std::uint64_t{0} >> (64 - digits));
  constexpr To lowest = is_signed ? static_cast<To>(~largest) : To{0};
  return x >= top ? largest : x <= low ? lowest : x == x ? static_cast<To>(x) : To{0};
}

template <class From, class To>
SHARD_LOOP To convert_one(From x) {
  if constexpr (kFloat<From> && !kFloat<To>)
    return cut<From, To>(x);
  else
    return static_cast<To>(x);
}

// The same to integers from Low to High, which are numbers of `From`. In two steps, of which each goes by vectors: as
// one the compiler chooses between integers, which it makes of all that is chosen from.
template <class From, class To, int Low, int High>
void cut_to(const void* a, const void*, const void*, void* out, std::int64_t n) {
  constexpr std::int64_t kGroup = 128;
  From whole[kGroup];
  for (std::int64_t i = 0; i < n; i += kGroup) {
    const std::int64_t m = n - i < kGroup ? n - i : kGroup;
    each<From, From>(
        static_cast<const From*>(a) + i, whole, m, [](From x) __attribute__((always_inline)) {
          const From below = x < From{High} ? x : From{High}, within = below > From{Low} ? below : From{Low};
          return x == x ? within : From{0};
        });
    each<From, To>(
        whole, static_cast<To*>(out) + i, m,
        [](From x) __attribute__((always_inline)) { return static_cast<To>(static_cast<std::int32_t>(x)); });
  }
}

template <class From, class To>
Loop pair() {
  if constexpr (kFloat<From> && std::is_same_v<To, std::int8_t>) return cut_to<From, To, -128, 127>;
  if constexpr (kFloat<From> && std::is_same_v<To, std::uint8_t>) return cut_to<From, To, 0, 255>;
  if constexpr (kFloat<From> && std::is_same_v<To, std::int16_t>) return cut_to<From, To, -32768, 32767>;
  if constexpr (kFloat<From> && std::is_same_v<To, std::uint16_t>) return cut_to<From, To, 0, 65535>;
  return SHARD_UNARY(From, To, (convert_one<From, To>(x)));
}
template <class From>
Loop to_bool() {
  return SHARD_UNARY(From, std::uint8_t, x != From{0});
}

template <class From>
Loop from(DType to) {
  if (to == DType::Bool) return to_bool<From>();
  if constexpr (kFloat<From>) {
    if (to == DType::I4) return cut_to<From, std::int8_t, -8, 7>;  // floats are clamped, integers wrap
    if (sizeof(From) == 8 && is_narrow(to)) return SHARD_UNARY(double, float, f64_to_f32_odd(x));
  }
  return in_register(to, [](auto x) { return pair<From, decltype(x)>(); });
}

}  // namespace

Loop convert(DType source, DType to) {
  return in_register(source, [&](auto x) { return from<decltype(x)>(to); });
}

namespace {

void round_bf16(const void* a, const void*, const void*, void* out, std::int64_t n) {
  each<float, float>(
      a, out, n, [](float x) __attribute__((always_inline)) { return codes::rounded_to_bf16(x); });
}
void load_bf16(const void* a, const void*, const void*, void* out, std::int64_t n) {
  each<std::uint16_t, float>(
      a, out, n, [](std::uint16_t x) __attribute__((always_inline)) { return bf16_to_f32(x); });
}
void store_bf16(const void* a, const void*, const void*, void* out, std::int64_t n) {
  each<float, std::uint16_t>(
      a, out, n, [](float x) __attribute__((always_inline)) { return f32_to_bf16(x); });
}

#ifdef __F16C__
constexpr std::int64_t kGroup = 8;
SHARD_LOOP __m128i narrowed(const float* p) { return _mm256_cvtps_ph(_mm256_loadu_ps(p), _MM_FROUND_TO_NEAREST_INT); }
void round_f16(const void* a, const void*, const void*, void* out, std::int64_t n) {
  const float* x = static_cast<const float*>(a);
  float* o = static_cast<float*>(out);
  std::int64_t i = 0;
  for (; i + kGroup <= n; i += kGroup) _mm256_storeu_ps(o + i, _mm256_cvtph_ps(narrowed(x + i)));
  for (; i < n; ++i) o[i] = f16_to_f32(f32_to_f16(x[i]));
}
void load_f16(const void* a, const void*, const void*, void* out, std::int64_t n) {
  const std::uint16_t* x = static_cast<const std::uint16_t*>(a);
  float* o = static_cast<float*>(out);
  std::int64_t i = 0;
  for (; i + kGroup <= n; i += kGroup) {
    __m128i v;
    __builtin_memcpy(&v, x + i, sizeof v);
    _mm256_storeu_ps(o + i, _mm256_cvtph_ps(v));
  }
  for (; i < n; ++i) o[i] = f16_to_f32(x[i]);
}
void store_f16(const void* a, const void*, const void*, void* out, std::int64_t n) {
  const float* x = static_cast<const float*>(a);
  std::uint16_t* o = static_cast<std::uint16_t*>(out);
  std::int64_t i = 0;
  for (; i + kGroup <= n; i += kGroup) {
    const __m128i v = narrowed(x + i);
    __builtin_memcpy(o + i, &v, sizeof v);
  }
  for (; i < n; ++i) o[i] = f32_to_f16(x[i]);
}
#else
void round_f16(const void* a, const void*, const void*, void* out, std::int64_t n) {
  each<float, float>(a, out, n, [](float x) { return f16_to_f32(f32_to_f16(x)); });
}
void load_f16(const void* a, const void*, const void*, void* out, std::int64_t n) {
  each<std::uint16_t, float>(a, out, n, [](std::uint16_t x) { return f16_to_f32(x); });
}
void store_f16(const void* a, const void*, const void*, void* out, std::int64_t n) {
  each<float, std::uint16_t>(a, out, n, [](float x) { return f32_to_f16(x); });
}
#endif

template <float (*Widen)(std::uint8_t), std::uint8_t (*Cut)(float)>
Narrow eight_bits() {
  return {[](const void* a, const void*, const void*, void* out, std::int64_t n) {
            for (std::int64_t i = 0; i < n; ++i)
              static_cast<float*>(out)[i] = Widen(static_cast<const std::uint8_t*>(a)[i]);
          },
          [](const void* a, const void*, const void*, void* out, std::int64_t n) {
            for (std::int64_t i = 0; i < n; ++i)
              static_cast<std::uint8_t*>(out)[i] = Cut(static_cast<const float*>(a)[i]);
          },
          [](const void* a, const void*, const void*, void* out, std::int64_t n) {
            for (std::int64_t i = 0; i < n; ++i)
              static_cast<float*>(out)[i] = Widen(Cut(static_cast<const float*>(a)[i]));
          }};
}

}  // namespace

Narrow narrow(DType type) {
  switch (type) {
    case DType::F16: return {load_f16, store_f16, round_f16};
    case DType::BF16: return {load_bf16, store_bf16, round_bf16};
    case DType::F8E4M3: return eight_bits<e4m3_to_f32, f32_to_e4m3>();
    case DType::F8E5M2: return eight_bits<e5m2_to_f32, f32_to_e5m2>();
    case DType::I4: return {nullptr, nullptr, SHARD_UNARY(std::int8_t, std::int8_t, to_i4(x))};
    default: return {};
  }
}

}  // namespace shard::runtime::SHARD_ISA
