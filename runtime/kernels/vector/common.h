// What the files of this folder have of each other: declared once for each instruction set.
#pragma once
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
void (*run(Reduce op, DType type))(const void*, std::int64_t, void*);
Loop accumulate(Reduce op, DType type);

}  // namespace shard::runtime::SHARD_LOOPS

namespace shard::runtime::SHARD_ISA {

Loop loop_f32(Code code);
void threefry(std::uint32_t k0, std::uint32_t k1, std::uint64_t counter, std::int64_t n, std::uint32_t* o0,
              std::uint32_t* o1);
void gemm_f32(const Gemm& g);
void gemm_f64(const Gemm& g);
bool gemm_small_f32(const Gemm& g);
bool gemm_small_f64(const Gemm& g);
#if defined(__AVX512F__)
inline constexpr std::int64_t kSmallProduct = std::int64_t{1} << 20;
#else
inline constexpr std::int64_t kSmallProduct = std::int64_t{1} << 17;
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
