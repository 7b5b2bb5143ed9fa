// The inner loops of reductions. A run is summed in 64 lanes (short ones in 8), element i in lane i mod 64,
// the lanes by halves: the same order
// for every instruction set, so sums agree bit for bit between them.
#include "runtime/kernels/vector/vectors.h"

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

// Eight lines to one element each, as `lines` has it. Of a sum the elements come one by one: such lines have
// no lanes. Of extremes those whose result is a nan or a zero are gone over again.
template <class Op, class T>
SHARD_LOOP void eight_of(const T* x, std::int64_t apart, std::int64_t n, T* out) {
  typename Vectors<T>::V made{}, line[4];
  decltype(made != made) again{};
  for (std::int64_t i = 0; i < n; i += 4) {
    const std::int64_t from = n < 4 || i < n - 4 ? i : n - 4;
    four_of_eight(x + from, apart, line);
#pragma GCC unroll 4
    for (std::int64_t l = 0; l < 4; ++l) {
      if (from + l < i || from + l >= n) continue;
      if (from + l == 0)
        made = line[l];
      else if constexpr (std::is_same_v<Op, Sum>)
        made += line[l];
      else
        take_first<Op::kLargest>(line[l], made);
      again |= line[l] != line[l];
    }
  }
  __builtin_memcpy(out, &made, sizeof made);
  if constexpr (std::is_same_v<Op, Sum>) return;
  again |= made == 0;
  auto any = again;
  Vectors<T>::fold(
      any, [](const auto& from, auto& to) __attribute__((always_inline)) { to |= from; });
  for (std::int64_t l = 0; any[0] != 0 && l < 8; ++l)
    if (again[l] != 0) run_of<Op, T>(x + l * apart, n, out + l);
}
template <class Op, class T>
void lines_of(const void* data, std::int64_t apart, std::int64_t n, std::int64_t lines, void* out) {
  const T* x = static_cast<const T*>(data);
  T* to = static_cast<T*>(out);
  // Four elements are read at a time: of shorter lines what follows them, which a ninth line has where none is further
  // on.
  const bool vectors = n >= 4 || apart >= n;
  for (const std::int64_t least = n < 4 ? 9 : 8; vectors && lines >= least; lines -= 8, x += 8 * apart, to += 8)
    eight_of<Op>(x, apart, n, to);
  for (; lines > 0; --lines, x += apart, ++to) run_of<Op, T>(x, n, to);
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

ReduceLines lines(Reduce op, DType type, std::int64_t n) {
  if constexpr (kWide)
    if (type == DType::F32) {
      if (op == Reduce::Sum && n < kFew) return lines_of<Sum, float>;
      if (op == Reduce::Max && n <= kShortLine) return lines_of<Max, float>;
      if (op == Reduce::Min && n <= kShortLine) return lines_of<Min, float>;
    }
  return nullptr;
}

AddRows add_rows(DType type) {
  if constexpr (kWide) {
    if (type == DType::F32) return add_rows_of<float>;
    if (type == DType::F64) return add_rows_of<double>;
  }
  return nullptr;
}

}  // namespace shard::runtime::SHARD_ISA
