// The inner loops of reductions. A run is summed in 64 lanes (short ones in 8), element i in lane i mod 64,
// the lanes by halves: the same order
// for every instruction set, so sums agree bit for bit between them.
#include <limits>
#include <utility>

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
  static constexpr int kWidth = 32 / static_cast<int>(sizeof(T));
  typedef T V __attribute__((vector_size(32)));
  typedef codes::U<T> Bits __attribute__((vector_size(32)));
  SHARD_LOOP void load(V& v, const T* x) { __builtin_memcpy(&v, x, sizeof v); }
  // f of what has lane j + half of v in lane j, for each half of the lanes: 4, 2 and 1 of eight.
  template <int Half = kWidth / 2>
  SHARD_LOOP void fold(auto& v, auto f) {
    [&]<int... J>(std::integer_sequence<int, J...>) __attribute__((always_inline)) {
      f(__builtin_shufflevector(v, v, (J + Half) % kWidth...), v);
    }
    (std::make_integer_sequence<int, kWidth>());
    if constexpr (Half > 1) fold<Half / 2>(v, f);
  }
  // The last n < kWidth of the elements before x, and -0, which adds nothing.
  SHARD_LOOP void load_last(V& to, const T* x, std::int64_t n) {
    Bits lane{};
    for (std::int64_t j = 0; j < kWidth; ++j) lane[j] = static_cast<codes::U<T>>(j);
    load(to, x - kWidth);
    const auto given = static_cast<codes::U<T>>(n), lacking = static_cast<codes::U<T>>(kWidth - n);
    to = lane < given ? __builtin_shuffle(to, lane + lacking) : -V{};
  }
};

// The sum in so many lanes of at least as many floats.
template <std::int64_t Lanes, class T>
SHARD_LOOP T sum_in_lanes(const T* x, std::int64_t n) {
  using Vs = Vectors<T>;
  constexpr std::int64_t kWidth = Vs::kWidth, kVectors = Lanes / kWidth;
  typename Vs::V sum[kVectors], next;
#pragma GCC unroll 16
  for (std::int64_t v = 0; v < kVectors; ++v) Vs::load(sum[v], x + v * kWidth);
  std::int64_t i = Lanes;
  for (; i + Lanes <= n; i += Lanes)
#pragma GCC unroll 16
    for (std::int64_t v = 0; v < kVectors; ++v) Vs::load(next, x + i + v * kWidth), sum[v] += next;
#pragma GCC unroll 16
  for (std::int64_t v = 0; v < kVectors; ++v, i += kWidth) {
    if (i >= n) break;
    i + kWidth <= n ? Vs::load(next, x + i) : Vs::load_last(next, x + n, n - i);
    sum[v] += next;
  }
#pragma GCC unroll 4
  for (std::int64_t half = kVectors / 2; half >= 1; half /= 2)
#pragma GCC unroll 8
    for (std::int64_t v = 0; v < half; ++v) sum[v] += sum[v + half];
  Vs::fold(
      sum[0], [](const auto& from, auto& to) __attribute__((always_inline)) { to += from; });
  return sum[0][0];
}

// n >= 1.
template <class Op, class T>
void run_of(const void* data, std::int64_t n, void* result) {
  const T* x = static_cast<const T*>(data);
  T r = x[0];
  if constexpr (!kFloating<T>)  // any order gives the same: the compiler's
    for (std::int64_t i = 1; i < n; ++i) r = combined<Op>(r, x[i]);
  else if (n >= kFew)
    if constexpr (kWide && std::is_same_v<Op, Sum>)
      r = n >= kLanes ? sum_in_lanes<kLanes>(x, n) : sum_in_lanes<kFew>(x, n);
    else
      r = n >= kLanes ? in_lanes<kLanes, Op>(x, n) : in_lanes<kFew, Op>(x, n);
  else
    for (std::int64_t i = 1; i < n; ++i) r = combined<Op>(r, x[i]);
  *static_cast<T*>(result) = r;
}

