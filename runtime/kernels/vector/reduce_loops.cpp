// The inner loops of reductions. A run is summed in 64 lanes (short ones in 8), element i in lane i mod 64,
// the lanes by halves: the same order
// for every instruction set, so sums agree bit for bit between them.
#include "runtime/kernels/vector/math_f32.h"

namespace shard::runtime::SHARD_ISA {
namespace {

constexpr std::int64_t kLanes = 64, kFew = 8;

template <class T>
struct Unsigned {
  using type = T;
};
template <>
struct Unsigned<std::int8_t> {
  using type = std::uint8_t;
};
template <>
struct Unsigned<std::int16_t> {
  using type = std::uint16_t;
};
template <>
struct Unsigned<std::int32_t> {
  using type = std::uint32_t;
};
template <>
struct Unsigned<std::int64_t> {
  using type = std::uint64_t;
};

template <class T>
inline constexpr bool kFloating = static_cast<T>(0.5) != T{0};
SHARD_LOOP double larger(double x, double y) { return x > y || x != x ? x : y; }
SHARD_LOOP double smaller(double x, double y) { return x < y || x != x ? x : y; }

// Sums and products of integers are of unsigned ones (number), so that they wrap.
struct Sum {
  template <class T>
  SHARD_LOOP T apply(T x, T y) {
    if constexpr (kFloating<T>)
      return x + y;
    else
      return static_cast<T>(x + y);
  }
};
struct Prod {
  template <class T>
  SHARD_LOOP T apply(T x, T y) {
    if constexpr (kFloating<T>)
      return x * y;
    else
      return static_cast<T>(1u * x * y);
  }
};
struct Max {
  template <class T>
  SHARD_LOOP T apply(T x, T y) {
    if constexpr (kFloating<T>)
      return larger(x, y);
    else
      return x > y ? x : y;
  }
};
struct Min {
  template <class T>
  SHARD_LOOP T apply(T x, T y) {
    if constexpr (kFloating<T>)
      return smaller(x, y);
    else
      return x < y ? x : y;
  }
};
struct And {
  template <class T>
  SHARD_LOOP T apply(T x, T y) {
    return static_cast<T>(x & y);
  }
};
struct Or {
  template <class T>
  SHARD_LOOP T apply(T x, T y) {
    return static_cast<T>(x | y);
  }
};

// All of n elements in `Lanes` lanes; n >= Lanes, a power of two.
template <std::int64_t Lanes, class Op, class T>
SHARD_LOOP T in_lanes(const T* x, std::int64_t n) {
  T lane[Lanes];
  for (std::int64_t j = 0; j < Lanes; ++j) lane[j] = x[j];
  std::int64_t i = Lanes;
  for (; i + Lanes <= n; i += Lanes)
    for (std::int64_t j = 0; j < Lanes; ++j) lane[j] = Op::template apply<T>(lane[j], x[i + j]);
  for (std::int64_t j = 0; i + j < n; ++j) lane[j] = Op::template apply<T>(lane[j], x[i + j]);
  for (std::int64_t half = Lanes / 2; half >= 1; half /= 2)
    for (std::int64_t j = 0; j < half; ++j) lane[j] = Op::template apply<T>(lane[j], lane[j + half]);
  return lane[0];
}

// n >= 1.
template <class Op, class T>
void run_of(const void* data, std::int64_t n, void* result) {
  const T* x = static_cast<const T*>(data);
  T r = x[0];
  if constexpr (!kFloating<T>)  // any order gives the same: the compiler's
    for (std::int64_t i = 1; i < n; ++i) r = Op::template apply<T>(r, x[i]);
  else if (n >= kLanes)
    r = in_lanes<kLanes, Op, T>(x, n);
  else if (n >= kFew)
    r = in_lanes<kFew, Op, T>(x, n);
  else
    for (std::int64_t i = 1; i < n; ++i) r = Op::template apply<T>(r, x[i]);
  *static_cast<T*>(result) = r;
}

template <class Op, class T>
void rows(const void* a, const void* b, const void*, void* out, std::int64_t n) {
  each<T, T>(
      a, b, out, n, [](T x, T y) __attribute__((always_inline)) { return Op::template apply<T>(x, y); });
}

using Run = void (*)(const void*, std::int64_t, void*);
struct Pair {
  Run run;
  Loop rows;
};
template <class Op, class T>
Pair both() {
  return {run_of<Op, T>, rows<Op, T>};
}

// Only what compares asks for the sign of an integer.
template <class T>
Pair number(Reduce op) {
  using Bits = typename Unsigned<T>::type;
  switch (op) {
    case Reduce::Sum: return both<Sum, Bits>();
    case Reduce::Prod: return both<Prod, Bits>();
    case Reduce::Max: return both<Max, T>();
    case Reduce::Min: return both<Min, T>();
    default: break;
  }
  if constexpr (!kFloating<T>) return op == Reduce::And ? both<And, Bits>() : both<Or, Bits>();
  return {nullptr, nullptr};
}

Pair find(Reduce op, DType type) {
  switch (type) {
    case DType::Bool:  // bytes 0 and 1
      return op == Reduce::And || op == Reduce::Min || op == Reduce::Prod ? both<And, std::uint8_t>()
                                                                          : both<Or, std::uint8_t>();
    case DType::I8: return number<std::int8_t>(op);
    case DType::I16: return number<std::int16_t>(op);
    case DType::I32: return number<std::int32_t>(op);
    case DType::I64: return number<std::int64_t>(op);
    case DType::U8: return number<std::uint8_t>(op);
    case DType::U16: return number<std::uint16_t>(op);
    case DType::U32: return number<std::uint32_t>(op);
    case DType::U64: return number<std::uint64_t>(op);
    case DType::F8E4M3:
    case DType::F8E5M2:
    case DType::F16:
    case DType::BF16:
    case DType::F32: return number<float>(op);
    case DType::F64: return number<double>(op);
    default: return {nullptr, nullptr};
  }
}

}  // namespace

void (*run(Reduce op, DType type))(const void*, std::int64_t, void*) { return find(op, type).run; }
Loop accumulate(Reduce op, DType type) { return find(op, type).rows; }

}  // namespace shard::runtime::SHARD_ISA
