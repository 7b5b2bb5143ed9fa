// Rows taken by an index, and rows scattered by one. Negative indices are out of range here: counting from the end is
// the business of whoever makes the index.
#include "runtime/kernels/kernels.h"

#include <algorithm>
#include <array>
#include <cstring>
#include <limits>
#include <type_traits>
#include <vector>

#include "runtime/kernels/line.h"
#include "runtime/kernels/spread.h"
#include "runtime/kernels/types.h"
#include "runtime/kernels/vector/loop_table.h"

namespace shard::runtime {

// visit_stored(dtype, f): as visit, and for the types that numbers are kept in as well. What is computed is
// computed in f32 or i8 and rounded once.

struct E4M3 {
  std::uint8_t bits;
};
struct E5M2 {
  std::uint8_t bits;
};
struct Int4 {
  std::int8_t bits;
};

static float to_compute(E4M3 x) { return e4m3_to_f32(x.bits); }
static float to_compute(E5M2 x) { return e5m2_to_f32(x.bits); }
static std::int8_t to_compute(Int4 x) { return x.bits; }

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

namespace {

constexpr std::int64_t kGatherWork = 16 * 1024;  // elements a task should move

// The numbers of rows in one entry of the batch, from the j-th on.
class RowNumbers {
 public:
  RowNumbers(const View& index, std::int64_t batch, std::int64_t j)
      : wide_(index.dtype == DType::I64), next_(index.strides[1]) {
    const std::int64_t at = batch * index.strides[0] + j * next_;
    first_ = wide_ ? static_cast<const void*>(index.as<std::int64_t>() + at) : index.as<std::int32_t>() + at;
  }
  std::int64_t operator[](std::int64_t j) const {
    return wide_ ? static_cast<const std::int64_t*>(first_)[j * next_]
                 : static_cast<const std::int32_t*>(first_)[j * next_];
  }

