// What the files of this folder have of each other: declared once for each instruction set.
#pragma once
#include <type_traits>

#include "runtime/kernels/vector/loop_table.h"

#define SHARD_LOOP [[gnu::always_inline]] static inline

// Whose loops are taken where a wider set than avx2 makes them little or no faster: all but f32's, products, random
// bits.
#ifndef SHARD_LOOPS
#define SHARD_LOOPS SHARD_ISA
#endif
namespace shard::runtime::SHARD_LOOPS {

Loop loop_f64(Code code);
Loop loop_integer(Code code, DType type);
Loop loop_bool(Code code);
Loop loop_select(DType type);
Loop convert(DType from, DType to);
Loop loop_complex(Code code, DType type);
Narrow narrow(DType type);
ReduceRun run(Reduce op, DType type);
ReduceLines lines(Reduce op, DType type, std::int64_t n);
AddRows add_rows(DType type);
Places places(bool largest, DType type);
void every(const std::uint32_t* x, std::int64_t step, std::uint32_t* out, std::int64_t n);
void turned(const std::uint32_t* x, std::int64_t line, std::uint32_t* out, std::int64_t out_line, std::int64_t lines,
            std::int64_t n);

}  // namespace shard::runtime::SHARD_LOOPS

namespace shard::runtime::SHARD_ISA {

#if defined(__AVX512F__)
inline constexpr int kVectorBytes = 64;
#elif defined(__AVX__)
inline constexpr int kVectorBytes = 32;
#else
inline constexpr int kVectorBytes = 16;
#endif

Loop loop_f32(Code code);
void threefry(std::uint32_t k0, std::uint32_t k1, std::uint64_t counter, std::int64_t n, std::uint32_t* o0,
              std::uint32_t* o1);
void short_groups(const ShortGroups& g, const std::uint32_t* x, std::uint32_t* out, std::int64_t groups);
void joined_lines(const Joined& j, const std::uint32_t* first, const std::uint32_t* second, std::uint32_t* out,
                  std::int64_t lines);
void gemm_f32(const Gemm& g);
void gemm_f64(const Gemm& g);
void gemm_bf16(const Gemm& g);
void gemm_u32(const Gemm& g);
bool gemm_small_f32(const Gemm& g);
bool gemm_small_f64(const Gemm& g);
void fourier_f32(const FourierPass<float>& pass);
void fourier_f64(const FourierPass<double>& pass);
void fourier_halves_f32(const FourierHalves<float>& lines);
void fourier_halves_f64(const FourierHalves<double>& lines);
#if defined(__AVX512F__)
inline constexpr std::int64_t kSmallProduct = std::int64_t{1} << 18;
inline constexpr bool kPackedAlike = true;
#else
inline constexpr std::int64_t kSmallProduct = std::int64_t{1} << 17;
inline constexpr bool kPackedAlike = false;  // Eigen's
#endif

// Loops over arrays; the pragma says what the contract says: an element depends on elements of the same index only.
template <class T, class R, class F>
SHARD_LOOP void each(const void* a, void* out, std::int64_t n, F f) {
  const T* x = static_cast<const T*>(a);
  R* o = static_cast<R*>(out);
#pragma GCC ivdep
  for (std::int64_t i = 0; i < n; ++i) o[i] = f(x[i]);
}
template <class T, class R, class F>
SHARD_LOOP void each(const void* a, const void* b, void* out, std::int64_t n, F f) {
  const T* x = static_cast<const T*>(a);
  const T* y = static_cast<const T*>(b);
  R* o = static_cast<R*>(out);
#pragma GCC ivdep
  for (std::int64_t i = 0; i < n; ++i) o[i] = f(x[i], y[i]);
}

// f of a value of the type that holds an element in registers; nothing for keys and complex numbers.
template <class F>
SHARD_LOOP auto in_register(DType type, F f) -> decltype(f(float{})) {
  switch (type) {
    case DType::Bool:
    case DType::U8: return f(std::uint8_t{});
    case DType::U16: return f(std::uint16_t{});
    case DType::U32: return f(std::uint32_t{});
    case DType::U64: return f(std::uint64_t{});
    case DType::I4:
    case DType::I8: return f(std::int8_t{});
    case DType::I16: return f(std::int16_t{});
    case DType::I32: return f(std::int32_t{});
    case DType::I64: return f(std::int64_t{});
    case DType::F8E4M3:
    case DType::F8E5M2:
    case DType::F16:
    case DType::BF16:
    case DType::F32: return f(float{});
    case DType::F64: return f(double{});
    default: return {};
  }
}

}  // namespace shard::runtime::SHARD_ISA

// One Loop from an expression of x (and y), elements of type T, result type R.
#define SHARD_UNARY(T, R, expression)                                                 \
  [](const void* a, const void*, const void*, void* out, std::int64_t n) {            \
    each<T, R>(                                                                       \
        a, out, n, [](T x) __attribute__((always_inline))->R { return expression; }); \
  }
#define SHARD_BINARY(T, R, expression)                                                        \
  [](const void* a, const void* b, const void*, void* out, std::int64_t n) {                  \
    each<T, R>(                                                                               \
        a, b, out, n, [](T x, T y) __attribute__((always_inline))->R { return expression; }); \
  }
// A case of a switch over codes in a template over T: the loop of the code's function (functions.h), where T is one of
// the types that the code takes.
#define SHARD_LOOP_OF(code, operands, gives, cost, takes, hlo)                                      \
  case Code::code:                                                                                  \
    if constexpr (((takes)&kTypes<T>) != 0 && operands < 3 && Gives::gives != Gives::Named &&       \
                  !own_loop<T>(Code::code)) {                                                       \
      using R [[maybe_unused]] = std::conditional_t<Gives::gives == Gives::Truth, std::uint8_t, T>; \
      return SHARD_LOOP_OF_##operands(code);                                                        \
    }                                                                                               \
    break;
#define SHARD_LOOP_OF_1(code) SHARD_UNARY(T, R, static_cast<R>(code(x)))
#define SHARD_LOOP_OF_2(code) SHARD_BINARY(T, R, static_cast<R>(code(x, y)))
#define SHARD_LOOP_OF_3(code) nullptr
