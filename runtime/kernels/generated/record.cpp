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

std::optional<NodeId> converted(DType from, DType to, NodeId x) {
  if (from == to || (is_narrow(from) && to == DType::F32)) return x;
  if (is_narrow(from)) from = DType::F32;  // as it is held
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
  } else if (from == DType::I32) {
    if (to_single) return F32::made(Op::Whole, x).id;
    if (to == DType::F64) return F64::made(Op::Whole, x).id;
  } else if (from == DType::F64 && to == DType::F32) {
    return F32::made(Op::Narrower, x).id;
  }
  return std::nullopt;
}

// Quotients and remainders of i32 by a number that is known, in f64, which holds both: with y = 1 / b, rounded, the
// whole part of (a + 0.5) y is that of a / b, since a + 0.5 is at least half from a multiple of b and two roundings
// move it by less than 2^-20 of that. A half of b's sign rounds down, one of a's to 0.
std::optional<NodeId> by_known(Code code, NodeId a, NodeId b) {
  const bool to_zero = code == Code::Div;
  const auto by = static_cast<std::int32_t>(writing->at(b).value);
  if ((!to_zero && code != Code::FloorDiv && code != Code::Mod) || writing->at(b).op != Op::Constant || by == 0)
    return std::nullopt;
  if (!to_zero && std::has_single_bit(static_cast<std::uint32_t>(by)) && by > 0)
    return code == Code::Mod ? (I32(a, 0) & I32(by - 1)).id
                             : (I32(a, 0) >> std::countr_zero(static_cast<std::uint32_t>(by))).id;
  const F64 x = F64::made(Op::Whole, a);
  const F64 half =
      to_zero ? F64::made(Op::Or, F64(0.5).id, F64::made(Op::And, x.id, F64(-0.0).id).id) : F64(by < 0 ? -0.5 : 0.5);
  const F64 q = (x + half) * F64(1.0 / by);
  const I32 whole = I32::made(Op::Whole, q.id, -1, -1, to_zero ? 0 : 1);
  return code == Code::Mod ? (I32(a, 0) - whole * I32(b, 0)).id : whole.id;
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
    if (!kind) return std::nullopt;
    return writing->add({Op::Pick, *kind, c.as_wide_as(*kind), operands[1], operands[2]});
  }
  switch (type) {
    case DType::Bool: return of_truth(code, operands);
    case DType::F64: return codes::of<double>(code, operands);
    case DType::I32:
      if (operands.size() == 2)
        if (const auto quotient = by_known(code, operands[0], operands[1])) return quotient;
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
  if (to == DType::BF16) return codes::rounded_to_bf16(F32(x, 0)).id;
  return std::nullopt;
}

}  // namespace shard::runtime::generated
