// What samplers share (draws_gamma.cpp, draws_counts.cpp): keys, uniform numbers of an element, loops over elements.
#pragma once
#include <array>
#include <cstdint>
#include <vector>

#include "runtime/kernels/draws.h"
#include "runtime/kernels/nest.h"
#include "runtime/kernels/spread.h"
#include "runtime/kernels/vector/loop_table.h"

namespace shard::runtime::drawing {

struct Key {
  std::uint32_t words[2];
  bool operator==(const Key&) const = default;
};

inline Key hashed(const Key& key, std::uint64_t counter) {
  Key out{};
  vector_table().threefry(key.words[0], key.words[1], counter, 1, &out.words[0], &out.words[1]);
  return out;
}

// In [0, 1): the bits of element `index` behind the exponent of 1, less 1.
template <class T>
T uniform(const Key& key, std::uint64_t index = 0) {
  const Key bits = hashed(key, index);
  if constexpr (sizeof(T) == 4)
    return static_cast<float>((bits.words[0] ^ bits.words[1]) >> 9) * 0x1p-23f;
  else
    return static_cast<double>(((std::uint64_t{bits.words[0]} << 32) | bits.words[1]) >> 12) * 0x1p-52;
}

// f(offsets of each view, position in out) over all elements; `state` makes what one thread keeps between elements.
template <std::size_t N, class State, class F>
void each_element(const std::array<const View*, N>& views, const View& out, const Stop* stop, State state, F f) {
  Nest<static_cast<int>(N)> nest;
  for (std::size_t d = 0; d < out.shape.size(); ++d) {
    std::array<std::int64_t, N> step;
    for (std::size_t v = 0; v < N; ++v) step[v] = views[v]->strides[d];
    nest.add(out.shape[d], step);
  }
  if (numel(out.shape) == 0) return;
  spread(
      nest.count(nest.rank), 256,
      [&](std::int64_t lo, std::int64_t hi) {
        auto kept = state();
        Position<static_cast<int>(N)> at(nest, nest.rank, lo);
        for (std::int64_t i = lo; i < hi; ++i, at.next()) f(kept, at.offset, i);
      },
      stop);
}

constexpr int kMostTurns = 1 << 20;  // nothing is ever drawn so often

template <class F>
void as_float(const View& out, F f) {
  if (out.dtype == DType::F64)
    f(double{});
  else if (out.dtype == DType::F32)
    f(float{});
  else
    throw RuntimeError("kernel", "samplers draw f32 and f64");
}

}  // namespace shard::runtime::drawing