// Columns [0, Vectors * kWidth) of rows are added up in registers.
template <std::int64_t kVectors, class T>
SHARD_LOOP void add_columns(const T* x, std::int64_t apart, std::int64_t rows, T* acc) {
  using Vs = Vectors<T>;
  typename Vs::V sum[kVectors], next;
#pragma GCC unroll 8
  for (std::int64_t v = 0; v < kVectors; ++v) Vs::load(sum[v], acc + v * Vs::kWidth);
  for (std::int64_t r = 0; r < rows; ++r, x += apart)
#pragma GCC unroll 8
    for (std::int64_t v = 0; v < kVectors; ++v) Vs::load(next, x + v * Vs::kWidth), sum[v] += next;
#pragma GCC unroll 8
  for (std::int64_t v = 0; v < kVectors; ++v) __builtin_memcpy(acc + v * Vs::kWidth, &sum[v], sizeof sum[v]);
}
template <class T>
void add_rows_of(const void* data, std::int64_t apart, std::int64_t rows, void* acc, std::int64_t n) {
  constexpr std::int64_t kWidth = Vectors<T>::kWidth, kMany = 8;
  const T* x = static_cast<const T*>(data);
  T* to = static_cast<T*>(acc);
  std::int64_t j = 0;
  for (; j + kMany * kWidth <= n; j += kMany * kWidth) add_columns<kMany>(x + j, apart, rows, to + j);
  for (; j + kWidth <= n; j += kWidth) add_columns<1>(x + j, apart, rows, to + j);
  for (; j < n; ++j)
    for (std::int64_t r = 0; r < rows; ++r) to[j] += x[r * apart + j];
}

// x where it comes before y, else y; of a nan y. Of vectors too.
template <bool kLargest>
SHARD_LOOP void take_first(const auto& x, auto& y) {
  if constexpr (kLargest)
    y = x > y ? x : y;
  else
    y = x < y ? x : y;
}

// The most extreme of n >= kWidth elements by comparing alone, which passes over a nan and takes either zero; and
// whether there is a nan. In any order: vectors that begin before the end go over some elements twice.
template <std::int64_t kVectors, bool kLargest, class T>
SHARD_LOOP T extreme_in(const T* x, std::int64_t n, bool& nan) {
  using Vs = Vectors<T>;
  constexpr std::int64_t kWidth = Vs::kWidth, kSeen = kVectors * kWidth;
  const std::int64_t last = n - kWidth;
  typename Vs::V most[kVectors], next;
  decltype(next != next) nans[kVectors];
  const auto see = [&](std::int64_t v, std::int64_t at) __attribute__((always_inline)) {
    Vs::load(next, x + at);
    take_first<kLargest>(next, most[v]);
    nans[v] |= next != next;
  };
#pragma GCC unroll 8
  for (std::int64_t v = 0; v < kVectors; ++v)
    Vs::load(most[v], x + (v * kWidth < last ? v * kWidth : last)), nans[v] = most[v] != most[v];
  std::int64_t i = kSeen;
  for (; i + kSeen <= n; i += kSeen)
#pragma GCC unroll 8
    for (std::int64_t v = 0; v < kVectors; ++v) see(v, i + v * kWidth);
  for (; i < n; i += kWidth) see(0, i < last ? i : last);
#pragma GCC unroll 4
  for (std::int64_t half = kVectors / 2; half >= 1; half /= 2)
#pragma GCC unroll 8
    for (std::int64_t v = 0; v < half; ++v) {
      take_first<kLargest>(most[v + half], most[v]);
      nans[v] |= nans[v + half];
    }
  Vs::fold(
      most[0], [](const auto& from, auto& to) __attribute__((always_inline)) { take_first<kLargest>(from, to); });
  Vs::fold(
      nans[0], [](const auto& from, auto& to) __attribute__((always_inline)) { to |= from; });
  nan = nans[0][0] != 0;
  return most[0][0];
}
template <bool kLargest, class T>
SHARD_LOOP T extreme_in(const T* x, std::int64_t n, bool& nan) {
  return n <= 2 * Vectors<T>::kWidth ? extreme_in<2, kLargest>(x, n, nan)
                                     : extreme_in<4, kLargest>(x, n, nan);  // registers of AVX2
}