 private:
  bool wide_;
  std::int64_t next_;
  const void* first_;
};

template <class T>
T missing() {  // what Bounds::Nan gives
  if constexpr (std::is_same_v<T, Bool8>)
    return {1};
  else if constexpr (std::is_same_v<T, Half>)
    return {0x7e00};
  else if constexpr (std::is_same_v<T, Brain>)
    return {0x7fc0};
  else if constexpr (std::is_same_v<T, KeyWord>)
    return {~std::uint64_t{0}};
  else if constexpr (std::is_same_v<T, E4M3>)
    return {0x7f};
  else if constexpr (std::is_same_v<T, E5M2>)
    return {0x7e};
  else if constexpr (std::is_same_v<T, Int4>)
    return {-8};
  else if constexpr (std::is_floating_point_v<T>)
    return std::numeric_limits<T>::quiet_NaN();
  else
    return std::is_signed_v<T> ? std::numeric_limits<T>::min() : std::numeric_limits<T>::max();
}

template <class T>
inline void move_row(const T* from, std::int64_t step, T* to, std::int64_t n) {
  if (n == 1)
    *to = *from;
  else
    read_line(from, step, to, n);
}

constexpr std::int64_t kNumbers = 1024;  // that are found at a time

struct Taking {  // of n rows, which are `inner` long; those of the next number begin `apart` elements further
  std::int64_t n, inner, row, step, apart;
  bool folded, clamped;
};

// Where the rows of these numbers begin, in elements, from the one that is `from` on: -1 where there is no such row.
void find_rows(const Taking t, const RowNumbers numbers, std::int64_t from, std::int64_t count, std::int64_t* at) {
  for (std::int64_t j = 0; j < count; ++j) {
    std::int64_t i = numbers[j];
    if (t.folded && i < 0) i = -1 - i;
    if (t.clamped) i = std::clamp<std::int64_t>(i, 0, t.n - 1);
    at[j] = i < 0 || i >= t.n ? -1 : i * t.row + (from + j) * t.apart;
  }
}

template <class T>
void move_rows(const Taking t, const T* rows, const std::int64_t* at, std::int64_t count, T lacking, T* to) {
  if (t.inner == 1) {
#pragma GCC unroll 4  // else it takes half as long again where the loop happens to cross a line of the cache
    for (std::int64_t j = 0; j < count; ++j) to[j] = at[j] < 0 ? lacking : rows[at[j]];
    return;
  }
  for (std::int64_t j = 0; j < count; ++j, to += t.inner) {
    if (at[j] < 0)
      std::fill_n(to, t.inner, lacking);
    else
      move_row(rows + at[j], t.step, to, t.inner);
  }
}

template <class T>
void take_words(const View& x, const View& given, const View& out, Bounds bounds, T lacking) {
  const bool folded = bounds == Bounds::Folded, one = out.shape[1] == 1;  // of each entry: as numbers of a single one
  const View index = one ? View{given.dtype, {1, out.shape[0]}, {0, given.strides[0]}, given.data} : given;
  const bool shared = index.strides[0] == 0;
  const std::int64_t m = index.shape[1];
  const Taking t{x.shape[1],
                 x.shape[2],
                 x.strides[1],
                 x.strides[2],
                 one ? x.strides[0] : 0,
                 folded,
                 x.shape[1] > 0 && (folded || bounds == Bounds::Clamp)};
  spread(out.shape[0] * out.shape[1], std::max<std::int64_t>(1, kGatherWork / std::max<std::int64_t>(t.inner, 1)),
         [&](std::int64_t lo, std::int64_t hi) {
           std::array<std::int64_t, kNumbers> at;
           std::int64_t found_from = -1, found = 0;  // whose places `at` has: one index may serve every entry
           for (std::int64_t count; lo < hi; lo += count) {
             const std::int64_t batch = lo / m, j = lo % m;
             count = std::min({hi - lo, m - j, kNumbers});
             if (!shared || j != found_from || count > found) find_rows(t, {index, batch, j}, j, count, at.data());
             found_from = j, found = count;
             const T* rows = x.as<const T>() + batch * x.strides[0];
             move_rows(t, rows, at.data(), count, lacking, out.as<T>() + lo * t.inner);
           }
         });
}

// The updates of one batch entry, in order: `row` long each, in rows of `inner`, of which there are n.
template <class T>
struct Updates {
  RowNumbers numbers;
  std::int64_t count, n, inner, row;
  const T* from;
  std::int64_t from_row, from_step;
  T* to;
  template <class F>
  void each(F f) const {
    each(0, count, to, f);
  }
  template <class F>
  void each(std::int64_t lo, std::int64_t hi, T* into, F f) const {
    const Updates u = *this;
    for (std::int64_t j = lo; j < hi; ++j) {
      const std::int64_t i = u.numbers[j];
      if (i >= 0 && i < u.n) f(into + i * u.inner, u.from + j * u.from_row);
    }
  }
  template <class F>
  void combine(F f) const {
    each([f, n = row, step = from_step](T* to, const T* from) {
      for (std::int64_t k = 0; k < n; ++k) to[k] = kept_as<T>(f(to_compute(to[k]), to_compute(from[k * step])));
    });
  }
};

// Rows of one number. Sums of integers are the same in any order: where there are many more updates than places, parts
// of them are added up beside each other, each in places of its own.
template <class T>
void add_numbers(const Updates<T>& u) {
  constexpr std::int64_t kParts = 8;
  const auto add = [](T* to, const T* one) { *to = kept_as<T>(add_wrapped(to_compute(*to), to_compute(*one))); };
  const std::int64_t part = std::max(kGatherWork, (u.count + kParts - 1) / kParts);
  if (!std::is_integral_v<T> || u.inner != 1 || u.count <= part || u.n > u.count / (4 * kParts)) return u.each(add);
  const auto n = static_cast<std::size_t>(u.n);
  std::vector<T> sums(kParts * n);
  spread(u.count, part, [&](std::int64_t lo, std::int64_t hi) {
    u.each(lo, hi, sums.data() + static_cast<std::size_t>(lo / part) * n, add);
  });
  for (std::size_t i = 0; i < sums.size(); ++i) add(u.to + i % n, &sums[i]);
}

// Tasks split batch entries and the inner dimension. `add`: what adds dense rows, or null.
template <class T>
void scatter_typed(Scatter op, Loop add, const View& index, const View& v, const View& out) {
  const std::int64_t inner = out.shape[2], m = index.shape[1];
  const std::int64_t width = std::max<std::int64_t>(64, inner / 8),
                     strips = inner == 0 ? 0 : (inner + width - 1) / width;
  const std::int64_t work = std::max<std::int64_t>(1, m * std::min(width, inner));
  spread(out.shape[0] * strips, std::max<std::int64_t>(1, kGatherWork / work), [&](std::int64_t lo, std::int64_t hi) {
    for (std::int64_t unit = lo; unit < hi; ++unit) {
      const std::int64_t b = unit / strips, from = unit % strips * width, w = std::min(width, inner - from),
                         step = v.strides[2];
      const Updates<T> u{{index, b, 0}, m,    out.shape[1],
                         inner,         w,    v.as<const T>() + b * v.strides[0] + from * step,
                         v.strides[1],  step, out.as<T>() + b * out.shape[1] * inner + from};
      if (add && w > 1) {
        u.each([&](T* to, const T* row) { add(to, row, nullptr, to, w); });
        continue;
      }
      switch (op) {
        case Scatter::Set: u.each([&](T* to, const T* row) { move_row(row, step, to, w); }); break;
        case Scatter::Add:
          if (w == 1)
            add_numbers(u);
          else
            u.combine([](auto x, auto y) { return add_wrapped(x, y); });
          break;
        case Scatter::Mul: u.combine([](auto x, auto y) { return mul_wrapped(x, y); }); break;
        case Scatter::Min: u.combine([](auto x, auto y) { return min_nan(x, y); }); break;
        case Scatter::Max: u.combine([](auto x, auto y) { return max_nan(x, y); }); break;
      }
    }
  });
}

}  // namespace

void take(const View& x, const View& index, const View& out, Bounds bounds) {
  std::array<std::uint64_t, 2> lacking{};
  if (bounds == Bounds::Nan)
    visit_stored(x.dtype, [&](auto t) {
      const auto value = missing<decltype(t)>();
      std::memcpy(lacking.data(), &value, sizeof value);
    });
  by_width(size_of(x.dtype), [&](auto t) {
    std::memcpy(&t, lacking.data(), sizeof t);
    take_words(x, index, out, bounds, t);
  });
}

void scatter(Scatter op, const View& x, const View& index, const View& v, const View& out) {
  if (op != Scatter::Set && x.dtype == DType::Key)
    throw RuntimeError("kernel", "keys can be set, not added or compared");
  if (x.data != out.data || !is_contiguous(x)) copy(x, out);
  const bool adds = op == Scatter::Add && v.strides[2] == 1 && (x.dtype == DType::F32 || x.dtype == DType::F64);
  const Loop add = adds ? vector_table().loop(Code::Add, x.dtype) : nullptr;
  visit_stored(x.dtype, [&](auto t) { scatter_typed<decltype(t)>(op, add, index, v, out); });
}

}  // namespace shard::runtime
