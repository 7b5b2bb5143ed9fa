// Numbers that write down what is done to them: the functions of the codes, called with these, give formulas.
#pragma once
#define SHARD_ISA generated  // the vector code's functions, compiled for these numbers
#include <cstdint>
#include <type_traits>

#include "runtime/kernels/generated/formula.h"
#include "runtime/kernels/vector/functions.h"

namespace shard::runtime::generated {

template <class T>
inline constexpr Kind kKind = std::is_same_v<T, float>    ? Kind::F32
                              : std::is_same_v<T, double> ? Kind::F64
                              : sizeof(T) == 8            ? Kind::I64
                                                          : Kind::I32;

// The formula that is being written in this thread.
inline thread_local Formula* writing = nullptr;

struct Condition {
  NodeId id;
  // The same of lanes as wide as those of `kind`.
  NodeId as_wide_as(Kind kind) const {
    const std::size_t here = bytes_of(writing->at(id).kind), there = bytes_of(kind);
    if (here == there) return id;
    return writing->add(
        {here < there ? Op::Wider : Op::Narrower, there == 8 ? Kind::I64 : Kind::I32, id, -1, -1, 0, true});
  }
  static Condition joined(Op op, Condition x, Condition y) {
    const Kind kind = writing->at(x.id).kind;
    return {writing->add({op, kind, x.id, y.as_wide_as(kind), -1, 0, true})};
  }
  friend Condition operator&(Condition x, Condition y) { return joined(Op::And, x, y); }
  friend Condition operator|(Condition x, Condition y) { return joined(Op::Or, x, y); }
};

template <class T>
struct Recorded {
  NodeId id;
  Recorded() : Recorded(T{}) {}
  Recorded(T value) {
    std::uint64_t bits = 0;
    __builtin_memcpy(&bits, &value, sizeof value);
    id = writing->add({Op::Constant, kKind<T>, -1, -1, -1, bits});
  }
  explicit Recorded(NodeId node, int) : id(node) {}
  template <class S>
  requires(sizeof(S) == sizeof(T) && std::is_integral_v<S> &&
           std::is_integral_v<T>) explicit Recorded(Recorded<S> other)
      : id(other.id) {}

