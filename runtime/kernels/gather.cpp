// Rows taken by an index, and rows scattered by one. Negative indices are out of range here: counting from the end is
// the business of whoever makes the index.
#include "runtime/kernels/kernels.h"

#include <algorithm>
#include <cstring>
#include <limits>

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

std::int64_t index_at(const View& index, std::int64_t batch, std::int64_t j) {
  const std::int64_t at = batch * index.strides[0] + j * index.strides[1];
  return index.dtype == DType::I64 ? index.as<std::int64_t>()[at] : index.as<std::int32_t>()[at];
}

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
void move_row(const T* from, std::int64_t step, T* to, std::int64_t n) {
  if (step == 1)
    std::memcpy(to, from, static_cast<std::size_t>(n) * sizeof(T));
  else
    for (std::int64_t i = 0; i < n; ++i) to[i] = from[i * step];
}

template <class T>
void take_typed(const View& x, const View& index, const View& out, Bounds bounds) {
  const std::int64_t n = x.shape[1], inner = x.shape[2], m = out.shape[1];
  const T* data = x.as<const T>();
  T* o = out.as<T>();
  spread(out.shape[0] * m, std::max<std::int64_t>(1, kGatherWork / std::max<std::int64_t>(inner, 1)),
         [&](std::int64_t lo, std::int64_t hi) {
           for (std::int64_t r = lo; r < hi; ++r) {
             std::int64_t i = index_at(index, r / m, r % m);
             if (i < 0 && bounds == Bounds::Folded) i = -1 - i;
             if (i < 0 || i >= n) {
               if (n > 0 && (bounds == Bounds::Clamp || bounds == Bounds::Folded)) {
                 i = std::clamp<std::int64_t>(i, 0, n - 1);
               } else {
                 std::fill_n(o + r * inner, inner, bounds == Bounds::Nan ? missing<T>() : T{});
                 continue;
               }
             }
             move_row(data + r / m * x.strides[0] + i * x.strides[1], x.strides[2], o + r * inner, inner);
           }
         });
}

template <class T>
void combine(Scatter op, T* to, const T* from, std::int64_t step, std::int64_t n) {
  const auto each = [&](auto f) {
    for (std::int64_t i = 0; i < n; ++i) to[i] = kept_as<T>(f(to_compute(to[i]), to_compute(from[i * step])));
  };
  switch (op) {
    case Scatter::Set: return move_row(from, step, to, n);
    case Scatter::Add: return each([](auto a, auto b) { return add_wrapped(a, b); });
    case Scatter::Mul: return each([](auto a, auto b) { return mul_wrapped(a, b); });
    case Scatter::Min: return each([](auto a, auto b) { return min_nan(a, b); });
    case Scatter::Max: return each([](auto a, auto b) { return max_nan(a, b); });
  }
}

// The updates of one batch entry are in order; tasks split entries and the inner dimension. `add`: what adds dense
// rows, or null.
template <class T>
void scatter_typed(Scatter op, Loop add, const View& index, const View& v, const View& out) {
  const std::int64_t n = out.shape[1], inner = out.shape[2], m = index.shape[1];
  const T* data = v.as<const T>();
  T* o = out.as<T>();
  const std::int64_t width = std::max<std::int64_t>(64, inner / 8),
                     strips = inner == 0 ? 0 : (inner + width - 1) / width;
  const std::int64_t work = std::max<std::int64_t>(1, m * std::min(width, inner));
  spread(out.shape[0] * strips, std::max<std::int64_t>(1, kGatherWork / work), [&](std::int64_t lo, std::int64_t hi) {
    for (std::int64_t unit = lo; unit < hi; ++unit) {
      const std::int64_t b = unit / strips, from = unit % strips * width, w = std::min(width, inner - from);
      for (std::int64_t j = 0; j < m; ++j) {
        const std::int64_t i = index_at(index, b, j);
        if (i < 0 || i >= n) continue;
        T* const to = o + (b * n + i) * inner + from;
        const T* const row = data + b * v.strides[0] + j * v.strides[1] + from * v.strides[2];
        if (add)
          add(to, row, nullptr, to, w);
        else
          combine(op, to, row, v.strides[2], w);
      }
    }
  });
}

}  // namespace

void take(const View& x, const View& index, const View& out, Bounds bounds) {
  visit_stored(x.dtype, [&](auto t) { take_typed<decltype(t)>(x, index, out, bounds); });
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
