// Elementwise codes as StableHLO: for most the name in their line of runtime/kernels/codes.h, a few composed here where
// the specification leaves open what ours says (zero divisors, truth values as numbers, floors of integers).
#include <cmath>
#include <cstring>
#include <stdexcept>

#include "interpreter/hlo/writer.h"

namespace shard::hlo {
namespace {

using runtime::Code;

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
  const char* name = runtime::facts(code).hlo;
  if (name && std::strncmp(name, "compare ", 8) == 0) return compare(x, in[1], name + 8);
  const bool unsigned_sign = code == Code::Sign && runtime::is_integer(x.dtype) && !runtime::is_signed(x.dtype);
  if (unsigned_sign) return convert(compare(x, x.number(0), "NE"), x.dtype);
  const bool open = code == Code::Div && runtime::is_integer(x.dtype);
  if (name && !open) return x.to->op(name, in, x.dtype, x.shape);
  return composed(code, in, out);
}

}  // namespace shard::hlo
