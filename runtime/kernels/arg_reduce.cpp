// The index of the largest or smallest element along an axis: the first of equals, and nan is more extreme than any
// number.
#include "runtime/kernels/kernels.h"

#include <algorithm>

#include "runtime/kernels/nest.h"
#include "runtime/kernels/spread.h"
#include "runtime/kernels/types.h"
#include "runtime/kernels/vector/loop_table.h"

namespace shard::runtime {
namespace {

// The smallest is the largest of the elements turned round: -x, or ~x of integers, where nothing overflows.
template <class C>
class Turn {
 public:
  explicit Turn(bool turned) {
    if constexpr (std::is_floating_point_v<C>)
      by_ = turned ? C{-1} : C{1};
    else
      by_ = turned ? static_cast<C>(~std::uint64_t{0}) : C{0};  // a truth value: true
  }
  C operator()(C x) const {
    if constexpr (std::is_floating_point_v<C>)
      return x * by_;
    else
      return static_cast<C>(x ^ by_);
  }

 private:
  C by_;
};

template <class C>
bool beats(C x, C best) {
  if constexpr (std::is_floating_point_v<C>)
    return !(x <= best) & (best == best);
  else
    return x > best;
}

// One line.
template <class T>
std::int32_t best_of(const T* x, std::int64_t step, std::int64_t n, Turn<Compute<T>> turn) {
  std::int64_t at = 0;
  Compute<T> best = turn(to_compute(x[0]));
  for (std::int64_t i = 1; i < n; ++i) {
    const Compute<T> y = turn(to_compute(x[i * step]));
    if (beats(y, best)) {
      best = y;
      at = i;
    }
  }
  return static_cast<std::int32_t>(at);
}

// Neighbouring lines together, where they lie side by side.
template <class T>
void best_of_columns(const T* x, std::int64_t step, std::int64_t n, std::int64_t width, Turn<Compute<T>> turn,
                     std::int32_t* out) {
  constexpr std::int64_t kTile = 128;
  Compute<T> best[kTile];
  for (std::int64_t from = 0; from < width; from += kTile) {
    const std::int64_t w = std::min(kTile, width - from);
    for (std::int64_t j = 0; j < w; ++j) {
      best[j] = turn(to_compute(x[from + j]));
      out[from + j] = 0;
    }
    for (std::int64_t i = 1; i < n; ++i)
      for (std::int64_t j = 0; j < w; ++j) {
        const Compute<T> y = turn(to_compute(x[i * step + from + j]));
        const bool better = beats(y, best[j]);
        best[j] = better ? y : best[j];
        out[from + j] = better ? static_cast<std::int32_t>(i) : out[from + j];
      }
  }
}

// Lines [lo, hi) of few elements, some brought side by side: what beats what in them cannot be foreseen.
constexpr std::int64_t kShort = 64, kTogether = 64;
template <class T>
void best_of_short(const T* x, const Nest<1>& kept, std::int64_t step, std::int64_t n, Turn<Compute<T>> turn,
                   std::int64_t lo, std::int64_t hi, std::int32_t* out) {
  T columns[kShort * kTogether];
  const T* lines[kTogether];
  Position<1> at(kept, kept.rank, lo);
  for (std::int64_t from = lo; from < hi; from += kTogether) {
    const std::int64_t w = std::min(kTogether, hi - from);
    for (std::int64_t j = 0; j < w; ++j, at.next()) lines[j] = x + at.offset[0];
    for (std::int64_t i = 0; i < n; ++i)
      for (std::int64_t j = 0; j < w; ++j) columns[i * kTogether + j] = lines[j][i * step];
    best_of_columns(columns, kTogether, n, w, turn, out + from);
  }
}

template <class T>
void arg_reduce_typed(const View& in, std::size_t axis, bool largest, std::int32_t* out) {
  const Turn<Compute<T>> turn(!largest);
  const std::int64_t n = in.shape[axis], step = in.strides[axis];
  Nest<1> kept;
  for (std::size_t i = 0; i < in.shape.size(); ++i)
    if (i != axis) kept.add(in.shape[i], {in.strides[i]});
  const T* data = in.as<const T>();
  const int last = kept.rank - 1;
  if (last >= 0 && kept.stride[0][last] == 1 && step != 1) {
    const std::int64_t width = kept.size[last];
    spread(kept.count(last), std::max<std::int64_t>(1, 16384 / (n * width)), [&](std::int64_t lo, std::int64_t hi) {
      Position<1> at(kept, last, lo);
      for (std::int64_t i = lo; i < hi; ++i, at.next())
        best_of_columns(data + at.offset[0], step, n, width, turn, out + i * width);
    });
    return;
  }
  const std::int64_t lines = kept.count(kept.rank), piece = std::max<std::int64_t>(1, 16384 / n);
  if (const Places places = step == 1 && n >= kPlaces ? vector_table().places(largest, in.dtype) : nullptr) {
    const std::int64_t apart = kept.rank > 0 ? kept.stride[0][last] : 0;
    return spread(lines, piece, [&](std::int64_t lo, std::int64_t hi) {
      each_stretch(kept, kept.rank, lo, hi, [&](const auto& offset, std::int64_t some) {
        places(data + offset[0], apart, n, some, out + lo);
        lo += some;
      });
    });
  }
  if (n <= kShort && lines >= 8)
    return spread(lines, piece,
                  [&](std::int64_t lo, std::int64_t hi) { best_of_short(data, kept, step, n, turn, lo, hi, out); });
  spread(lines, piece, [&](std::int64_t lo, std::int64_t hi) {
    Position<1> at(kept, kept.rank, lo);
    for (std::int64_t i = lo; i < hi; ++i, at.next()) out[i] = best_of(data + at.offset[0], step, n, turn);
  });
}

}  // namespace

void arg_reduce(bool largest, const View& in, int axis, const View& out) {
  if (numel(out.shape) == 0) return;
  const std::size_t a = static_cast<std::size_t>(axis);
  if (in.shape[a] == 0)
    throw RuntimeError(
        "shape", "no element is the largest or smallest of none: dimension " + std::to_string(axis) + " has size 0");
  visit(in.dtype, [&](auto t) { arg_reduce_typed<decltype(t)>(in, a, largest, out.as<std::int32_t>()); });
}

}  // namespace shard::runtime