  static Recorded made(Op op, NodeId a, NodeId b = -1, NodeId c = -1, std::uint64_t value = 0) {
    return Recorded(writing->add({op, kKind<T>, a, b, c, value}), 0);
  }
  static Condition seen(Op op, NodeId a, NodeId b) {
    const auto compared = static_cast<std::uint64_t>(kKind<T>);
    return {writing->add({op, sizeof(T) == 8 ? Kind::I64 : Kind::I32, a, b, -1, compared, true})};
  }
  friend Recorded operator+(Recorded x, Recorded y) { return made(Op::Add, x.id, y.id); }
  friend Recorded operator-(Recorded x, Recorded y) { return made(Op::Sub, x.id, y.id); }
  friend Recorded operator*(Recorded x, Recorded y) requires(!std::is_integral_v<T> || sizeof(T) == 4) {
    return made(Op::Mul, x.id, y.id);
  }
  friend Recorded operator/(Recorded x, Recorded y) requires std::is_floating_point_v<T> {
    return made(Op::Div, x.id, y.id);
  }
  friend Recorded operator&(Recorded x, Recorded y) { return made(Op::And, x.id, y.id); }
  friend Recorded operator|(Recorded x, Recorded y) { return made(Op::Or, x.id, y.id); }
  friend Recorded operator^(Recorded x, Recorded y) { return made(Op::Xor, x.id, y.id); }
  friend Recorded operator<<(Recorded x, int by) {
    return made(Op::Left, x.id, -1, -1, static_cast<std::uint64_t>(by));
  }
  friend Recorded operator>>(Recorded x, int by) {
    return made(std::is_signed_v<T> ? Op::Right : Op::Down, x.id, -1, -1, static_cast<std::uint64_t>(by));
  }
  friend Recorded operator-(Recorded x) {
    if constexpr (std::is_floating_point_v<T>)  // the sign alone, of nan too
      return made(Op::Xor, x.id, Recorded(T{-0.0}).id);
    else
      return Recorded(T{0}) - x;
  }
  friend Condition operator<(Recorded x, Recorded y) requires(std::is_signed_v<T>) {
    return seen(Op::Less, x.id, y.id);
  }
  friend Condition operator<=(Recorded x, Recorded y) requires(std::is_signed_v<T>) {
    return seen(Op::AtMost, x.id, y.id);
  }
  friend Condition operator>(Recorded x, Recorded y) requires(std::is_signed_v<T>) { return y < x; }
  friend Condition operator>=(Recorded x, Recorded y) requires(std::is_signed_v<T>) { return y <= x; }
  friend Condition operator==(Recorded x, Recorded y) { return seen(Op::Equal, x.id, y.id); }
  friend Condition operator!=(Recorded x, Recorded y) { return seen(Op::Differs, x.id, y.id); }
  friend Recorded pick(Condition c, Recorded x, Recorded y) {
    return made(Op::Pick, c.as_wide_as(kKind<T>), x.id, y.id);
  }
};

using F32 = Recorded<float>;
using F64 = Recorded<double>;
using I32 = Recorded<std::int32_t>;
using U32 = Recorded<std::uint32_t>;
using U64 = Recorded<std::uint64_t>;
inline U32 bits(F32 x) { return U32(x.id, 0); }
inline F32 from_bits(U32 u) { return F32(u.id, 0); }
inline I32 to_signed(U32 u) { return I32(u); }
inline U32 to_unsigned(I32 i) { return U32(i); }
inline F32 to_float(I32 i) { return F32::made(Op::Whole, i.id); }
inline F64 widened(F32 x) { return F64::made(Op::Wider, x.id); }
inline F32 narrowed(F64 x) { return F32::made(Op::Narrower, x.id); }
inline U64 wide_bits(F64 x) { return U64(x.id, 0); }
inline F64 from_wide_bits(U64 u) { return F64(u.id, 0); }
inline U32 low_bits(F64 x) { return U32::made(Op::Narrower, x.id); }
inline F64 magnitude(F64 x) { return F64::made(Op::And, x.id, Recorded<std::uint64_t>(~std::uint64_t{0} >> 1).id); }
inline F32 fused(F32 x, F32 y, F32 z) { return F32::made(Op::Fused, x.id, y.id, z.id); }
template <class T>
Recorded<T> root(Recorded<T> x) {
  return Recorded<T>::made(Op::Root, x.id);
}
template <class T>
concept FloatingPoint = std::is_floating_point_v<T>;
template <FloatingPoint T>
Recorded<T> Sqrt(Recorded<T> x) {
  return root(x);
}
template <FloatingPoint T>
Recorded<T> Floor(Recorded<T> x) {
  return Recorded<T>::made(Op::Floor, x.id);
}
template <FloatingPoint T>
Recorded<T> Ceil(Recorded<T> x) {
  return Recorded<T>::made(Op::Ceil, x.id);
}
template <FloatingPoint T>
Recorded<T> Round(Recorded<T> x) {
  return Recorded<T>::made(Op::Round, x.id);
}

namespace codes {

template <class T>
inline constexpr bool kWhole<Recorded<T>> = kWhole<T>;
template <class T>
struct Unsigned<Recorded<T>> {
  using type = Recorded<U<T>>;
};

}  // namespace codes

// AVX-512 has it as one instruction, with the same bits.
inline F32 scaled(F32 x, F32 whole, U32 biased) {
  if (has_avx512()) return F32::made(Op::Scale, x.id, whole.id);
  return codes::scaled<F32>(x, whole, biased);
}

}  // namespace shard::runtime::generated
