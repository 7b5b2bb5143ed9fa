// From an element type to C++: visit(dtype, f) calls f with a value of the type that holds an element. Halves are
// wrapped, so that they differ from u16; keys are one 64-bit word. Arithmetic happens in `Compute`.
#pragma once
#include <cstdint>
#include <type_traits>

#include "runtime/array/dtype.h"
#include "runtime/array/half.h"
#include "runtime/array/shape.h"

namespace shard::runtime {

struct Bool8 {
  std::uint8_t bits;
};
struct Half {
  std::uint16_t bits;
};
struct Brain {
  std::uint16_t bits;
};
struct KeyWord {
  std::uint64_t bits;
};

inline bool to_compute(Bool8 x) { return x.bits != 0; }
inline float to_compute(Half x) { return f16_to_f32(x.bits); }
inline float to_compute(Brain x) { return bf16_to_f32(x.bits); }
inline std::uint64_t to_compute(KeyWord x) { return x.bits; }
template <class T>
requires std::is_arithmetic_v<T> T to_compute(T x) { return x; }
template <class T>
using Compute = decltype(to_compute(T{}));

template <class T>
T from_compute(Compute<T> x) {
  if constexpr (std::is_same_v<T, Bool8>)
    return {static_cast<std::uint8_t>(x)};
  else if constexpr (std::is_same_v<T, Half>)
    return {f32_to_f16(x)};
  else if constexpr (std::is_same_v<T, Brain>)
    return {f32_to_bf16(x)};
  else if constexpr (std::is_same_v<T, KeyWord>)
    return {x};
  else
    return x;
}

template <class F>
decltype(auto) visit(DType t, F&& f) {
  switch (t) {
    case DType::Bool: return f(Bool8{});
    case DType::I8: return f(std::int8_t{});
    case DType::I16: return f(std::int16_t{});
    case DType::I32: return f(std::int32_t{});
    case DType::I64: return f(std::int64_t{});
    case DType::U8: return f(std::uint8_t{});
    case DType::U16: return f(std::uint16_t{});
    case DType::U32: return f(std::uint32_t{});
    case DType::U64: return f(std::uint64_t{});
    case DType::F16: return f(Half{});
    case DType::BF16: return f(Brain{});
    case DType::F32: return f(float{});
    case DType::F64: return f(double{});
    case DType::Key: return f(KeyWord{});
    default:
      throw RuntimeError("dtype",
                         "this is not done with " + std::string(name(t)) + ": `cast` it to another type first");
  }
}

// What moves elements needs only their bytes: f is called with a value that has as many.
struct Twice {
  std::uint64_t words[2];
};
template <class F>
void by_width(std::size_t item, F f) {
  switch (item) {
    case 1: return f(std::uint8_t{});
    case 2: return f(std::uint16_t{});
    case 4: return f(std::uint32_t{});
    case 8: return f(std::uint64_t{});
    default: return f(Twice{});
  }
}

// Sums and products that wrap (integers) or saturate to truth values, whatever the type.
template <class C>
C add_wrapped(C a, C b) {
  if constexpr (std::is_same_v<C, bool>)
    return a || b;
  else if constexpr (std::is_integral_v<C>)
    return static_cast<C>(static_cast<std::uint64_t>(a) + static_cast<std::uint64_t>(b));
  else
    return a + b;
}
template <class C>
C mul_wrapped(C a, C b) {
  if constexpr (std::is_same_v<C, bool>)
    return a && b;
  else if constexpr (std::is_integral_v<C>)
    return static_cast<C>(static_cast<std::uint64_t>(a) * static_cast<std::uint64_t>(b));
  else
    return a * b;
}
template <class C>
C max_nan(C a, C b) {
  return a > b || a != a ? a : b;
}
template <class C>
C min_nan(C a, C b) {
  return a < b || a != a ? a : b;
}

}  // namespace shard::runtime
