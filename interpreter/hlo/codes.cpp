// THE table from elementwise codes (runtime/kernels/codes.h) to StableHLO: one name for most, a few composed where the
// specification leaves open what ours says (zero divisors, truth values as numbers, floors of integers). CHLO's names
// are those that every engine expands the same way.
#include <cmath>
#include <stdexcept>

#include "interpreter/hlo/writer.h"

namespace shard::hlo {
namespace {

using runtime::Code;

// One operation that takes and gives one type; null where the code is composed below.
const char* one_to_one(Code code) {
  switch (code) {
    case Code::Neg: return "stablehlo.negate";
    case Code::Abs: return "stablehlo.abs";
    case Code::Sign: return "stablehlo.sign";
    case Code::Sqrt: return "stablehlo.sqrt";
    case Code::Rsqrt: return "stablehlo.rsqrt";
    case Code::Cbrt: return "stablehlo.cbrt";
    case Code::Exp: return "stablehlo.exponential";
    case Code::Expm1: return "stablehlo.exponential_minus_one";
    case Code::Log: return "stablehlo.log";
    case Code::Log1p: return "stablehlo.log_plus_one";
    case Code::Sin: return "stablehlo.sine";
    case Code::Cos: return "stablehlo.cosine";
    case Code::Tan: return "stablehlo.tan";
    case Code::Asin: return "chlo.asin";
    case Code::Acos: return "chlo.acos";
    case Code::Atan: return "chlo.atan";
    case Code::Sinh: return "chlo.sinh";
    case Code::Cosh: return "chlo.cosh";
    case Code::Tanh: return "stablehlo.tanh";
    case Code::Asinh: return "chlo.asinh";
    case Code::Acosh: return "chlo.acosh";
    case Code::Atanh: return "chlo.atanh";
    case Code::Sigmoid: return "stablehlo.logistic";
    case Code::Erf: return "chlo.erf";
    case Code::ErfInv: return "chlo.erf_inv";
    case Code::Erfc: return "chlo.erfc";
    case Code::Lgamma: return "chlo.lgamma";
    case Code::Digamma: return "chlo.digamma";
    case Code::Floor: return "stablehlo.floor";
    case Code::Ceil: return "stablehlo.ceil";
    case Code::Round: return "stablehlo.round_nearest_even";
    case Code::BitNot: return "stablehlo.not";
    case Code::Add: return "stablehlo.add";
    case Code::Sub: return "stablehlo.subtract";
    case Code::Mul: return "stablehlo.multiply";
    case Code::Div: return "stablehlo.divide";
    case Code::Pow: return "stablehlo.power";
    case Code::Max: return "stablehlo.maximum";
    case Code::Min: return "stablehlo.minimum";
    case Code::Atan2: return "stablehlo.atan2";
    case Code::BitAnd: return "stablehlo.and";
    case Code::BitOr: return "stablehlo.or";
    case Code::BitXor: return "stablehlo.xor";
    case Code::Shl: return "stablehlo.shift_left";
    default: return nullptr;
  }
}

const char* direction(Code code) {
  switch (code) {
    case Code::Eq: return "EQ";
    case Code::Ne: return "NE";
    case Code::Lt: return "LT";
    case Code::Le: return "LE";
    case Code::Gt: return "GT";
    case Code::Ge: return "GE";
    default: return nullptr;
  }
}

Value truth(const Value& x, bool value) { return x.to->constant(DType::Bool, x.shape, value); }

// x by y for integers: -1 by 0, and no quotient that does not exist is asked for.
Value quotient(const Value& x, const Value& y) {
  const Value zero = compare(y, y.number(0), "EQ");
  return select(zero, x.to->integer(x.dtype, x.shape, -1), x / select(zero, y.number(1), y));
}

// Whether a remainder that is not 0 has the other sign than the divisor.
Value crosses(const Value& r, const Value& y) {
  const Value apart = compare(less(r, 0), less(y, 0), "NE");
  return both(apart, compare(r, r.number(0), "NE"));
}

Value floor_quotient(const Value& x, const Value& y) {
  if (runtime::is_float(x.dtype)) {
    const Value r = binary("remainder", x, y), q = (x - r) / y;
    const Value down = unary("round_nearest_even", select(crosses(r, y), q - 1, q));
    return select(compare(y, y.number(0), "EQ"), x / y, down);
  }
  const Value zero = compare(y, y.number(0), "EQ"), by = select(zero, y.number(1), y);
  const Value q = x / by, none = x.to->integer(x.dtype, x.shape, -1);
  if (!runtime::is_signed(x.dtype)) return select(zero, none, q);
  const Value down = select(crosses(binary("remainder", x, by), by), q - 1, q);
  return select(zero, select(compare(x, x.number(0), "EQ"), none, none - 1), down);
}

Value modulo(const Value& x, const Value& y) {
  if (runtime::is_float(x.dtype)) {
    const Value r = binary("remainder", x, y);
    return select(crosses(r, y), r + y, r);
  }
  const Value zero = compare(y, y.number(0), "EQ"), by = select(zero, y.number(1), y);
  const Value r = binary("remainder", x, by);
  return select(zero, y, runtime::is_signed(x.dtype) ? select(crosses(r, by), r + by, r) : r);
}

Value composed(Code code, std::span<const Value> in, DType out) {
  const Value& x = in[0];
  const bool floats = runtime::is_float(x.dtype);
  switch (code) {
    case Code::Identity: return x;
    case Code::Square: return x * x;
    case Code::Reciprocal: return floats ? x.number(1) / x : quotient(x.number(1), x);
    case Code::Not: return compare(x, x.number(0), "EQ");
    case Code::IsNan: return floats ? compare(x, x, "NE") : truth(x, false);
    case Code::IsFinite: return floats ? unary("is_finite", x) : truth(x, true);
    case Code::IsInf: {
      if (!floats) return truth(x, false);
      const Value size = unary("abs", x);
      return compare(size, size.number(HUGE_VAL), "EQ");
    }
    case Code::Div: return quotient(x, in[1]);
    case Code::FloorDiv: return floor_quotient(x, in[1]);
    case Code::Mod: return modulo(x, in[1]);
    case Code::Shr:
      return binary(runtime::is_signed(x.dtype) ? "shift_right_arithmetic" : "shift_right_logical", x, in[1]);
    case Code::Select: return select(x, in[1], in[2]);
    case Code::Convert: return convert(x, out);
    case Code::Real: return x.to->op("stablehlo.real", in, out, x.shape);
    case Code::Imag: return x.to->op("stablehlo.imag", in, out, x.shape);
    case Code::Complex: return x.to->op("stablehlo.complex", in, out, x.shape);
    case Code::Trigamma: return x.to->op("chlo.polygamma", {x.number(1), x}, x.dtype, x.shape);
    default: throw std::logic_error(std::string("no StableHLO is written for the code ") + runtime::facts(code).name);
  }
}

// What a code does to whole numbers and truth values that has no operation of its own.
bool nothing_to_do(Code code, DType t) {
  const bool rounds = code == Code::Floor || code == Code::Ceil || code == Code::Round;
  const bool sizes = code == Code::Abs || code == Code::Sign || code == Code::Square;
  return (rounds && !runtime::is_float(t)) || (sizes && t == DType::Bool) ||
         (code == Code::Abs && runtime::is_integer(t) && !runtime::is_signed(t));
}

}  // namespace

Value of_code(Code code, std::span<const Value> in, DType out) {
  const Value& x = in[0];
  if (nothing_to_do(code, x.dtype)) return x;
  if (const char* how = direction(code)) return compare(x, in[1], how);
  const bool unsigned_sign = code == Code::Sign && runtime::is_integer(x.dtype) && !runtime::is_signed(x.dtype);
  if (unsigned_sign) return convert(compare(x, x.number(0), "NE"), x.dtype);
  const bool open = code == Code::Div && runtime::is_integer(x.dtype);
  if (const char* name = open ? nullptr : one_to_one(code)) return x.to->op(name, in, x.dtype, x.shape);
  return composed(code, in, out);
}

}  // namespace shard::hlo
