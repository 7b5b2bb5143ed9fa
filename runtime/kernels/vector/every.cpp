// Every second, third or fourth element of a line, a line from behind, each element four times, lines
// that become columns.
#include "runtime/kernels/vector/turn_eight.h"
#include "runtime/kernels/vector/vectors.h"

namespace shard::runtime::SHARD_ISA {
namespace {

using Eight = Vectors<std::uint32_t>;
using V = Eight::V;

// Eight of them, from `Step` vectors.
template <int Step>
SHARD_LOOP void every_eight(const std::uint32_t* x, V& out) {
  V v[Step];
#pragma GCC unroll 4
  for (int i = 0; i < Step; ++i) Eight::load(v[i], x + i * Eight::kWidth);
  if constexpr (Step == 2) out = __builtin_shufflevector(v[0], v[1], 0, 2, 4, 6, 8, 10, 12, 14);
  if constexpr (Step == 3) {  // no two of them lie in the same lane: they are put together there, and then in order
    const V two = __builtin_shufflevector(v[0], v[1], 0, 9, 2, 3, 12, 5, 6, 15);
    const V all = __builtin_shufflevector(two, v[2], 0, 1, 10, 3, 4, 13, 6, 7);
    out = __builtin_shufflevector(all, all, 0, 3, 6, 1, 4, 7, 2, 5);
  }
  if constexpr (Step == 4) {
    const V low = __builtin_shufflevector(v[0], v[1], 0, 8, 1, 9, 4, 12, 5, 13);
    const V high = __builtin_shufflevector(v[2], v[3], 0, 8, 1, 9, 4, 12, 5, 13);
    const V all = __builtin_shufflevector(low, high, 0, 1, 8, 9, 4, 5, 12, 13);
    out = __builtin_shufflevector(all, all, 0, 4, 1, 5, 2, 6, 3, 7);
  }
}

template <int Step>
void every_of(const std::uint32_t* x, std::uint32_t* out, std::int64_t n) {
  std::int64_t i = 0;
  for (; kWide && i + Eight::kWidth < n; i += Eight::kWidth) {  // nothing behind the last is read
    V v;
    every_eight<Step>(x + i * Step, v);
    __builtin_memcpy(out + i, &v, sizeof v);
  }
  for (; i < n; ++i) out[i] = x[i * Step];
}

void from_behind(const std::uint32_t* x, std::uint32_t* out, std::int64_t n) {
  std::int64_t i = 0;
  for (; kWide && i + Eight::kWidth <= n; i += Eight::kWidth) {
    V v;
    Eight::load(v, x - i - Eight::kWidth + 1);
    v = __builtin_shufflevector(v, v, 7, 6, 5, 4, 3, 2, 1, 0);
    __builtin_memcpy(out + i, &v, sizeof v);
  }
  for (; i < n; ++i) out[i] = x[-i];
}

}  // namespace

void every(const std::uint32_t* x, std::int64_t step, std::uint32_t* out, std::int64_t n) {
  switch (step) {
    case -1: return from_behind(x, out, n);
    case 2: return every_of<2>(x, out, n);
    case 3: return every_of<3>(x, out, n);
    case 4: return every_of<4>(x, out, n);
    default:
      for (std::int64_t i = 0; i < n; ++i) out[i] = x[i * step];
  }
}

void four_times(const std::uint32_t* x, std::uint32_t* out, std::int64_t n) {
  std::int64_t i = 0;
  for (; kWide && i + Eight::kWidth <= n; i += Eight::kWidth) {
    V v;
    Eight::load(v, x + i);
    const V made[] = {
        __builtin_shufflevector(v, v, 0, 0, 0, 0, 1, 1, 1, 1), __builtin_shufflevector(v, v, 2, 2, 2, 2, 3, 3, 3, 3),
        __builtin_shufflevector(v, v, 4, 4, 4, 4, 5, 5, 5, 5), __builtin_shufflevector(v, v, 6, 6, 6, 6, 7, 7, 7, 7)};
    __builtin_memcpy(out + 4 * i, made, sizeof made);
  }
  for (; i < n; ++i)
    for (std::int64_t k = 0; k < 4; ++k) out[4 * i + k] = x[i];
}

void turned(const std::uint32_t* x, std::int64_t line, std::uint32_t* out, std::int64_t out_line, std::int64_t lines,
            std::int64_t n) {
  const std::int64_t many = kWide ? lines / 8 * 8 : 0, wide = kWide ? n / 8 * 8 : 0;
  for (std::int64_t i = 0; i < many; i += 8)
    for (std::int64_t j = 0; j < wide; j += 8)
      turn_eight(reinterpret_cast<const unsigned char*>(x + i * line + j), line * 4, out + j * out_line + i, out_line);
  for (std::int64_t i = 0; i < lines; ++i)
    for (std::int64_t j = i < many ? wide : 0; j < n; ++j) out[j * out_line + i] = x[i * line + j];
}

}  // namespace shard::runtime::SHARD_ISA
