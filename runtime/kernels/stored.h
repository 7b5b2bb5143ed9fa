// visit_stored(dtype, f): as visit, and for the types that numbers are kept in as well. For kernels that move elements;
// what is computed is computed in f32 or i8 and rounded once.
#pragma once
#include "runtime/kernels/types.h"

namespace shard::runtime {

struct E4M3 {
  std::uint8_t bits;
};
struct E5M2 {
  std::uint8_t bits;
};
struct Int4 {
  std::int8_t bits;
};

inline float to_compute(E4M3 x) { return e4m3_to_f32(x.bits); }
inline float to_compute(E5M2 x) { return e5m2_to_f32(x.bits); }
inline std::int8_t to_compute(Int4 x) { return x.bits; }

template <class T>
T kept_as(Compute<T> x) {  // from_compute of these types too
  if constexpr (std::is_same_v<T, E4M3>)
    return {f32_to_e4m3(x)};
  else if constexpr (std::is_same_v<T, E5M2>)
    return {f32_to_e5m2(x)};
  else if constexpr (std::is_same_v<T, Int4>)
    return {to_i4(x)};
  else
    return from_compute<T>(x);
}

template <class F>
decltype(auto) visit_stored(DType t, F&& f) {
  switch (t) {
    case DType::F8E4M3: return f(E4M3{});
    case DType::F8E5M2: return f(E5M2{});
    case DType::I4: return f(Int4{});
    default: return visit(t, f);
  }
}

}  // namespace shard::runtime
