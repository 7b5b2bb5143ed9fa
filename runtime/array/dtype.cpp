// Names and sizes of element types, and the promotion lattice. The lattice is JAX's (bool -> weak int -> u8..., i8...
// -> weak float -> bf16, f16 -> f32 -> f64) with JAX's default widths: no operation gives a 64-bit type unless an
// operand has one, so i8 with u32 is i32 and a 64-bit integer with a weak float is a weak f32.
#include "runtime/array/dtype.h"

#include <array>
#include <cmath>

namespace shard::runtime {
namespace {

struct Row {
  std::string_view name;
  std::uint8_t size;
  std::int8_t fraction = 0, exponent = 0;  // bits, of floats
  bool finite = false;  // no infinities: the largest exponent has numbers, all but the last one, which is nan
};
constexpr std::array<Row, kDTypes> kRows{{{"bool", 1},
                                          {"i8", 1},
                                          {"i16", 2},
                                          {"i32", 4},
                                          {"i64", 8},
                                          {"u8", 1},
                                          {"u16", 2},
                                          {"u32", 4},
                                          {"u64", 8},
                                          {"f16", 2, 10, 5},
                                          {"bf16", 2, 7, 8},
                                          {"f32", 4, 23, 8},
                                          {"f64", 8, 52, 11},
                                          {"key", 8},
                                          {"c64", 8},
                                          {"c128", 16},
                                          {"f8_e4m3fn", 1, 3, 4, true},
                                          {"f8_e5m2", 1, 2, 5},
                                          {"i4", 1}}};

constexpr Kind kWeakFloat{DType::F32, true};
constexpr Kind kWeakInt{DType::I32, true};

DType signed_of(std::size_t size) {
  return size == 1 ? DType::I8 : size == 2 ? DType::I16 : size == 4 ? DType::I32 : DType::I64;
}

// Two strong integer types (neither bool).
Kind promote_integers(DType a, DType b) {
  if (is_signed(a) == is_signed(b)) return {size_of(a) >= size_of(b) ? a : b, false};
  const DType s = is_signed(a) ? a : b, u = is_signed(a) ? b : a;
  if (u == DType::U64) return kWeakFloat;  // no integer type holds both: JAX's lattice goes on to its weak float
  if (size_of(s) > size_of(u)) return {s, false};
  const DType wide = signed_of(size_of(u) * 2);
  const bool asked = s == DType::I64;  // 64 bits only where an operand has them
  return {wide == DType::I64 && !asked ? DType::I32 : wide, false};
}

// 8-bit floats and i4 are for keeping numbers: they meet numbers without a width of their own, and nothing else.
bool is_stored(DType t) { return t == DType::I4 || (is_float(t) && size_of(t) == 1); }
std::optional<Kind> promote_stored(Kind stored, Kind other) {
  const bool fits = stored.dtype == DType::I4 ? other.weak && is_integer(other.dtype)
                                              : is_integer(other.dtype) || (other.weak && is_float(other.dtype));
  return fits && !is_stored(other.dtype) ? std::optional<Kind>(stored) : std::nullopt;
}

// At least one is complex: as wide as the wider of their parts; integers and weak numbers have no say in that.
Kind promote_complex(Kind a, Kind b) {
  const auto wide = [](Kind k) { return !k.weak && (k.dtype == DType::F64 || k.dtype == DType::C128); };
  const auto gives_way = [](Kind k) { return k.weak || !is_inexact(k.dtype); };
  return {wide(a) || wide(b) ? DType::C128 : DType::C64, gives_way(a) && gives_way(b)};
}

DType promote_floats(DType a, DType b) {
  if (a == b) return a;
  if (size_of(a) == 2 && size_of(b) == 2) return DType::F32;  // f16 with bf16
  return size_of(a) > size_of(b) ? a : b;
}

}  // namespace

std::string_view name(DType t) { return kRows[static_cast<std::size_t>(t)].name; }
std::size_t size_of(DType t) { return kRows[static_cast<std::size_t>(t)].size; }

std::optional<DType> dtype_named(std::string_view wanted) {
  for (std::size_t i = 0; i < kRows.size(); ++i)
    if (kRows[i].name == wanted) return static_cast<DType>(i);
  return std::nullopt;
}

std::optional<FloatForm> float_form(DType t) {
  const Row& row = kRows[static_cast<std::size_t>(t)];
  if (row.exponent == 0) return std::nullopt;
  const int bias = (1 << (row.exponent - 1)) - 1, high = row.finite ? bias + 1 : bias;
  const double eps = std::ldexp(1.0, -row.fraction);
  return FloatForm{row.fraction, 1 - bias, high, std::ldexp(2 - (row.finite ? 2 * eps : eps), high)};
}

int bits_of(DType t) { return t == DType::I4 ? 4 : static_cast<int>(size_of(t)) * 8; }
bool is_float(DType t) { return kRows[static_cast<std::size_t>(t)].exponent > 0; }
bool is_narrow(DType t) { return is_float(t) && size_of(t) < 4; }
bool is_complex(DType t) { return t == DType::C64 || t == DType::C128; }
bool is_inexact(DType t) { return is_float(t) || is_complex(t); }
DType part_of(DType complex) { return complex == DType::C128 ? DType::F64 : DType::F32; }
DType complex_of(DType part) { return part == DType::F64 ? DType::C128 : DType::C64; }
bool is_integer(DType t) { return (t >= DType::I8 && t <= DType::U64) || t == DType::I4; }
bool is_signed(DType t) { return (t >= DType::I8 && t <= DType::I64) || t == DType::I4; }
bool is_number(DType t) { return t != DType::Key; }

std::optional<Kind> promote(Kind a, Kind b) {
  if (a == b) return a;
  if (!is_number(a.dtype) || !is_number(b.dtype)) return std::nullopt;
  if (a.dtype == b.dtype) return Kind{a.dtype, a.weak && b.weak};
  if (a.dtype == DType::Bool) return b;
  if (b.dtype == DType::Bool) return a;
  if (is_stored(a.dtype)) return promote_stored(a, b);
  if (is_stored(b.dtype)) return promote_stored(b, a);
  if (is_complex(a.dtype) || is_complex(b.dtype)) return promote_complex(a, b);
  const bool fa = is_float(a.dtype), fb = is_float(b.dtype);
  if (!fa && !fb) {
    if (a.weak != b.weak) return a.weak ? b : a;
    return a.weak ? std::optional<Kind>(kWeakInt) : promote_integers(a.dtype, b.dtype);
  }
  if (fa != fb) return fa ? a : b;  // a weak float stays weak: it stands above every integer
  if (a.weak != b.weak) return a.weak ? b : a;
  return Kind{promote_floats(a.dtype, b.dtype), a.weak};
}

DType to_inexact(DType t) { return is_inexact(t) ? t : DType::F32; }

}  // namespace shard::runtime
