// Loops of the elementwise codes over all but f32: f64, integers, truth values (bytes 0 and 1) and, for moving only,
// keys; complex numbers taken apart and put together (everything else about them is arithmetic of their parts,
// stdlib/ops/complex.cpp).
// Integers wrap: sums and products are formed in unsigned arithmetic. Nothing here traps: a quotient by zero has all
// bits set, as XLA has it, rounding it down gives jax.numpy's -2 (-1 for 0 // 0), and a remainder by zero is 0; shifts
// by the width or more (or by a negative count) shift everything out.
#include "runtime/kernels/vector/functions.h"

namespace shard::runtime::SHARD_ISA {
namespace codes {

SHARD_LOOP auto Abs(Integer auto x) { return x < 0 ? Neg(x) : x; }
SHARD_LOOP auto Sign(Integer auto x) { return (x > 0) - (x < 0); }
SHARD_LOOP auto Floor(Integer auto x) { return x; }
SHARD_LOOP auto Ceil(Integer auto x) { return x; }
SHARD_LOOP auto Round(Integer auto x) { return x; }
SHARD_LOOP bool IsNan(Integer auto) { return false; }
SHARD_LOOP bool IsInf(Integer auto) { return false; }
SHARD_LOOP bool IsFinite(Integer auto) { return true; }
SHARD_LOOP auto Max(Integer auto x, Integer auto y) { return x > y ? x : y; }
SHARD_LOOP auto Min(Integer auto x, Integer auto y) { return x < y ? x : y; }
// The divisor, or 1 where the quotient would not be a T.
template <Integer T>
SHARD_LOOP T divisor(T y) {
  return y == 0 || (kSigned<T> && y == static_cast<T>(-1)) ? T{1} : y;
}
// By a divisor as above. A double holds what has few bits; its quotient, though rounded, has the same whole part, and
// processors have vectors of these.
template <Integer T>
SHARD_LOOP T quotient(T x, T y) {
  if constexpr (sizeof(T) < 4 || (sizeof(T) == 4 && kSigned<T>))
    return static_cast<T>(static_cast<std::int32_t>(static_cast<double>(x) / static_cast<double>(y)));
  else
    return static_cast<T>(x / y);
}
template <Integer T>
SHARD_LOOP T Div(T x, T y) {
  const T q = quotient(x, divisor(y)), by_one = kSigned<T> && y == static_cast<T>(-1) ? Neg(x) : q;
  return y == 0 ? static_cast<T>(-1) : by_one;
}
SHARD_LOOP auto Reciprocal(Integer auto x) { return Div(decltype(x){1}, x); }
template <Integer T>
SHARD_LOOP T remainder(T x, T y) {
  const T by = divisor(y), r = static_cast<T>(ring(x) - ring(quotient(x, by)) * ring(by));
  return y == 0 ? x : r;
}
template <Integer T>
SHARD_LOOP T FloorDiv(T x, T y) {
  const T q = Div(x, y), r = remainder(x, y);
  if (y == 0) return kSigned<T> && x != 0 ? static_cast<T>(-2) : q;
  return crosses(r, y) ? static_cast<T>(q - 1) : q;
}
template <Integer T>
SHARD_LOOP T Mod(T x, T y) {
  if (y == 0) return 0;
  const T r = remainder(x, y);
  return crosses(r, y) ? static_cast<T>(r + y) : r;
}
// By squaring, wrapping; a negative power is the truncated quotient (0 but for 1 and -1).
template <Integer T>
SHARD_LOOP T Pow(T x, T y) {
  if (y < 0) return x == 1 ? T{1} : x == static_cast<T>(-1) ? (y % 2 == 0 ? T{1} : x) : T{0};
  U<T> base = ring(x), result = 1;
  for (U<T> e = ring(y); e != 0; e >>= 1) {
    if (e & 1) result *= base;
    base *= base;
  }
  return static_cast<T>(result);
}
SHARD_LOOP auto BitNot(Integer auto x) { return ~x; }
SHARD_LOOP auto BitAnd(Integer auto x, Integer auto y) { return x & y; }
SHARD_LOOP auto BitOr(Integer auto x, Integer auto y) { return x | y; }
SHARD_LOOP auto BitXor(Integer auto x, Integer auto y) { return x ^ y; }
template <Integer T>
SHARD_LOOP T Shl(T x, T y) {
  const U<T> s = ring(y);
  return s < sizeof(T) * 8 ? static_cast<T>(ring(x) << (s & (sizeof(U<T>) * 8 - 1))) : T{0};
}
template <Integer T>
SHARD_LOOP T Shr(T x, T y) {
  const U<T> s = ring(y), last = sizeof(T) * 8 - 1;
  if (kSigned<T>) return static_cast<T>(x >> (s < last ? s : last));
  return s <= last ? static_cast<T>(x >> (s & last)) : T{0};
}

template <class T>
static Loop number(Code code) {
  switch (code) { SHARD_CODES(SHARD_LOOP_OF) }
  return nullptr;
}

}  // namespace codes
namespace {

template <class T>
void select(const void* condition, const void* a, const void* b, void* out, std::int64_t n) {
  const std::uint8_t* c = static_cast<const std::uint8_t*>(condition);
  const T* x = static_cast<const T*>(a);
  const T* y = static_cast<const T*>(b);
  T* o = static_cast<T*>(out);
#pragma GCC ivdep
  for (std::int64_t i = 0; i < n; ++i) {
    const T p = x[i], q = y[i];
    o[i] = c[i] ? p : q;
  }
}

template <class T, int Part>
void part(const void* a, const void*, const void*, void* out, std::int64_t n) {
  const T* x = static_cast<const T*>(a);
  T* o = static_cast<T*>(out);
  for (std::int64_t i = 0; i < n; ++i) o[i] = x[2 * i + Part];
}

template <class T>
void together(const void* a, const void* b, const void*, void* out, std::int64_t n) {
  const T *re = static_cast<const T*>(a), *im = static_cast<const T*>(b);
  T* o = static_cast<T*>(out);
#pragma GCC ivdep
  for (std::int64_t i = 0; i < n; ++i) o[2 * i] = re[i], o[2 * i + 1] = im[i];
}

template <class T>
Loop loop_of(Code code) {
  return code == Code::Real ? part<T, 0> : code == Code::Imag ? part<T, 1> : together<T>;
}

}  // namespace

Loop loop_f64(Code code) { return codes::number<double>(code); }

Loop loop_integer(Code code, DType type) {
  if (type == DType::Key)
    return code == Code::Identity || code == Code::Eq || code == Code::Ne ? codes::number<std::uint64_t>(code)
                                                                          : nullptr;
  return in_register(type, [&](auto x) -> Loop {
    if constexpr (codes::Integer<decltype(x)>) return codes::number<decltype(x)>(code);
    return nullptr;
  });
}

Loop loop_bool(Code code) {
  using T = std::uint8_t;
  switch (code) {
    case Code::Identity:
    case Code::Abs:
    case Code::Sign:
    case Code::Square: return SHARD_UNARY(T, T, x);
    case Code::Not:
    case Code::BitNot: return SHARD_UNARY(T, T, x ^ 1);
    case Code::IsNan:
    case Code::IsInf: return SHARD_UNARY(T, T, (static_cast<void>(x), 0));
    case Code::IsFinite: return SHARD_UNARY(T, T, (static_cast<void>(x), 1));
    case Code::Add:
    case Code::Max:
    case Code::BitOr: return SHARD_BINARY(T, T, x | y);
    case Code::Mul:
    case Code::Min:
    case Code::BitAnd: return SHARD_BINARY(T, T, x & y);
    case Code::BitXor:
    case Code::Ne: return SHARD_BINARY(T, T, x ^ y);
    case Code::Eq: return SHARD_BINARY(T, T, x ^ y ^ 1);
    case Code::Lt: return SHARD_BINARY(T, T, x < y);
    case Code::Le: return SHARD_BINARY(T, T, x <= y);
    case Code::Gt: return SHARD_BINARY(T, T, x > y);
    case Code::Ge: return SHARD_BINARY(T, T, x >= y);
    default: return nullptr;
  }
}

Loop loop_select(DType type) {
  switch (is_narrow(type) ? sizeof(float) : size_of(type)) {
    case 1: return select<std::uint8_t>;
    case 2: return select<std::uint16_t>;
    case 4: return select<std::uint32_t>;
    default: return select<std::uint64_t>;
  }
}

Loop loop_complex(Code code, DType type) {
  switch (type) {
    case DType::C64:
    case DType::C128:
      if (code == Code::Complex) return nullptr;
      break;
    case DType::F8E4M3:
    case DType::F8E5M2:
    case DType::F16:
    case DType::BF16:
    case DType::F32:
    case DType::F64:
      if (code != Code::Complex) return nullptr;
      break;
    default: return nullptr;
  }
  return type == DType::C128 || type == DType::F64 ? loop_of<double>(code) : loop_of<float>(code);
}

}  // namespace shard::runtime::SHARD_ISA
