// Loops of the elementwise codes over f64: arithmetic as vector code, functions through the C library.
#include <math.h>

#include "runtime/kernels/vector/special.h"

namespace shard::runtime::SHARD_ISA {
namespace {

template <double (*F)(double)>
void by_library(const void* a, const void*, const void*, void* out, std::int64_t n) {
  const double* x = static_cast<const double*>(a);
  double* o = static_cast<double*>(out);
  for (std::int64_t i = 0; i < n; ++i) o[i] = F(x[i]);
}

SHARD_LOOP double sign(double x) { return x > 0.0 ? 1.0 : x < 0.0 ? -1.0 : x; }
// Both zeros are equal, but the larger is +0 (x + y of two zeros is -0 only where both are).
SHARD_LOOP double larger(double x, double y) {
  const double m = x > y ? x : x == y ? (x == 0.0 ? x + y : x) : y;
  return x == x ? m : x;
}
SHARD_LOOP double smaller(double x, double y) {
  const double m = x < y ? x : x == y ? (x == 0.0 ? -(-x - y) : x) : y;
  return x == x ? m : x;
}
SHARD_LOOP double modulo(double x, double y) {
  const double r = fmod(x, y);
  return r != 0.0 && (r < 0.0) != (y < 0.0) ? r + y : r;
}
SHARD_LOOP double floor_quotient(double x, double y) {
  if (y == 0.0) return x / y;
  const double r = fmod(x, y), q = (x - r) / y;
  return rint(r != 0.0 && (r < 0.0) != (y < 0.0) ? q - 1.0 : q);
}

double rsqrt(double x) { return 1.0 / sqrt(x); }
double sigmoid(double x) { return 1.0 / (1.0 + ::exp(-x)); }
double erf_inverse(double x) { return erf_inv(x); }
double log_gamma(double x) { return lgamma_of(x); }
double digamma_of(double x) { return digamma(x); }
double trigamma_of(double x) { return trigamma(x); }

}  // namespace

#define F1(expression) SHARD_UNARY(double, double, expression)
#define F2(expression) SHARD_BINARY(double, double, expression)
#define T1(expression) SHARD_UNARY(double, std::uint8_t, expression)
#define T2(expression) SHARD_BINARY(double, std::uint8_t, expression)

Loop loop_f64(Code code) {
  switch (code) {
    case Code::Neg: return F1(-x);
    case Code::Abs: return F1(__builtin_fabs(x));
    case Code::Sign: return F1(sign(x));
    case Code::Exp: return by_library<::exp>;
    case Code::Expm1: return by_library<::expm1>;
    case Code::Log: return by_library<::log>;
    case Code::Log1p: return by_library<::log1p>;
    case Code::Sqrt: return F1(__builtin_sqrt(x));
    case Code::Rsqrt: return by_library<rsqrt>;
    case Code::Square: return F1(x * x);
    case Code::Cbrt: return by_library<::cbrt>;
    case Code::Sin: return by_library<::sin>;
    case Code::Cos: return by_library<::cos>;
    case Code::Tan: return by_library<::tan>;
    case Code::Sinh: return by_library<::sinh>;
    case Code::Cosh: return by_library<::cosh>;
    case Code::Tanh: return by_library<::tanh>;
    case Code::Asin: return by_library<::asin>;
    case Code::Acos: return by_library<::acos>;
    case Code::Atan: return by_library<::atan>;
    case Code::Asinh: return by_library<::asinh>;
    case Code::Acosh: return by_library<::acosh>;
    case Code::Atanh: return by_library<::atanh>;
    case Code::Sigmoid: return by_library<sigmoid>;
    case Code::Erf: return by_library<::erf>;
    case Code::ErfInv: return by_library<erf_inverse>;
    case Code::Erfc: return by_library<::erfc>;
    case Code::Lgamma: return by_library<log_gamma>;
    case Code::Digamma: return by_library<digamma_of>;
    case Code::Trigamma: return by_library<trigamma_of>;
    case Code::Floor: return F1(__builtin_floor(x));
    case Code::Ceil: return F1(__builtin_ceil(x));
    case Code::Round: return F1(__builtin_rint(x));
    case Code::Reciprocal: return F1(1.0 / x);
    case Code::Identity: return F1(x);
    case Code::Not: return T1(x == 0.0);
    case Code::IsNan: return T1(x != x);
    case Code::IsInf: return T1(__builtin_fabs(x) == HUGE_VAL);
    case Code::IsFinite: return T1(__builtin_fabs(x) < HUGE_VAL);
    case Code::Add: return F2(x + y);
    case Code::Sub: return F2(x - y);
    case Code::Mul: return F2(x * y);
    case Code::Div: return F2(x / y);
    case Code::FloorDiv: return F2(floor_quotient(x, y));
    case Code::Mod: return F2(modulo(x, y));
    case Code::Pow: return F2(pow(x, y));
    case Code::Max: return F2(larger(x, y));
    case Code::Min: return F2(smaller(x, y));
    case Code::Atan2: return F2(atan2(x, y));
    case Code::Eq: return T2(x == y);
    case Code::Ne: return T2(x != y);
    case Code::Lt: return T2(x < y);
    case Code::Le: return T2(x <= y);
    case Code::Gt: return T2(x > y);
    case Code::Ge: return T2(x >= y);
    default: return nullptr;
  }
}

}  // namespace shard::runtime::SHARD_ISA

#undef T1  // loops_integer.cpp has its own, which is compiled together with this
#undef T2
