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

Value power(std::int64_t a, std::int64_t b) {
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

Value power(double a, double b) {
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
std::optional<Value> compared(BinaryOp op, const T& a, const T& b) {
  if (!compares(op)) return std::nullopt;
  return Value(ordered(op, a < b ? -1 : a == b ? 0 : a > b ? 1 : 2));
}

std::optional<Value> integers(BinaryOp op, std::int64_t a, std::int64_t b) {
  std::int64_t r = 0;
  switch (op) {
    case BinaryOp::Add:
      if (__builtin_add_overflow(a, b, &r)) overflow(a, "+", b);
      return Value(r);
    case BinaryOp::Sub:
      if (__builtin_sub_overflow(a, b, &r)) overflow(a, "-", b);
      return Value(r);
    case BinaryOp::Mul:
      if (__builtin_mul_overflow(a, b, &r)) overflow(a, "*", b);
      return Value(r);
    case BinaryOp::Div:
      if (b == 0) by_zero("division");
      return Value(static_cast<double>(a) / static_cast<double>(b));
    case BinaryOp::FloorDiv: return Value(floor_div(a, b));
    case BinaryOp::Mod: return Value(modulo(a, b));
    case BinaryOp::Pow: return power(a, b);
    case BinaryOp::Eq: return Value(a == b);
    case BinaryOp::Ne: return Value(a != b);
    case BinaryOp::BitOr: return Value(a | b);
    case BinaryOp::BitAnd: return Value(a & b);
    case BinaryOp::Shl:
      if (b < 0) throw RuntimeError("value", "shift by " + std::to_string(b));
      if (a == 0) return Value(a);
      if (b > 62 || (r = static_cast<std::int64_t>(static_cast<std::uint64_t>(a) << b), (r >> b) != a))
        overflow(a, "<<", b);
      return Value(r);
    case BinaryOp::Shr:
      if (b < 0) throw RuntimeError("value", "shift by " + std::to_string(b));
      return Value(a >> (b > 63 ? 63 : b));
    case BinaryOp::Range: return Value(Range{a, b});
    default: return compared(op, a, b);
  }
}

std::optional<Value> floats(BinaryOp op, double a, double b) {
  switch (op) {
    case BinaryOp::Add: return Value(a + b);
    case BinaryOp::Sub: return Value(a - b);
    case BinaryOp::Mul: return Value(a * b);
    case BinaryOp::Div:
      if (b == 0) by_zero("division");
      return Value(a / b);
    case BinaryOp::FloorDiv: return Value(floor_div(a, b));
    case BinaryOp::Mod: return Value(modulo(a, b));
    case BinaryOp::Pow: return power(a, b);
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

std::optional<Value> host_binary(BinaryOp op, const Value& l, const Value& r) {
  auto *i = l.get<std::int64_t>(), *j = r.get<std::int64_t>();
  if (i && j) return integers(op, *i, *j);
  if (op == BinaryOp::Eq) return l.is_tensor() || r.is_tensor() ? std::nullopt : std::optional<Value>(equal(l, r));
  if (op == BinaryOp::Ne) return l.is_tensor() || r.is_tensor() ? std::nullopt : std::optional<Value>(!equal(l, r));
  if (l.is_host_number() && r.is_host_number()) {
    auto *x = l.get<double>(), *y = r.get<double>();
    if (compares(op) && (i || j))
      return Value(i ? ordered(op, compare(*i, *y))
                     : ordered(op, [](int c) { return c == 2 ? 2 : -c; }(compare(*j, *x))));
    return floats(op, x ? *x : static_cast<double>(*i), y ? *y : static_cast<double>(*j));
  }
  if (auto* a = l.get<bool>(), *b = r.get<bool>(); a && b) {
    if (op == BinaryOp::BitAnd) return Value(*a && *b);
    if (op == BinaryOp::BitOr) return Value(*a || *b);
    return std::nullopt;
  }
  if (op == BinaryOp::Mul && l.is_string() && j) return repeated(l.str(), *j);
  if (op == BinaryOp::Mul && i && r.is_string()) return repeated(r.str(), *i);
  if (l.is_string() && r.is_string()) {
    if (op == BinaryOp::Add) return Value::string(l.str() + r.str());
    return compared(op, l.str(), r.str());
  }
  return std::nullopt;
}

std::optional<Value> host_unary(UnaryOp op, const Value& v) {
  if (auto* i = v.get<std::int64_t>()) {
    if (op == UnaryOp::Neg) {
      if (*i == INT64_MIN) throw RuntimeError("overflow", "-(" + std::to_string(*i) + ") does not fit 64 bits");
      return Value(-*i);
    }
    if (op == UnaryOp::Pos) return v;
    if (op == UnaryOp::BitNot) return Value(~*i);
  }
  if (auto* d = v.get<double>()) {
    if (op == UnaryOp::Neg) return Value(-*d);
    if (op == UnaryOp::Pos) return v;
  }
  if (auto* b = v.get<bool>(); b && (op == UnaryOp::BitNot || op == UnaryOp::Not)) return Value(!*b);
  return std::nullopt;
}

}  // namespace shard::lang
