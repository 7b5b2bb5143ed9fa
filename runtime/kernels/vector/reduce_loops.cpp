// The inner loops of reductions. A run is summed in 64 lanes (short ones in 8), element i in lane i mod 64,
// the lanes by halves: the same order
// for every instruction set, so sums agree bit for bit between them.
#include "runtime/kernels/vector/functions.h"

namespace shard::runtime::SHARD_ISA {
namespace {

constexpr std::int64_t kLanes = 64, kFew = 8;

template <class T>
inline constexpr bool kFloating = codes::Floating<T>;
SHARD_LOOP float larger(float x, float y) { return codes::Max(x, y); }
SHARD_LOOP float smaller(float x, float y) { return codes::Min(x, y); }
SHARD_LOOP double larger(double x, double y) { return x > y || x != x ? x : y; }
SHARD_LOOP double smaller(double x, double y) { return x < y || x != x ? x : y; }

// Sums and products of integers are of unsigned ones (number), so that they wrap.
struct Sum {
  SHARD_LOOP auto apply(auto x, auto y) { return x + y; }
};
struct Prod {
  SHARD_LOOP auto apply(auto x, auto y) { return codes::Mul(x, y); }
};
struct Max {
  SHARD_LOOP bool before(auto x, auto y) { return x > y; }
  SHARD_LOOP auto apply(codes::Integer auto x, codes::Integer auto y) { return x > y ? x : y; }
  SHARD_LOOP auto apply(codes::Floating auto x, codes::Floating auto y) { return larger(x, y); }
};
struct Min {
  SHARD_LOOP bool before(auto x, auto y) { return x < y; }
  SHARD_LOOP auto apply(codes::Integer auto x, codes::Integer auto y) { return x < y ? x : y; }
  SHARD_LOOP auto apply(codes::Floating auto x, codes::Floating auto y) { return smaller(x, y); }
};
struct And {
  SHARD_LOOP auto apply(auto x, auto y) { return x & y; }
};
struct Or {
  SHARD_LOOP auto apply(auto x, auto y) { return x | y; }
};
template <class Op, class T>
SHARD_LOOP T combined(T x, T y) {
  return static_cast<T>(Op::apply(x, y));
}

// All of n elements in `Lanes` lanes; n >= Lanes, a power of two.
template <std::int64_t Lanes, class Op, class T>
SHARD_LOOP T in_lanes(const T* x, std::int64_t n) {
  T lane[Lanes];
  for (std::int64_t j = 0; j < Lanes; ++j) lane[j] = x[j];
  std::int64_t i = Lanes;
  for (; i + Lanes <= n; i += Lanes)
    for (std::int64_t j = 0; j < Lanes; ++j) lane[j] = combined<Op>(lane[j], x[i + j]);
  for (std::int64_t j = 0; i + j < n; ++j) lane[j] = combined<Op>(lane[j], x[i + j]);
  for (std::int64_t half = Lanes / 2; half >= 1; half /= 2)
    for (std::int64_t j = 0; j < half; ++j) lane[j] = combined<Op>(lane[j], lane[j + half]);
  return lane[0];
}

// n >= 1.
template <class Op, class T>
void run_of(const void* data, std::int64_t n, void* result) {
  const T* x = static_cast<const T*>(data);
  T r = x[0];
  if constexpr (!kFloating<T>)  // any order gives the same: the compiler's
    for (std::int64_t i = 1; i < n; ++i) r = combined<Op>(r, x[i]);
  else if (n >= kLanes)
    r = in_lanes<kLanes, Op, T>(x, n);
  else if (n >= kFew)
    r = in_lanes<kFew, Op, T>(x, n);
  else
    for (std::int64_t i = 1; i < n; ++i) r = combined<Op>(r, x[i]);
  *static_cast<T*>(result) = r;
}

// The largest or smallest of many floats, in any order. Comparing alone would pass over a nan and take either zero, so
// both are looked for again, and only where there is one.
template <class Op, class T>
void extreme_of(const void* data, std::int64_t n, void* result) {
  constexpr std::int64_t kSeen = kLanes / 2;  // with their nans they fit the registers of AVX2
  if (n < kLanes) return run_of<Op, T>(data, n, result);
  const T* x = static_cast<const T*>(data);
  T lane[kSeen];
  codes::U<T> nan[kSeen];
  const auto see = [&](std::int64_t j, T v) __attribute__((always_inline)) {
    lane[j] = Op::before(v, lane[j]) ? v : lane[j];
    nan[j] |= v != v ? ~codes::U<T>{0} : 0;
  };
  for (std::int64_t j = 0; j < kSeen; ++j) lane[j] = x[j], nan[j] = x[j] != x[j] ? ~codes::U<T>{0} : 0;
  std::int64_t i = kSeen;
  for (; i + kSeen <= n; i += kSeen)
    for (std::int64_t j = 0; j < kSeen; ++j) see(j, x[i + j]);
  for (std::int64_t j = 0; i + j < n; ++j) see(j, x[i + j]);
  for (std::int64_t half = kSeen / 2; half >= 1; half /= 2)
    for (std::int64_t j = 0; j < half; ++j) {
      lane[j] = Op::before(lane[j + half], lane[j]) ? lane[j + half] : lane[j];
      nan[j] |= nan[j + half];
    }
  T best = lane[0];
  const auto all_of = [&](auto wanted) {
    for (std::int64_t k = 0; k < n; ++k)
      if (wanted(x[k])) best = combined<Op>(best, x[k]);
  };
  if (nan[0]) all_of([](T v) { return v != v; });
  if (best == 0) all_of([](T v) { return v == 0; });
  *static_cast<T*>(result) = best;
}

template <class Op, class T>
void rows(const void* a, const void* b, const void*, void* out, std::int64_t n) {
  each<T, T>(
      a, b, out, n, [](T x, T y) __attribute__((always_inline)) { return combined<Op>(x, y); });
}

using Run = void (*)(const void*, std::int64_t, void*);
struct Pair {
  Run run;
  Loop rows;
};
template <class Op, class T>
Pair both() {
  if constexpr (kFloating<T> && (std::is_same_v<Op, Max> || std::is_same_v<Op, Min>))
    return {extreme_of<Op, T>, rows<Op, T>};
  else
    return {run_of<Op, T>, rows<Op, T>};
}

// Only what compares asks for the sign of an integer.
template <class T>
Pair number(Reduce op) {
  using Bits = typename std::conditional_t<kFloating<T>, std::type_identity<T>, std::make_unsigned<T>>::type;
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
  const bool all = op == Reduce::And || op == Reduce::Min || op == Reduce::Prod;
  if (type == DType::Bool) return all ? both<And, std::uint8_t>() : both<Or, std::uint8_t>();  // bytes 0 and 1
  if (type == DType::I4) return {nullptr, nullptr};
  return in_register(type, [&](auto x) { return number<decltype(x)>(op); });
}

}  // namespace

void (*run(Reduce op, DType type))(const void*, std::int64_t, void*) { return find(op, type).run; }
Loop accumulate(Reduce op, DType type) { return find(op, type).rows; }

}  // namespace shard::runtime::SHARD_ISA
