// Codes as formulas: their functions of recorded numbers, and what is a single operation whatever the type.
#include <algorithm>
#include <bit>
#include <cmath>
#include <optional>
#include <utility>

#include "runtime/kernels/generated/rare.h"
#include "runtime/kernels/generated/recorded.h"

namespace shard::runtime::generated {
namespace codes {

template <class T>
NodeId node_of(Recorded<T> x) {
  return x.id;
}
inline NodeId node_of(Condition x) { return x.id; }

// The code's function of T where it is one of recorded numbers.
template <class T>
std::optional<NodeId> of(Code code, std::span<const NodeId> operands) {
  const auto at = [&](std::size_t i) { return Recorded<T>(operands[i < operands.size() ? i : 0], 0); };
  [[maybe_unused]] const Recorded<T> x = at(0), y = at(1);
  switch (code) {
#define SHARD_RECORD(code, count, gives, cost, takes, hlo)                                 \
  case Code::code:                                                                         \
    if constexpr (((takes)&kTypes<T>) == 0) {                                              \
    } else if constexpr (count == 1 && requires { code(Recorded<T>{}); }) {                \
      return node_of(code(x));                                                             \
    } else if constexpr (count == 2 && requires { code(Recorded<T>{}, Recorded<T>{}); }) { \
      return node_of(code(x, y));                                                          \
    }                                                                                      \
    break;
    SHARD_CODES(SHARD_RECORD)
#undef SHARD_RECORD
  }
  return std::nullopt;
}

}  // namespace codes
namespace {

Condition opposite(Condition c) {
  const Condition all{writing->add({Op::Constant, Kind::I32, -1, -1, -1, 0xffffffffu, true})};
  return Condition::joined(Op::Xor, c, all);
}

// Of truth values, which are masks.
std::optional<NodeId> of_truth(Code code, std::span<const NodeId> operands) {
  const Condition x{operands[0]}, y{operands[operands.size() > 1 ? 1 : 0]};
  const auto exclusive = [](Condition a, Condition b) { return Condition::joined(Op::Xor, a, b); };
  switch (code) {
    case Code::Abs:
    case Code::Sign:
    case Code::Square:
    case Code::Identity: return x.id;
    case Code::Not:
    case Code::BitNot: return opposite(x).id;
    case Code::Add:
    case Code::Max:
    case Code::BitOr: return (x | y).id;
    case Code::Mul:
    case Code::Min:
    case Code::BitAnd: return (x & y).id;
    case Code::BitXor:
    case Code::Ne: return exclusive(x, y).id;
    case Code::Eq: return opposite(exclusive(x, y)).id;
    case Code::Lt: return (opposite(x) & y).id;
    case Code::Gt: return (opposite(y) & x).id;
    case Code::Le: return (opposite(x) | y).id;
    case Code::Ge: return (opposite(y) | x).id;
    default: return std::nullopt;
  }
}

template <class T>
NodeId one_where(Condition c) {
  return pick(c, Recorded<T>(T{1}), Recorded<T>(T{0})).id;
}

// To zero and clamped, nan to 0. Processors give the least number for all that none is.
I32 cut(F32 x) {
  const I32 whole = I32::made(Op::Whole, x.id), at_most = pick(x < F32(0x1p31f), whole, I32(INT32_MAX));
  return pick(x == x, at_most, I32(0));
}

// The same into a byte; where a lane has no number, 0.
I32 cut(F32 x, float least, float most) {
  const F32 inside = pick(F32(least) < x, pick(x < F32(most), x, F32(most)), F32(least));
  return pick(x == x, I32::made(Op::Whole, inside.id), I32(0));
}
// The lowest byte.
NodeId wrapped(I32 x, DType to) {
  if (to == DType::U8) return (x & I32(0xff)).id;
  return I32::made(Op::Right, I32::made(Op::Left, x.id, -1, -1, 24).id, -1, -1, 24).id;
}

std::optional<NodeId> converted(DType from, DType to, NodeId x) {
  if (from == to || (is_narrow(from) && to == DType::F32)) return x;
  if (is_narrow(from)) from = DType::F32;  // as it is held
  if (from == DType::I8 || from == DType::U8) from = DType::I32;
  if (from == DType::I32 && to == DType::I32) return x;
  const bool to_single = to == DType::F32 || (is_narrow(to) && from != DType::F64 && to != DType::I4);
  if (from == DType::Bool) {
    if (to_single) return one_where<float>({x});
    if (to == DType::F64) return one_where<double>({x});
    if (to == DType::I32) return one_where<std::int32_t>({x});
  } else if (to == DType::Bool) {
    if (from == DType::F32) return (F32(x, 0) != 0.0f).id;
    if (from == DType::F64) return (F64(x, 0) != 0.0).id;
    if (from == DType::I32) return (I32(x, 0) != 0).id;
  } else if (from == DType::F32) {
    if (to_single) return x;
    if (to == DType::F64) return F64::made(Op::Wider, x).id;
    if (to == DType::I32) return cut(F32(x, 0)).id;
    if (to == DType::I8) return cut(F32(x, 0), -128, 127).id;
    if (to == DType::U8) return cut(F32(x, 0), 0, 255).id;
  } else if (from == DType::I32) {
    if (to == DType::I8 || to == DType::U8) return wrapped(I32(x, 0), to);
    if (to_single) return F32::made(Op::Whole, x).id;
    if (to == DType::F64) return F64::made(Op::Whole, x).id;
  } else if (from == DType::F64 && to == DType::F32) {
    return F32::made(Op::Narrower, x).id;
  }
  return std::nullopt;
}

// Quotients of i32, to zero, in f64, which holds both: rounded, their whole part is the same.
I32 quotient(I32 a, I32 b) {
  return I32::made(Op::Whole, (F64::made(Op::Whole, a.id) / F64::made(Op::Whole, b.id)).id);
}

// floor(a / by) for by > 1 that is no power of two: the upper half of a product with 2^(31 + l) / by, rounded up, where
// l bits hold by, and l - 1 bits less. Exact for 0 <= a < 2^31 (Granlund and Montgomery, Division by invariant integers
// using multiplication, 1994); of a < 0 it is the complement of the quotient of the complement.
I32 floor_of_quotient(I32 a, std::uint32_t by) {
  const int l = std::bit_width(by);
  const auto factor = static_cast<std::uint32_t>(((std::uint64_t{1} << (31 + l)) + by - 1) / by);
  const I32 sign = a >> 31;
  const auto places = static_cast<std::uint64_t>(l - 1);
  return I32::made(Op::Upper, (a ^ sign).id, U32(factor).id, -1, places) ^ sign;
}

std::optional<NodeId> by_known(Code code, I32 a, I32 b) {
  const Node& known = writing->at(b.id);
  const auto by = static_cast<std::uint32_t>(known.value);
  if (known.op != Op::Constant || by == 0 || by > INT32_MAX) return std::nullopt;
  const bool to_zero = code == Code::Div;
  if (to_zero) a = a + ((a >> 31) & I32(static_cast<std::int32_t>(by - 1)));
  if (!std::has_single_bit(by)) {
    const I32 q = floor_of_quotient(a, by);
    return code == Code::Mod ? (a - q * b).id : q.id;
  }
  return code == Code::Mod ? (a & I32(static_cast<std::int32_t>(by - 1))).id : (a >> std::countr_zero(by)).id;
}

// Quotients and remainders as loops have them.
std::optional<NodeId> divided(Code code, I32 a, I32 b) {
  if (code != Code::Div && code != Code::FloorDiv && code != Code::Mod) return std::nullopt;
  if (const auto made = by_known(code, a, b)) return made;
  const I32 q = quotient(a, b), r = a - q * b;
  const Condition by_zero = b == I32(0), crosses = ((r ^ b) < I32(0)) & (r != I32(0));
  if (code == Code::Div) return pick(by_zero, I32(-1), q).id;
  if (code == Code::Mod) return pick(by_zero, I32(0), pick(crosses, r + b, r)).id;
  return pick(by_zero, pick(a == I32(0), I32(-1), I32(-2)), pick(crosses, q - I32(1), q)).id;
}

std::optional<NodeId> of_integers(Code code, std::span<const NodeId> operands) {
  const I32 x(operands[0], 0), y(operands[operands.size() > 1 ? 1 : 0], 0);
  switch (code) {
    case Code::Floor:
    case Code::Ceil:
    case Code::Round: return x.id;
    case Code::Abs: return pick(x < I32(0), -x, x).id;
    case Code::Sign: return ((x >> 31) | to_signed(to_unsigned(-x) >> 31)).id;
    case Code::Max: return pick(y < x, x, y).id;
    case Code::Min: return pick(x < y, x, y).id;
    default: return divided(code, x, y);
  }
}

// What is done to the bits of i32; shifts by numbers that are known, as loops have those beyond the ends.
std::optional<NodeId> of_bits(Code code, std::span<const NodeId> operands) {
  const I32 x(operands[0], 0), y(operands[operands.size() > 1 ? 1 : 0], 0);
  const Node& by = writing->at(y.id);
  const bool known = by.op == Op::Constant;
  const auto places = known ? static_cast<std::uint32_t>(by.value) : 0;
  switch (code) {
    case Code::BitNot: return (x ^ I32(-1)).id;
    case Code::BitAnd: return (x & y).id;
    case Code::BitOr: return (x | y).id;
    case Code::BitXor: return (x ^ y).id;
    case Code::Shl:
      if (known) return places < 32 ? (x << static_cast<int>(places)).id : I32(0).id;
      break;
    case Code::Shr:
      if (known) return (x >> static_cast<int>(std::min(places, 31u))).id;
      break;
    default: break;
  }
  return std::nullopt;
}

// A circular function as loops have it: by a formula, where angles are no larger than kAngle.
std::optional<NodeId> circular(Code code, NodeId x) {
  const auto it = std::find_if(kLibrary.begin(), kLibrary.end(), [&](const Library& l) { return l.code == code; });
  if (it == kLibrary.end()) return std::nullopt;
  const F32 size = from_bits(bits(F32(x, 0)) & 0x7fffffffu);
  const NodeId usual = *codes::of<float>(code, {&x, 1});
  return F32::made(Op::Rare, usual, x, size.id, static_cast<std::uint64_t>(it - kLibrary.begin())).id;
}

std::optional<NodeId> recorded(Code code, DType type, DType to, std::span<const NodeId> operands) {
  if (code == Code::Convert) return converted(type, to, operands[0]);
  if (code == Code::Select) {
    const Condition c{operands[0]};
    const std::optional<Kind> kind = kind_of(type);
    if (type == DType::Bool) return ((c & Condition{operands[1]}) | (opposite(c) & Condition{operands[2]})).id;
    if (!kind || size_of(type) == 1) return std::nullopt;  // loops have more bytes at a time
    return writing->add({Op::Pick, *kind, c.as_wide_as(*kind), operands[1], operands[2]});
  }
  switch (type) {
    case DType::Bool: return of_truth(code, operands);
    case DType::F64: return codes::of<double>(code, operands);
    case DType::I32:
      if (const auto made = of_integers(code, operands)) return made;
      if (const auto made = of_bits(code, operands)) return made;
      return codes::of<std::int32_t>(code, operands);
    case DType::F16:
    case DType::BF16:
    case DType::F32:
      if (const auto y = circular(code, operands[0])) return y;
      return codes::of<float>(code, operands);
    default: return std::nullopt;
  }
}

}  // namespace

std::optional<Kind> kind_of(DType type) {
  switch (type) {
    case DType::Bool:
    case DType::I8:
    case DType::U8:
    case DType::I32: return Kind::I32;
    case DType::F16:
    case DType::BF16:
    case DType::F32: return Kind::F32;
    case DType::F64: return Kind::F64;
    default: return std::nullopt;
  }
}

// The bits of 1 / x where that is exact and a normal number; else 0.
template <class T, class Bits>
std::uint64_t inverse_of(std::uint64_t bits) {
  const T x = std::bit_cast<T>(static_cast<Bits>(bits)), inverse = T{1} / x;
  int exponent = 0;
  const bool exact = std::isnormal(x) && std::isnormal(inverse) && std::frexp(std::abs(x), &exponent) == T{0.5};
  return exact ? std::bit_cast<Bits>(inverse) : 0;
}

NodeId Formula::add(const Node& given) {
  Node n = given;
  if (n.op == Op::Div && at(n.b).op == Op::Constant) {
    const Node& by = at(n.b);
    const std::uint64_t inverse =
        n.kind == Kind::F32 ? inverse_of<float, std::uint32_t>(by.value) : inverse_of<double, std::uint64_t>(by.value);
    if (inverse) n = {Op::Mul, n.kind, n.a, add({Op::Constant, n.kind, -1, -1, -1, inverse})};
  }
  if (n.op == Op::Pick && n.kind != Kind::I64 && at(n.a).op == Op::Less &&
      at(n.a).value == static_cast<std::uint64_t>(n.kind)) {  // processors have two of these as one
    const auto [x, y] = std::pair(at(n.a).a, at(n.a).b);
    if (n.b == y && n.c == x) n = {Op::Larger, n.kind, y, x};
    if (n.b == x && n.c == y) n = {Op::Smaller, n.kind, x, y};
  }
  if (n.op == Op::Or && bytes_of(n.kind) == 4 && at(n.a).op == Op::And && at(n.b).op == Op::And && has_avx512()) {
    const Node &x = at(n.a), &y = at(n.b), &chosen = at(x.b), &rest = at(y.b);
    if (chosen.op == Op::Constant && rest.op == Op::Constant && (chosen.value ^ rest.value) == 0xffffffffu)
      n = {Op::Merge, n.kind, x.a, y.a, x.b};
  }
  const auto [it, fresh] = known_.try_emplace(n, static_cast<NodeId>(nodes.size()));
  if (fresh) nodes.push_back(n);
  return it->second;
}

NodeId Formula::stored(NodeId id, bool truth) {
  const Node n = at(id);  // not where it lies: what is added may move it
  if (truth && bytes_of(n.kind) == 8) return add({Op::Narrower, Kind::I32, id, -1, -1, 0, true});
  return n.op == Op::Load ? add({Op::Kept, n.kind, id, -1, -1, 0, n.mask}) : id;
}

NodeId Formula::stored_upper(NodeId id) {
  const Node& n = at(id);
  const bool cut = n.op == Op::And && at(n.b).op == Op::Constant && at(n.b).value == codes::kUpperHalf;
  return cut ? n.a : stored(id, false);
}

std::optional<NodeId> record(Formula& formula, Code code, DType type, DType to, std::span<const NodeId> operands) {
  writing = &formula;
  return recorded(code, type, to, operands);
}

std::optional<NodeId> record_rounding(Formula& formula, DType to, NodeId x) {
  writing = &formula;
  if (to == DType::F16) return F32::made(Op::Half, x).id;
  if (to == DType::BF16 && has_avx512()) return (bits(F32::made(Op::Brain, x)) & codes::kUpperHalf).id;
  if (to == DType::BF16) return codes::rounded_to_bf16(F32(x, 0)).id;
  return std::nullopt;
}

}  // namespace shard::runtime::generated
