// Where the largest or smallest element of a line is.
#include <limits>

#include "runtime/kernels/vector/vectors.h"

namespace shard::runtime::SHARD_ISA {
namespace {

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
  typedef std::int32_t Places __attribute__((vector_size(32)));
  V best{};
  Places at{};
  for (std::int64_t i = 0; i < n; i += 4) {
    const std::int64_t from = i < n - 4 ? i : n - 4;  // some come twice: none is before itself
    V line[4];
    four_of_eight(x + from, apart, line);
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
    if (n <= kShortLine)
      for (; lines >= 8; lines -= 8, x += 8 * apart, out += 8) places_of_eight<kLargest>(x, apart, n, out);
  for (; lines > 0; --lines, x += apart, ++out) *out = static_cast<std::int32_t>(place_of<kLargest>(x, n));
}

}  // namespace

Places places(bool largest, DType type) {
  if constexpr (kWide) {
    if (type == DType::F32) return largest ? places_of<true, float> : places_of<false, float>;
    if (type == DType::F64) return largest ? places_of<true, double> : places_of<false, double>;
    if (type == DType::I32) return largest ? places_of<true, std::int32_t> : places_of<false, std::int32_t>;
  }
  return nullptr;
}

}  // namespace shard::runtime::SHARD_ISA
