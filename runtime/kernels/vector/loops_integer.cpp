// Loops of the elementwise codes over integers, truth values (bytes 0 and 1) and, for moving only, keys. Integers wrap:
// sums and products are formed in unsigned arithmetic. Nothing here traps: a quotient by zero has all bits set, as XLA
// has it, rounding it down gives jax.numpy's -2 (-1 for 0 // 0), and a remainder by zero is 0; shifts by the width or
// more (or by a negative count) shift everything out.
#include "runtime/kernels/vector/common.h"

namespace shard::runtime::SHARD_ISA {
namespace {

template <class T>
struct Wide {
  using type = std::uint32_t;
};  // unsigned, and not promoted to int
template <>
struct Wide<std::int64_t> {
  using type = std::uint64_t;
};
template <>
struct Wide<std::uint64_t> {
  using type = std::uint64_t;
};
template <class T>
using U = typename Wide<T>::type;
template <class T>
inline constexpr bool kSigned = static_cast<T>(-1) < static_cast<T>(1);
template <class T>
inline constexpr T kLowest = kSigned<T> ? static_cast<T>(U<T>{1} << (sizeof(T) * 8 - 1)) : T{0};

template <class T>
SHARD_LOOP T wrap(U<T> x) {
  return static_cast<T>(x);
}
template <class T>
SHARD_LOOP T quotient(T x, T y) {
  if (y == 0) return static_cast<T>(-1);
  if (kSigned<T> && y == static_cast<T>(-1)) return wrap<T>(U<T>{0} - static_cast<U<T>>(x));
  return static_cast<T>(x / y);
}
template <class T>
SHARD_LOOP T remainder(T x, T y) {
  if (y == 0) return x;
  if (kSigned<T> && y == static_cast<T>(-1)) return 0;
  return static_cast<T>(x % y);
}
template <class T>
SHARD_LOOP T floor_quotient(T x, T y) {
  const T q = quotient(x, y), r = remainder(x, y);
  if (y == 0) return kSigned<T> && x != 0 ? static_cast<T>(-2) : q;
  return r != 0 && (r < 0) != (y < 0) ? static_cast<T>(q - 1) : q;
}
template <class T>
SHARD_LOOP T modulo(T x, T y) {
  if (y == 0) return 0;
  const T r = remainder(x, y);
  return r != 0 && (r < 0) != (y < 0) ? static_cast<T>(r + y) : r;
}
// By squaring, wrapping; a negative power is the truncated quotient (0 but for 1 and -1).
template <class T>
SHARD_LOOP T power(T x, T y) {
  if (y < 0) return x == 1 ? T{1} : x == static_cast<T>(-1) ? (y % 2 == 0 ? T{1} : x) : T{0};
  U<T> base = static_cast<U<T>>(x), result = 1;
  for (U<T> e = static_cast<U<T>>(y); e != 0; e >>= 1) {
    if (e & 1) result *= base;
    base *= base;
  }
  return wrap<T>(result);
}
template <class T>
SHARD_LOOP T left(T x, T y) {
  const U<T> s = static_cast<U<T>>(y);
  return s < sizeof(T) * 8 ? wrap<T>(static_cast<U<T>>(x) << (s & (sizeof(U<T>) * 8 - 1))) : T{0};
}
template <class T>
SHARD_LOOP T right(T x, T y) {
  const U<T> s = static_cast<U<T>>(y), last = sizeof(T) * 8 - 1;
  if (kSigned<T>) return static_cast<T>(x >> (s < last ? s : last));
  return s <= last ? static_cast<T>(x >> (s & last)) : T{0};
}

#define I1(expression) SHARD_UNARY(T, T, static_cast<T>(expression))
#define I2(expression) SHARD_BINARY(T, T, static_cast<T>(expression))
#define T1(expression) SHARD_UNARY(T, std::uint8_t, expression)
#define T2(expression) SHARD_BINARY(T, std::uint8_t, expression)

template <class T>
Loop integer(Code code) {
  switch (code) {
    case Code::Neg: return I1(wrap<T>(U<T>{0} - static_cast<U<T>>(x)));
    case Code::Abs: return I1(x < 0 ? wrap<T>(U<T>{0} - static_cast<U<T>>(x)) : x);
    case Code::Sign: return I1((x > 0) - (x < 0));
    case Code::Square: return I1(wrap<T>(static_cast<U<T>>(x) * static_cast<U<T>>(x)));
    case Code::BitNot: return I1(~x);
    case Code::Floor:
    case Code::Ceil:
    case Code::Round:
    case Code::Identity: return I1(x);
    case Code::Reciprocal: return I1(quotient<T>(1, x));
    case Code::Not: return T1(x == 0);
    case Code::IsNan:
    case Code::IsInf: return T1((static_cast<void>(x), 0));
    case Code::IsFinite: return T1((static_cast<void>(x), 1));
    case Code::Add: return I2(wrap<T>(static_cast<U<T>>(x) + static_cast<U<T>>(y)));
    case Code::Sub: return I2(wrap<T>(static_cast<U<T>>(x) - static_cast<U<T>>(y)));
    case Code::Mul: return I2(wrap<T>(static_cast<U<T>>(x) * static_cast<U<T>>(y)));
    case Code::Div: return I2(quotient(x, y));
    case Code::FloorDiv: return I2(floor_quotient(x, y));
    case Code::Mod: return I2(modulo(x, y));
    case Code::Pow: return I2(power(x, y));
    case Code::Max: return I2(x > y ? x : y);
    case Code::Min: return I2(x < y ? x : y);
    case Code::BitAnd: return I2(x & y);
    case Code::BitOr: return I2(x | y);
    case Code::BitXor: return I2(x ^ y);
    case Code::Shl: return I2(left(x, y));
    case Code::Shr: return I2(right(x, y));
    case Code::Eq: return T2(x == y);
    case Code::Ne: return T2(x != y);
    case Code::Lt: return T2(x < y);
    case Code::Le: return T2(x <= y);
    case Code::Gt: return T2(x > y);
    case Code::Ge: return T2(x >= y);
    default: return nullptr;
  }
}

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

}  // namespace

Loop loop_integer(Code code, DType type) {
  switch (type) {
    case DType::I8: return integer<std::int8_t>(code);
    case DType::I16: return integer<std::int16_t>(code);
    case DType::I32: return integer<std::int32_t>(code);
    case DType::I64: return integer<std::int64_t>(code);
    case DType::U8: return integer<std::uint8_t>(code);
    case DType::U16: return integer<std::uint16_t>(code);
    case DType::U32: return integer<std::uint32_t>(code);
    case DType::U64: return integer<std::uint64_t>(code);
    case DType::Key:
      return code == Code::Identity || code == Code::Eq || code == Code::Ne ? integer<std::uint64_t>(code) : nullptr;
    default: return nullptr;
  }
}

Loop loop_bool(Code code) {
  using T = std::uint8_t;
  switch (code) {
    case Code::Identity:
    case Code::Abs:
    case Code::Sign:
    case Code::Square: return I1(x);
    case Code::Not:
    case Code::BitNot: return I1(x ^ 1);
    case Code::IsNan:
    case Code::IsInf: return T1((static_cast<void>(x), 0));
    case Code::IsFinite: return T1((static_cast<void>(x), 1));
    case Code::Add:
    case Code::Max:
    case Code::BitOr: return I2(x | y);
    case Code::Mul:
    case Code::Min:
    case Code::BitAnd: return I2(x & y);
    case Code::BitXor:
    case Code::Ne: return I2(x ^ y);
    case Code::Eq: return I2(x ^ y ^ 1);
    case Code::Lt: return I2(x < y);
    case Code::Le: return I2(x <= y);
    case Code::Gt: return I2(x > y);
    case Code::Ge: return I2(x >= y);
    default: return nullptr;
  }
}

Loop loop_select(DType type) {
  switch (type) {
    case DType::F8E4M3:
    case DType::F8E5M2:
    case DType::F16:
    case DType::BF16: return select<std::uint32_t>;  // held as f32
    default: break;
  }
  switch (size_of(type)) {
    case 1: return select<std::uint8_t>;
    case 2: return select<std::uint16_t>;
    case 4: return select<std::uint32_t>;
    default: return select<std::uint64_t>;
  }
}

}  // namespace shard::runtime::SHARD_ISA
