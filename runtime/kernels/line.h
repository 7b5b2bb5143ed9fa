// Elements that lie some steps apart, brought side by side.
#pragma once
#include <algorithm>
#include <cstdint>
#include <cstring>

#include "runtime/kernels/vector/loop_table.h"

namespace shard::runtime {

template <class T>
void read_line(const T* in, std::int64_t step, T* out, std::int64_t n) {
  if (step == 1) {
    std::memcpy(out, in, static_cast<std::size_t>(n) * sizeof(T));
  } else if (step == 0) {
    std::fill_n(out, n, *in);
  } else if (sizeof(T) == sizeof(std::uint32_t) && step >= -1 && step <= 4 && n > 8) {
    vector_table().every(reinterpret_cast<const std::uint32_t*>(in), step, reinterpret_cast<std::uint32_t*>(out), n);
  } else {
    for (std::int64_t i = 0; i < n; ++i) out[i] = in[i * step];
  }
}

}  // namespace shard::runtime
