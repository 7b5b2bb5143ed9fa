// The lines of a view: its last dimension, one for each index of the others.
#pragma once
#include <algorithm>
#include <cstdint>

#include "runtime/array/view.h"
#include "runtime/kernels/nest.h"
#include "runtime/kernels/spread.h"

namespace shard::runtime {

inline std::int64_t line_length(const View& v) { return v.shape.empty() ? 1 : v.shape.back(); }

// Calls f(line of in, step of in, first index of the line in `out`) for each line; views of rank 0 are a line of one.
template <class T, class F>
void each_line(const View& in, std::int64_t n, F f, const Stop* stop = nullptr) {
  Nest<1> outer;
  for (std::size_t i = 0; i + 1 < in.shape.size(); ++i) outer.add(in.shape[i], {in.strides[i]});
  const std::int64_t step = in.shape.empty() ? 1 : in.strides.back();
  const T* data = in.as<const T>();
  spread(
      outer.count(outer.rank), std::max<std::int64_t>(1, 4096 / std::max<std::int64_t>(n, 1)),
      [&](std::int64_t lo, std::int64_t hi) {
        Position<1> at(outer, outer.rank, lo);
        for (std::int64_t i = lo; i < hi; ++i, at.next()) f(data + at.offset[0], step, i * n);
      },
      stop);
}

}  // namespace shard::runtime
