// Sorting and searching along the last dimension, by keys: so there are two sorts, not one a type.
// Equals keep their order.
#include <algorithm>
#include <bit>
#include <memory>

#include "runtime/kernels/kernels.h"
#include "runtime/kernels/lines.h"
#include "runtime/kernels/types.h"

namespace shard::runtime {
namespace {

// ---- elements as unsigned integers in JAX's order: what is less has the lesser key. Zeros of both signs have one key,
// and every nan has one, above all numbers.

template <class T>
constexpr bool kFloat = std::is_floating_point_v<Compute<T>>;

template <class T>
using OrderKey = std::conditional_t<sizeof(T) <= 4, std::uint32_t, std::uint64_t>;

namespace order {

template <class T>
using Bits = std::conditional_t<sizeof(T) == 1, std::uint8_t,
                                std::conditional_t<sizeof(T) == 2, std::uint16_t,
                                                   std::conditional_t<sizeof(T) == 4, std::uint32_t, std::uint64_t>>>;
template <class T>
constexpr Bits<T> kSign = static_cast<Bits<T>>(Bits<T>{1} << (8 * sizeof(T) - 1));
template <class T>
constexpr Bits<T> kAll = static_cast<Bits<T>>(~Bits<T>{0});
template <class T>
constexpr bool kSigned = std::is_signed_v<Compute<T>>;

// Infinity is a type's largest exponent and no digits; above it are nans.
template <class T>
constexpr Bits<T> infinity() {
  if constexpr (std::is_same_v<T, Half>) return 0x7c00;
  if constexpr (std::is_same_v<T, Brain>) return 0x7f80;
  if constexpr (std::is_same_v<T, float>) return 0x7f800000u;
  if constexpr (std::is_same_v<T, double>) return 0x7ff0000000000000u;
  return 0;
}

}  // namespace order

template <class T>
constexpr OrderKey<T> kZeroKey = order::kSign<T>;  // of floats
template <class T>
constexpr OrderKey<T> kNanKey = order::kAll<T>;

template <class T>
OrderKey<T> order_key(T x) {
  using Bits = order::Bits<T>;
  const Bits sign = order::kSign<T>, bits = std::bit_cast<Bits>(x);
  if constexpr (kFloat<T>) {
    const Bits size = static_cast<Bits>(bits & ~sign);
    if (size > order::infinity<T>()) return kNanKey<T>;
    if (size == 0) return kZeroKey<T>;
    return static_cast<Bits>(bits & sign ? ~bits : bits | sign);
  }
  return order::kSigned<T> ? static_cast<Bits>(bits ^ sign) : bits;
}

// The value that has this key: of zeros the positive one, of nans one.
template <class T>
T order_value(OrderKey<T> key) {
  using Bits = order::Bits<T>;
  const Bits sign = order::kSign<T>;
  if constexpr (kFloat<T>) return std::bit_cast<T>(static_cast<Bits>(key & sign ? key ^ sign : ~key));
  return std::bit_cast<T>(static_cast<Bits>(order::kSigned<T> ? key ^ sign : key));
}

// ---- sorting

// Sorts stably, as merges of sorted runs that are cut into pieces of their results: over threads, and asking before
// each piece. What is stable has one result, however it is cut.
template <class T>
void sort_line(T* x, std::int64_t n, const Stop* stop) {
  constexpr std::int64_t kRun = std::int64_t{1} << 15;
  if (n <= 2 * kRun) {
    std::stable_sort(x, x + n);
    return;
  }
  spread(
      n, kRun, [&](std::int64_t lo, std::int64_t hi) { std::stable_sort(x + lo, x + hi); }, stop);
  const std::unique_ptr<T[]> other(new T[static_cast<std::size_t>(n)]);
  T *from = x, *to = other.get();
  for (std::int64_t width = kRun; width < n; width *= 2) {
    const auto piece = [&](std::int64_t lo, std::int64_t hi) {
      const std::int64_t begin = lo / (2 * width) * (2 * width), middle = std::min(begin + width, n);
      const T *a = from + begin, *b = from + middle;
      const std::int64_t na = middle - begin, nb = std::min(begin + 2 * width, n) - middle;
      const auto of_a = [&](std::int64_t k) {  // how many of the first k results are of `a`
        std::int64_t least = std::max<std::int64_t>(0, k - nb), most = std::min(k, na);
        while (least < most) {
          const std::int64_t i = least + (most - least) / 2;
          b[k - i - 1] < a[i] ? most = i : least = i + 1;
        }
        return least;
      };
      const std::int64_t i = of_a(lo - begin), i_end = of_a(hi - begin);
      std::merge(a + i, a + i_end, b + (lo - begin - i), b + (hi - begin - i_end), to + lo);
    };
    spread(n, kRun, piece, stop);
    std::swap(from, to);
  }
  if (from != x) std::copy(from, from + n, x);
}

// Zeros of both signs have one key, as every nan has: in the sorted line they stand in the line's order, with their
// bits.
template <class T>
void keep_bits(const T* x, std::int64_t step, std::int64_t n, const OrderKey<T>* keys, T* sorted) {
  T* zero = sorted + (std::lower_bound(keys, keys + n, kZeroKey<T>) - keys);
  T* nan = sorted + (std::lower_bound(keys, keys + n, kNanKey<T>) - keys);
  for (std::int64_t i = 0; i < n; ++i) {
    const T value = x[i * step];
    const OrderKey<T> key = order_key(value);
    if (key == kZeroKey<T>) *zero++ = value;
    if (key == kNanKey<T>) *nan++ = value;
  }
}

template <class T>
void sort_typed(const View& in, T* out, bool descending, const Stop* stop) {
  const std::int64_t n = line_length(in);
  each_line<T>(
      in, n,
      [=](const T* x, std::int64_t step, std::int64_t at) {
        T* o = out + at;
        const std::unique_ptr<OrderKey<T>[]> keys(new OrderKey<T>[static_cast<std::size_t>(n)]);
        for (std::int64_t i = 0; i < n; ++i) keys[i] = order_key(x[i * step]);
        sort_line(keys.get(), n, stop);
        for (std::int64_t i = 0; i < n; ++i) o[i] = order_value<T>(keys[i]);
        if constexpr (kFloat<T>) keep_bits(x, step, n, keys.get(), o);
        if (descending) std::reverse(o, o + n);
      },
      stop);
}

template <class Key>
struct Item {
  Key key;
  std::int32_t index;
  bool operator<(const Item& o) const { return key != o.key ? key < o.key : index < o.index; }
};

// The first k of a line in order, the others anywhere behind them.
template <class T>
void first_of_line(T* x, std::int64_t n, std::int64_t k, const Stop* stop) {
  if (k > n / 8) return sort_line(x, n, stop);
  std::partial_sort(x, x + k, x + n);
}

template <class T>
void argsort_typed(const View& in, const View& to, bool descending, const Stop* stop) {
  const std::int64_t n = line_length(in), k = line_length(to);
  std::int32_t* out = to.as<std::int32_t>();
  each_line<T>(
      in, n,
      [=](const T* x, std::int64_t step, std::int64_t at) {
        const std::unique_ptr<Item<OrderKey<T>>[]> items(new Item<OrderKey<T>>[static_cast<std::size_t>(n)]);
        for (std::int64_t i = 0; i < n; ++i) {
          const OrderKey<T> key = order_key(x[i * step]);
          items[i] = {descending ? ~key : key, static_cast<std::int32_t>(i)};
        }
        first_of_line(items.get(), n, k, stop);
        std::int32_t* o = out + at / n * k;
        for (std::int64_t i = 0; i < k; ++i) o[i] = items[i].index;
      },
      stop);
}

template <class T>
void search_typed(const View& a, const View& v, std::int32_t* out, bool behind) {
  const std::size_t lead = a.shape.size() - 1;
  Nest<2> nest;
  for (std::size_t d = 0; d < v.shape.size(); ++d) nest.add(v.shape[d], {d < lead ? a.strides[d] : 0, v.strides[d]});
  const std::int64_t n = a.shape.back(), step = a.strides.back();
  const T *lines = a.as<const T>(), *wanted = v.as<const T>();
  spread(nest.count(nest.rank), 1024, [&](std::int64_t lo, std::int64_t hi) {
    constexpr std::int64_t kTogether = 8;  // each waits for what it reads, and they do not wait for each other
    struct Lookup {
      const T* line;
      OrderKey<T> key;
      std::int64_t from;
    } looked[kTogether];
    Position<2> at(nest, nest.rank, lo);
    for (std::int64_t i = lo; i < hi; i += kTogether) {
      const std::int64_t some = std::min(kTogether, hi - i);
      for (std::int64_t k = 0; k < some; ++k, at.next())
        looked[k] = {lines + at.offset[0], order_key(wanted[at.offset[1]]), 0};
      std::fill(looked + some, looked + kTogether, looked[0]);
      for (std::int64_t left = n; left > 0;) {
        const std::int64_t half = (left + 1) / 2;
        for (Lookup& l : looked) {  // no jumps, which would be guessed wrong half of the time
          const OrderKey<T> y = order_key(l.line[(l.from + half - 1) * step]);
          l.from += half & -static_cast<std::int64_t>(behind ? y <= l.key : y < l.key);
        }
        left -= half;
      }
      for (std::int64_t k = 0; k < some; ++k) out[i + k] = static_cast<std::int32_t>(looked[k].from);
    }
  });
}

}  // namespace

void sort(const View& in, const View& out, bool descending, const Stop* stop) {
  visit(in.dtype, [&](auto t) { sort_typed(in, out.as<decltype(t)>(), descending, stop); });
}

void argsort(const View& in, const View& out, bool descending, const Stop* stop) {
  visit(in.dtype, [&](auto t) { argsort_typed<decltype(t)>(in, out, descending, stop); });
}

void search(const View& a, const View& v, const View& out, bool behind) {
  if (numel(out.shape) == 0) return;
  visit(a.dtype, [&](auto t) { search_typed<decltype(t)>(a, v, out.as<std::int32_t>(), behind); });
}

}  // namespace shard::runtime