// The largest or smallest of floats. A nan and zeros are looked for again, and only where there is one.
template <class Op, class T>
void extreme_of(const void* data, std::int64_t n, void* result) {
  if (n < Vectors<T>::kWidth) return run_of<Op, T>(data, n, result);
  const T* x = static_cast<const T*>(data);
  bool nan;
  T best = extreme_in<Op::kLargest>(x, n, nan);
  const auto all_of = [&](auto wanted) {
    for (std::int64_t k = 0; k < n; ++k)
      if (wanted(x[k])) best = combined<Op>(best, x[k]);
  };
  if (nan) all_of([](T v) { return v != v; });
  if (best == 0) all_of([](T v) { return v == 0; });
  *static_cast<T*>(result) = best;
}

// The first of n >= kWidth elements, some of which are wanted, that is. Without branches: nobody foresees where.
template <class T>
SHARD_LOOP std::int64_t first_of(const T* x, std::int64_t n, auto wanted) {
  using Vs = Vectors<T>;
  constexpr std::int64_t kWidth = Vs::kWidth;
  using Place = std::make_signed_t<codes::U<T>>;
  typedef Place Places __attribute__((vector_size(32)));
  Places lane, first = Places{} + std::numeric_limits<Place>::max();
  for (std::int64_t j = 0; j < kWidth; ++j) lane[j] = static_cast<Place>(j);
  for (std::int64_t i = 0; i < n; i += kWidth) {
    const std::int64_t at = i < n - kWidth ? i : n - kWidth;
    typename Vs::V next;
    Vs::load(next, x + at);
    const Places here = lane + static_cast<Place>(at);
    first = wanted(next) & (here < first) ? here : first;
  }
  Vs::fold(
      first, [](const auto& from, auto& to) __attribute__((always_inline)) { to = from < to ? from : to; });
  return first[0];
}

// The position of the most extreme element: of the first nan, else of the first of equals. In pieces, of which only the
// one that holds it is gone over again.
template <bool kLargest, class T>
std::int64_t place_of(const T* x, std::int64_t n) {
  std::int64_t from = 0;
  if (n < Vectors<T>::kWidth) {
    for (std::int64_t i = 1; i < n; ++i)
      if (x[from] == x[from] && !(kLargest ? x[i] <= x[from] : x[i] >= x[from])) from = i;
    return from;
  }
  const std::int64_t length = n < kReduceRun ? n : kReduceRun;
  bool nan;
  T best = extreme_in<kLargest>(x, length, nan);
  for (std::int64_t i = length; i < n && !nan; i += kReduceRun) {
    const std::int64_t at = i < n - kReduceRun ? i : n - kReduceRun;
    const T here = extreme_in<kLargest>(x + at, kReduceRun, nan);
    if (nan || (kLargest ? here > best : here < best)) best = here, from = at;
  }
  x += from;
  return from + (nan ? first_of(
                           x, length, [](const auto& v) __attribute__((always_inline)) { return v != v; })
                     : first_of(
                           x, length, [&](const auto& v) __attribute__((always_inline)) { return v == best; }));
}

