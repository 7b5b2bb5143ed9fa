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

namespace {

// In squares of eight, of which the last lie over those before.
void turned_squares(const std::uint32_t* x, std::int64_t line, std::uint32_t* out, std::int64_t out_line,
                    std::int64_t lines, std::int64_t n) {
  const auto from = [](std::int64_t at, std::int64_t end) { return at + 8 > end ? end - 8 : at; };
  for (std::int64_t i0 = 0; i0 < lines; i0 += 8)
    for (std::int64_t j0 = 0; j0 < n; j0 += 8) {
      const std::int64_t i = from(i0, lines), j = from(j0, n);
      turn_eight(reinterpret_cast<const unsigned char*>(x + i * line + j), line * 4, out + j * out_line + i, out_line);
    }
}

// Lines of less than eight elements, with what lies behind them: eight at a time become N columns. Gives how many.
template <int N>
std::int64_t turned_short(const std::uint32_t* x, std::int64_t line, std::uint32_t* out, std::int64_t out_line,
                          std::int64_t lines) {
  const std::int64_t end = (lines - 1) * line + N;
  std::int64_t i = 0;
  for (; i + 8 <= lines && (i + 7) * line + 8 <= end; i += 8) {
    EightWords<std::uint32_t> v[8];
#pragma GCC unroll 8
    for (int l = 0; l < 8; ++l) std::memcpy(&v[l], x + (i + l) * line, sizeof v[l]);
    turn_in_registers<std::uint32_t>(v);
#pragma GCC unroll 8
    for (int j = 0; j < N; ++j) std::memcpy(out + j * out_line + i, &v[j], sizeof v[j]);
  }
  return i;
}

// N < 8 lines become columns of results one behind the other, of which each overwrites what lies over it. Gives how
// many.
template <int N>
std::int64_t turned_few(const std::uint32_t* x, std::int64_t line, std::uint32_t* out, std::int64_t n) {
  std::int64_t j = 0;
  for (; j + 10 <= n; j += 8) {  // behind the last eight there are as many elements as they write too many
    EightWords<std::uint32_t> v[8] = {};
#pragma GCC unroll 8
    for (int l = 0; l < N; ++l) std::memcpy(&v[l], x + l * line + j, sizeof v[l]);
    turn_in_registers<std::uint32_t>(v);
#pragma GCC unroll 8
    for (int k = 0; k < 8; ++k) std::memcpy(out + (j + k) * N, &v[k], sizeof v[k]);
  }
  return j;
}

// f of the number as a constant, from 4 to 7; else 0.
template <class F>
std::int64_t with_number(std::int64_t n, F f) {
  switch (n) {
    case 4: return f(std::integral_constant<int, 4>());
    case 5: return f(std::integral_constant<int, 5>());
    case 6: return f(std::integral_constant<int, 6>());
    case 7: return f(std::integral_constant<int, 7>());
    default: return 0;
  }
}

}  // namespace

void turned(const std::uint32_t* x, std::int64_t line, std::uint32_t* out, std::int64_t out_line, std::int64_t lines,
            std::int64_t n) {
  if (kWide && lines >= 8 && n >= 8) return turned_squares(x, line, out, out_line, lines, n);
  std::int64_t i = 0, j = 0;  // where what is left begins
  if (kWide && lines >= 8)
    i = with_number(n, [&](auto few) { return turned_short<few>(x, line, out, out_line, lines); });
  else if (kWide && out_line == lines)
    j = with_number(lines, [&](auto few) { return turned_few<few>(x, line, out, n); });
  for (; i < lines; ++i)
    for (std::int64_t k = j; k < n; ++k) out[k * out_line + i] = x[i * line + k];
}

}  // namespace shard::runtime::SHARD_ISA
