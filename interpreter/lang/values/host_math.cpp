#include "interpreter/lang/values/host_math.h"

#include <cmath>

#include "runtime/array/shape.h"

namespace shard::lang {
namespace {

using grammar::BinaryOp;
using grammar::UnaryOp;
using runtime::RuntimeError;

[[noreturn]] void overflow(std::int64_t a, const char* sign, std::int64_t b) {
  throw RuntimeError("overflow", std::to_string(a) + " " + sign + " " + std::to_string(b) + " does not fit 64 bits");
}
[[noreturn]] void by_zero(const char* what) { throw RuntimeError("value", std::string(what) + " by zero"); }

std::int64_t floor_div(std::int64_t a, std::int64_t b) {
  if (b == 0) by_zero("division");
  if (b == -1) {
    if (a == INT64_MIN) overflow(a, "//", b);
    return -a;
  }
  std::int64_t q = a / b;
  return q * b != a && (a < 0) != (b < 0) ? q - 1 : q;
}

std::int64_t modulo(std::int64_t a, std::int64_t b) {
  if (b == 0) by_zero("remainder");
  if (b == -1) return 0;
  std::int64_t m = a % b;
  return m != 0 && (m < 0) != (b < 0) ? m + b : m;
}

double modulo(double a, double b) {
  if (b == 0) by_zero("remainder");
  double m = std::fmod(a, b);
  if (m != 0) return (m < 0) != (b < 0) ? m + b : m;
  return std::copysign(0.0, b);
}

double floor_div(double a, double b) {  // CPython's float_floor_div
  if (b == 0) by_zero("division");
  double m = std::fmod(a, b);
  double q = (a - m) / b;
  if (m != 0 && (b < 0) != (m < 0)) q -= 1.0;
  if (q == 0) return std::copysign(0.0, a / b);
  double f = std::floor(q);
  return q - f > 0.5 ? f + 1.0 : f;
}

HostScalar power(std::int64_t a, std::int64_t b) {
  if (b < 0) {
    if (a == 0) by_zero("zero to a negative power: division");
    return std::pow(static_cast<double>(a), static_cast<double>(b));
  }
  std::int64_t result = 1, base = a, e = b;
  while (e > 0) {
    if ((e & 1) && __builtin_mul_overflow(result, base, &result)) overflow(a, "**", b);
    e >>= 1;
    if (e > 0 && __builtin_mul_overflow(base, base, &base)) overflow(a, "**", b);
  }
  return result;
}

HostScalar power(double a, double b) {
  if (a == 0 && b < 0) by_zero("zero to a negative power: division");
  if (a < 0 && std::isfinite(b) && b != std::floor(b))
    throw RuntimeError("value", "a negative number to a fractional power is no real number");
  return std::pow(a, b);
}

bool compares(BinaryOp op) {
  return op == BinaryOp::Lt || op == BinaryOp::Le || op == BinaryOp::Gt || op == BinaryOp::Ge;
}

bool ordered(BinaryOp op, int c) {  // c: -1, 0, 1, or 2 where there is no order
  if (c == 2) return false;
  return op == BinaryOp::Lt ? c < 0 : op == BinaryOp::Le ? c <= 0 : op == BinaryOp::Gt ? c > 0 : c >= 0;
}

template <class T>
HostScalar compared(BinaryOp op, const T& a, const T& b) {
  if (!compares(op)) return {};
  return ordered(op, a < b ? -1 : a == b ? 0 : a > b ? 1 : 2);
}

HostScalar integers(BinaryOp op, std::int64_t a, std::int64_t b) {
  std::int64_t r = 0;
  switch (op) {
    case BinaryOp::Add:
      if (__builtin_add_overflow(a, b, &r)) overflow(a, "+", b);
      return r;
    case BinaryOp::Sub:
      if (__builtin_sub_overflow(a, b, &r)) overflow(a, "-", b);
      return r;
    case BinaryOp::Mul:
      if (__builtin_mul_overflow(a, b, &r)) overflow(a, "*", b);
      return r;
    case BinaryOp::Div:
      if (b == 0) by_zero("division");
      return static_cast<double>(a) / static_cast<double>(b);
    case BinaryOp::FloorDiv: return floor_div(a, b);
    case BinaryOp::Mod: return modulo(a, b);
    case BinaryOp::Pow: return power(a, b);
    case BinaryOp::Eq: return a == b;
    case BinaryOp::Ne: return a != b;
    case BinaryOp::BitOr: return a | b;
    case BinaryOp::BitAnd: return a & b;
    case BinaryOp::Shl:
      if (b < 0) throw RuntimeError("value", "shift by " + std::to_string(b));
      if (a == 0) return a;
      if (b > 62 || (r = static_cast<std::int64_t>(static_cast<std::uint64_t>(a) << b), (r >> b) != a))
        overflow(a, "<<", b);
      return r;
    case BinaryOp::Shr:
      if (b < 0) throw RuntimeError("value", "shift by " + std::to_string(b));
      return a >> (b > 63 ? 63 : b);
    default: return compared(op, a, b);
  }
}

HostScalar floats(BinaryOp op, double a, double b) {
  switch (op) {
    case BinaryOp::Add: return a + b;
    case BinaryOp::Sub: return a - b;
    case BinaryOp::Mul: return a * b;
    case BinaryOp::Div:
      if (b == 0) by_zero("division");
      return a / b;
    case BinaryOp::FloorDiv: return floor_div(a, b);
    case BinaryOp::Mod: return modulo(a, b);
    case BinaryOp::Pow: return power(a, b);
    case BinaryOp::Eq: return a == b;
    case BinaryOp::Ne: return a != b;
    default: return compared(op, a, b);
  }
}

// Orders an integer and a float exactly, where a double cannot hold the integer.
int compare(std::int64_t i, double d) {
  if (std::isnan(d)) return 2;
  if (d >= 9223372036854775808.0) return -1;
  if (d < -9223372036854775808.0) return 1;
  const double whole = std::trunc(d);
  const auto j = static_cast<std::int64_t>(whole);
  if (i != j) return i < j ? -1 : 1;
  return d > whole ? -1 : d < whole ? 1 : 0;
}

// A text n times, as Python's: none where n is not positive.
Value repeated(const std::string& text, std::int64_t n) {
  constexpr std::int64_t kMost = std::int64_t{1} << 28;
  if (n > 0 && static_cast<std::int64_t>(text.size()) > kMost / n)
    throw RuntimeError("value", "a string of " + std::to_string(text.size()) + " bytes " + std::to_string(n) +
                                    " times is longer than a string can be here, 2 ** 28 bytes");
  std::string made;
  for (std::int64_t i = 0; i < n; ++i) made += text;
  return Value::string(std::move(made));
}

}  // namespace

HostScalar scalar_binary(BinaryOp op, const HostScalar& l, const HostScalar& r) {
  const auto *i = std::get_if<std::int64_t>(&l), *j = std::get_if<std::int64_t>(&r);
  if (i && j) return integers(op, *i, *j);
  const auto *x = std::get_if<double>(&l), *y = std::get_if<double>(&r);
  if ((x || i) && (y || j)) {
    if ((i || j) && (compares(op) || op == BinaryOp::Eq || op == BinaryOp::Ne)) {
      const int c = i ? compare(*i, *y) : compare(*j, *x);
      if (!compares(op)) return (c == 0) == (op == BinaryOp::Eq);
      return ordered(op, i || c == 2 ? c : -c);
    }
    return floats(op, x ? *x : static_cast<double>(*i), y ? *y : static_cast<double>(*j));
  }
  if (const auto* a = std::get_if<bool>(&l), *b = std::get_if<bool>(&r); a && b) {
    if (op == BinaryOp::BitAnd) return *a && *b;
    if (op == BinaryOp::BitOr) return *a || *b;
  }
  return {};
}

HostScalar scalar_unary(UnaryOp op, const HostScalar& x) {
  if (auto* i = std::get_if<std::int64_t>(&x)) {
    if (op == UnaryOp::Neg) {
      if (*i == INT64_MIN) throw RuntimeError("overflow", "-(" + std::to_string(*i) + ") does not fit 64 bits");
      return -*i;
    }
    if (op == UnaryOp::Pos) return x;
    if (op == UnaryOp::BitNot) return ~*i;
  }
  if (auto* d = std::get_if<double>(&x)) {
    if (op == UnaryOp::Neg) return -*d;
    if (op == UnaryOp::Pos) return x;
  }
  if (auto* b = std::get_if<bool>(&x); b && (op == UnaryOp::BitNot || op == UnaryOp::Not)) return !*b;
  return {};
}

std::optional<Value> host_binary(BinaryOp op, const Value& l, const Value& r) {
  const auto *i = l.get<std::int64_t>(), *j = r.get<std::int64_t>();
  if (op == BinaryOp::Range && i && j) return Value(Range{*i, *j});
  if (op == BinaryOp::Eq || op == BinaryOp::Ne) {
    if (l.is_tensor() || r.is_tensor()) return std::nullopt;
    return Value(equal(l, r) == (op == BinaryOp::Eq));
  }
  if (const HostScalar out = scalar_binary(op, scalar_in(l), scalar_in(r)); out.index() != 0) return value_of(out);
  if (op == BinaryOp::Mul && l.is_string() && j) return repeated(l.str(), *j);
  if (op == BinaryOp::Mul && i && r.is_string()) return repeated(r.str(), *i);
  if (!l.is_string() || !r.is_string()) return std::nullopt;
  if (op == BinaryOp::Add) return Value::string(l.str() + r.str());
  return compares(op) ? std::optional(value_of(compared(op, l.str(), r.str()))) : std::nullopt;
}

std::optional<Value> host_unary(UnaryOp op, const Value& v) {
  const HostScalar out = scalar_unary(op, scalar_in(v));
  return out.index() ? std::optional(value_of(out)) : std::nullopt;
}

}  // namespace shard::lang
