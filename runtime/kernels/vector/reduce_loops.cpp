// The inner loops of reductions. A run is summed in 64 lanes (short ones in 8), element i in lane i mod 64,
// the lanes by halves: the same order
// for every instruction set, so sums agree bit for bit between them.
#include "runtime/kernels/vector/functions.h"

namespace shard::runtime::SHARD_ISA {
namespace {

constexpr std::int64_t kLanes = 64, kFew = 8;

template <class T>
inline constexpr bool kFloating = codes::Floating<T>;

// Sums and products of integers are of unsigned ones (number), so that they wrap.
struct Sum {
  SHARD_LOOP auto apply(auto x, auto y) { return x + y; }
};
struct Prod {
  SHARD_LOOP auto apply(auto x, auto y) { return codes::Mul(x, y); }
};
struct Max {
  static constexpr bool kLargest = true;
  SHARD_LOOP auto apply(codes::Integer auto x, codes::Integer auto y) { return x > y ? x : y; }
  SHARD_LOOP auto apply(codes::Floating auto x, codes::Floating auto y) { return codes::Max(x, y); }
};
struct Min {
  static constexpr bool kLargest = false;
  SHARD_LOOP auto apply(codes::Integer auto x, codes::Integer auto y) { return x < y ? x : y; }
  SHARD_LOOP auto apply(codes::Floating auto x, codes::Floating auto y) { return codes::Min(x, y); }
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

// Whether vectors of 32 bytes are one register; where they are not, loops over lanes are shorter.
#ifdef __AVX__
constexpr bool kWide = true;
#else
constexpr bool kWide = false;
#endif

// Lanes as vectors, which stay in registers: as an array the compiler brings them to memory and back.
template <class T>
struct Vectors {
  static constexpr std::int64_t kWidth = 32 / static_cast<std::int64_t>(sizeof(T));
  typedef T V __attribute__((vector_size(32)));
  typedef codes::U<T> Bits __attribute__((vector_size(32)));
  SHARD_LOOP void load(V& v, const T* x) { __builtin_memcpy(&v, x, sizeof v); }
  // Lane j + half comes to lane j.
  SHARD_LOOP void move(V& to, const V& v, std::int64_t half) {
    Bits from{};
    for (std::int64_t j = 0; j < kWidth; ++j) from[j] = static_cast<codes::U<T>>((j + half) % kWidth);
    to = __builtin_shuffle(v, from);
  }
};

// The sum in 64 lanes of n >= 64 floats.
template <class T>
SHARD_LOOP T sum_in_lanes(const T* x, std::int64_t n) {
  using Vs = Vectors<T>;
  constexpr std::int64_t kWidth = Vs::kWidth, kVectors = kLanes / kWidth;
  typename Vs::V sum[kVectors], next;
#pragma GCC unroll 16
  for (std::int64_t v = 0; v < kVectors; ++v) Vs::load(sum[v], x + v * kWidth);
  std::int64_t i = kLanes;
  for (; i + kLanes <= n; i += kLanes)
#pragma GCC unroll 16
    for (std::int64_t v = 0; v < kVectors; ++v) Vs::load(next, x + i + v * kWidth), sum[v] += next;
  if (const std::int64_t rest = n - i; rest > 0) {
    T lane[kLanes];
    __builtin_memcpy(lane, sum, sizeof lane);
    for (std::int64_t j = 0; j < rest; ++j) lane[j] += x[i + j];
    __builtin_memcpy(sum, lane, sizeof lane);
  }
#pragma GCC unroll 4
  for (std::int64_t half = kVectors / 2; half >= 1; half /= 2)
#pragma GCC unroll 8
    for (std::int64_t v = 0; v < half; ++v) sum[v] += sum[v + half];
#pragma GCC unroll 4
  for (std::int64_t half = kWidth / 2; half >= 1; half /= 2) Vs::move(next, sum[0], half), sum[0] += next;
  return sum[0][0];
}

// n >= 1.
template <class Op, class T>
void run_of(const void* data, std::int64_t n, void* result) {
  const T* x = static_cast<const T*>(data);
  T r = x[0];
  if constexpr (!kFloating<T>)  // any order gives the same: the compiler's
    for (std::int64_t i = 1; i < n; ++i) r = combined<Op>(r, x[i]);
  else if (n >= kLanes)
    if constexpr (kWide && std::is_same_v<Op, Sum>)
      r = sum_in_lanes(x, n);
    else
      r = in_lanes<kLanes, Op, T>(x, n);
  else if (n >= kFew)
    r = in_lanes<kFew, Op, T>(x, n);
  else
    for (std::int64_t i = 1; i < n; ++i) r = combined<Op>(r, x[i]);
  *static_cast<T*>(result) = r;
}

// x where it comes before y, else y; of a nan y. Of vectors too.
template <bool kLargest>
SHARD_LOOP void take_first(const auto& x, auto& y) {
  if constexpr (kLargest)
    y = x > y ? x : y;
  else
    y = x < y ? x : y;
}

// The largest or smallest of many floats, in any order. Comparing alone would pass over a nan and take either zero, so
// both are looked for again, and only where there is one.
template <class Op, class T>
void extreme_of(const void* data, std::int64_t n, void* result) {
  if (n < kLanes) return run_of<Op, T>(data, n, result);
  using Vs = Vectors<T>;
  constexpr std::int64_t kWidth = Vs::kWidth, kSeen = kLanes / 2, kVectors = kSeen / kWidth;  // registers of AVX2
  const T* x = static_cast<const T*>(data);
  typename Vs::V most[kVectors], next;
  decltype(next != next) nans[kVectors];
#pragma GCC unroll 8
  for (std::int64_t v = 0; v < kVectors; ++v) Vs::load(most[v], x + v * kWidth), nans[v] = most[v] != most[v];
  std::int64_t i = kSeen;
  for (; i + kSeen <= n; i += kSeen)
#pragma GCC unroll 8
    for (std::int64_t v = 0; v < kVectors; ++v) {
      Vs::load(next, x + i + v * kWidth);
      take_first<Op::kLargest>(next, most[v]);
      nans[v] |= next != next;
    }
#pragma GCC unroll 4
  for (std::int64_t half = kVectors / 2; half >= 1; half /= 2)
#pragma GCC unroll 8
    for (std::int64_t v = 0; v < half; ++v) {
      take_first<Op::kLargest>(most[v + half], most[v]);
      nans[v] |= nans[v + half];
    }
  T best = most[0][0];
  bool nan = nans[0][0] != 0;
  const auto see = [&](T value) {
    take_first<Op::kLargest>(value, best);
    nan |= value != value;
  };
  for (std::int64_t j = 1; j < kWidth; ++j) see(most[0][j]), nan |= nans[0][j] != 0;
  for (; i < n; ++i) see(x[i]);
  const auto all_of = [&](auto wanted) {
    for (std::int64_t k = 0; k < n; ++k)
      if (wanted(x[k])) best = combined<Op>(best, x[k]);
  };
  if (nan) all_of([](T v) { return v != v; });
  if (best == 0) all_of([](T v) { return v == 0; });
  *static_cast<T*>(result) = best;
}

template <class Op, class T>
constexpr ReduceRun kRun = run_of<Op, T>;
template <class Op, class T>
requires(kWide&& kFloating<T> &&
         (std::is_same_v<Op, Max> || std::is_same_v<Op, Min>)) constexpr ReduceRun kRun<Op, T> = extreme_of<Op, T>;

// Only what compares asks for the sign of an integer.
template <class T>
ReduceRun number(Reduce op) {
  using Bits = typename std::conditional_t<kFloating<T>, std::type_identity<T>, std::make_unsigned<T>>::type;
  switch (op) {
    case Reduce::Sum: return kRun<Sum, Bits>;
    case Reduce::Prod: return kRun<Prod, Bits>;
    case Reduce::Max: return kRun<Max, T>;
    case Reduce::Min: return kRun<Min, T>;
    default: break;
  }
  if constexpr (!kFloating<T>) return op == Reduce::And ? kRun<And, Bits> : kRun<Or, Bits>;
  return nullptr;
}

}  // namespace

ReduceRun run(Reduce op, DType type) {
  const bool all = op == Reduce::And || op == Reduce::Min || op == Reduce::Prod;
  if (type == DType::Bool) return all ? kRun<And, std::uint8_t> : kRun<Or, std::uint8_t>;  // bytes 0 and 1
  if (type == DType::I4) return nullptr;
  return in_register(type, [&](auto x) { return number<decltype(x)>(op); });
}

}  // namespace shard::runtime::SHARD_ISA