// The same of eight lines of elements of four bytes, one in each lane: four elements of each change places.
template <bool kLargest, class T>
SHARD_LOOP void places_of_eight(const T* x, std::int64_t apart, std::int64_t n, std::int32_t* out) {
  typedef T V __attribute__((vector_size(32)));
  typedef T Half __attribute__((vector_size(16)));
  typedef std::int32_t Places __attribute__((vector_size(32)));
  V best{};
  Places at{};
  for (std::int64_t i = 0; i < n; i += 4) {
    const std::int64_t from = i < n - 4 ? i : n - 4;  // some come twice: none is before itself
    V line[4], pair[4];
#pragma GCC unroll 4
    for (std::int64_t l = 0; l < 4; ++l) {
      Half low, high;
      __builtin_memcpy(&low, x + l * apart + from, sizeof low);
      __builtin_memcpy(&high, x + (l + 4) * apart + from, sizeof high);
      line[l] = __builtin_shufflevector(low, high, 0, 1, 2, 3, 4, 5, 6, 7);
    }
#pragma GCC unroll 2
    for (std::int64_t l = 0; l < 4; l += 2) {
      pair[l] = __builtin_shufflevector(line[l], line[l + 1], 0, 8, 1, 9, 4, 12, 5, 13);
      pair[l + 1] = __builtin_shufflevector(line[l], line[l + 1], 2, 10, 3, 11, 6, 14, 7, 15);
    }
#pragma GCC unroll 2
    for (std::int64_t h = 0; h < 2; ++h) {
      line[2 * h] = __builtin_shufflevector(pair[h], pair[h + 2], 0, 1, 8, 9, 4, 5, 12, 13);
      line[2 * h + 1] = __builtin_shufflevector(pair[h], pair[h + 2], 2, 3, 10, 11, 6, 7, 14, 15);
    }
    if (i == 0) best = line[0];
#pragma GCC unroll 4
    for (std::int64_t l = 0; l < 4; ++l) {
      const Places before = ~(kLargest ? line[l] <= best : line[l] >= best) & (best == best);
      best = before ? line[l] : best;
      at = before ? Places{} + static_cast<std::int32_t>(from + l) : at;
    }
  }
  __builtin_memcpy(out, &at, sizeof at);
}

template <bool kLargest, class T>
void places_of(const void* data, std::int64_t apart, std::int64_t n, std::int64_t lines, std::int32_t* out) {
  const T* x = static_cast<const T*>(data);
  if constexpr (sizeof(T) == 4)
    if (n <= 64)
      for (; lines >= 8; lines -= 8, x += 8 * apart, out += 8) places_of_eight<kLargest>(x, apart, n, out);
  for (; lines > 0; --lines, x += apart, ++out) *out = static_cast<std::int32_t>(place_of<kLargest>(x, n));
}

template <class Op, class T>
ReduceRun run_for() {
  if constexpr (kWide && kFloating<T> && (std::is_same_v<Op, Max> || std::is_same_v<Op, Min>))
    return extreme_of<Op, T>;
  else
    return run_of<Op, T>;
}

// Only what compares asks for the sign of an integer.
template <class T>
ReduceRun number(Reduce op) {
  using Bits = typename std::conditional_t<kFloating<T>, std::type_identity<T>, std::make_unsigned<T>>::type;
  switch (op) {
    case Reduce::Sum: return run_for<Sum, Bits>();
    case Reduce::Prod: return run_for<Prod, Bits>();
    case Reduce::Max: return run_for<Max, T>();
    case Reduce::Min: return run_for<Min, T>();
    default: break;
  }
  if constexpr (!kFloating<T>) return op == Reduce::And ? run_for<And, Bits>() : run_for<Or, Bits>();
  return nullptr;
}

}  // namespace

ReduceRun run(Reduce op, DType type) {
  const bool all = op == Reduce::And || op == Reduce::Min || op == Reduce::Prod;
  if (type == DType::Bool) return all ? run_for<And, std::uint8_t>() : run_for<Or, std::uint8_t>();  // bytes 0 and 1
  if (type == DType::I4) return nullptr;
  return in_register(type, [&](auto x) { return number<decltype(x)>(op); });
}

AddRows add_rows(DType type) {
  if constexpr (kWide) {
    if (type == DType::F32) return add_rows_of<float>;
    if (type == DType::F64) return add_rows_of<double>;
  }
  return nullptr;
}

Places places(bool largest, DType type) {
  if constexpr (kWide) {
    if (type == DType::F32) return largest ? places_of<true, float> : places_of<false, float>;
    if (type == DType::F64) return largest ? places_of<true, double> : places_of<false, double>;
    if (type == DType::I32) return largest ? places_of<true, std::int32_t> : places_of<false, std::int32_t>;
  }
  return nullptr;
}

}  // namespace shard::runtime::SHARD_ISA
