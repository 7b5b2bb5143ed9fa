// Elementwise functions of one number: exponentials, circular and hyperbolic functions, rounding. Derivatives are
// written as JAX writes them (through the result where that is cheaper); domains keep the samples away from edges.
#include <cmath>
#include <numbers>

#include "stdlib/ops/complex.h"
#include "stdlib/ops/elementwise.h"
#include "stdlib/ops/ops.h"

namespace shard::stdlib {
namespace {

using runtime::Code;
constexpr auto kInexact = Operands::Inexact;
constexpr auto kPromote = Operands::Promote;

Expr rsqrt(const Expr& x) { return call("rsqrt", {x}); }

void register_exponentials(OpTable& t) {
  t.add(unary_row("exp", "exp(x)", "e to the power x.", Code::Exp, kInexact, [](Expr, Expr y) {
     return y;
   })).of_complex = complex::exp;
  t.add(unary_row("expm1", "expm1(x)", "exp(x) - 1, exact near 0.", Code::Expm1, kInexact, [](Expr, Expr y) {
     return y + 1.0;
   })).of_complex = complex::expm1;
  OpDef& natural = t.add(unary_row("log", "log(x)", "Natural logarithm.", Code::Log, kInexact,
                                   [](Expr x, Expr) { return 1.0 / x; }, {0.3, 3}));
  natural.of_complex = complex::log;
  natural.aliases = {{"log2", "another base is a quotient: `log(x) / log(2.0)`"},
                     {"log10", "another base is a quotient: `log(x) / log(10.0)`"}};
  t.add(unary_row("log1p", "log1p(x)", "log(1 + x), exact near 0.", Code::Log1p, kInexact,
                  [](Expr x, Expr) { return 1.0 / (x + 1.0); }, {-0.5, 3}))
      .of_complex = complex::log1p;
  t.add(unary_row("sqrt", "sqrt(x)", "Square root.", Code::Sqrt, kInexact, [](Expr, Expr y) { return 0.5 / y; },
                  {0.3, 3}))
      .of_complex = complex::sqrt;
  t.add(unary_row("rsqrt", "rsqrt(x)", "1 / sqrt(x).", Code::Rsqrt, kInexact,
                  [](Expr x, Expr y) { return -0.5 * (y / x); }, {0.3, 3}))
      .of_complex = complex::rsqrt;
  OpDef squared = unary_row("squared", "squared(x)", "x * x, of numbers.", Code::Square, kPromote,
                            [](Expr x, Expr) { return 2.0 * x; });
  squared.of_complex = complex::squared;
  squared.internal = true;
  t.add(std::move(squared));
  t.add(composite_row(
      "square", "square(x)", "x * x.",
      [](Builder& b, std::span<const Var> in, const Attrs&) -> Vars {
        const bool truth = b.type(in[0]).dtype == DType::Bool;  // counts as 0 or 1 (JAX)
        return {b.call("squared", {truth ? ir::convert(b, in[0], DType::I32) : in[0]})};
      },
      unary_samples()));
  t.add(unary_row("sigmoid", "sigmoid(x)", "1 / (1 + exp(-x)).", Code::Sigmoid, kInexact, [](Expr, Expr y) {
     return y * (1.0 - y);
   })).of_complex = complex::sigmoid;
  t.add(unary_row("erf", "erf(x)", "The error function.", Code::Erf, kInexact,
                  [](Expr x, Expr) { return 2.0 * std::numbers::inv_sqrtpi * call("exp", {-(x * x)}); }));
  t.add(unary_row("erf_inv", "erf_inv(x)", "The inverse of the error function, infinite at -1 and 1.", Code::ErfInv,
                  kInexact, [](Expr, Expr y) { return (0.5 / std::numbers::inv_sqrtpi) * call("exp", {y * y}); },
                  {-0.9, 0.9}));
  t.add(unary_row("erfc", "erfc(x)", "1 - erf(x), exact where that is small.", Code::Erfc, kInexact,
                  [](Expr x, Expr) { return -2.0 * std::numbers::inv_sqrtpi * call("exp", {-(x * x)}); }));
  t.add(unary_row("lgamma", "lgamma(x)", "The logarithm of the gamma function's size.", Code::Lgamma, kInexact,
                  [](Expr x, Expr) { return call("digamma", {x}); }, {0.3, 3}));
  t.add(unary_row("digamma", "digamma(x)", "The derivative of lgamma.", Code::Digamma, kInexact,
                  [](Expr x, Expr) { return call("trigamma", {x}); }, {0.3, 3}));
  OpDef third =
      unary_zero_row("trigamma", "trigamma(x)", "The derivative of digamma.", Code::Trigamma, kInexact, {0.3, 3});
  third.derivative = ir::NotDifferentiable{"digamma has one derivative here"};
  third.internal = true;
  t.add(std::move(third));
}

void register_circular(OpTable& t) {
  t.add(unary_row("sin", "sin(x)", "Sine of an angle in radians.", Code::Sin, kInexact, [](Expr x, Expr) {
     return call("cos", {x});
   })).of_complex = complex::sin;
  t.add(unary_row("cos", "cos(x)", "Cosine of an angle in radians.", Code::Cos, kInexact, [](Expr x, Expr) {
     return -call("sin", {x});
   })).of_complex = complex::cos;
  t.add(unary_row("tan", "tan(x)", "Tangent of an angle in radians.", Code::Tan, kInexact,
                  [](Expr, Expr y) { return y * y + 1.0; }, {-1, 1}))
      .of_complex = complex::tan;
  OpDef& asin_row = t.add(unary_row("asin", "asin(x)", "The angle whose sine is x.", Code::Asin, kInexact,
                                    [](Expr x, Expr) { return rsqrt(1.0 - x * x); }, {-0.9, 0.9}));
  asin_row.aliases = {"arcsin"};
  asin_row.of_complex = complex::asin;
  OpDef& acos_row = t.add(unary_row("acos", "acos(x)", "The angle whose cosine is x.", Code::Acos, kInexact,
                                    [](Expr x, Expr) { return -rsqrt(1.0 - x * x); }, {-0.9, 0.9}));
  acos_row.aliases = {"arccos"};
  acos_row.of_complex = complex::acos;
  OpDef& atan_row = t.add(unary_row("atan", "atan(x)", "The angle whose tangent is x.", Code::Atan, kInexact,
                                    [](Expr x, Expr) { return 1.0 / (x * x + 1.0); }));
  atan_row.aliases = {"arctan"};
  atan_row.of_complex = complex::atan;
  t.add(unary_row("sinh", "sinh(x)", "Hyperbolic sine.", Code::Sinh, kInexact, [](Expr x, Expr) {
     return call("cosh", {x});
   })).of_complex = complex::sinh;
  t.add(unary_row("cosh", "cosh(x)", "Hyperbolic cosine.", Code::Cosh, kInexact, [](Expr x, Expr) {
     return call("sinh", {x});
   })).of_complex = complex::cosh;
  t.add(unary_row("tanh", "tanh(x)", "Hyperbolic tangent.", Code::Tanh, kInexact, [](Expr, Expr y) {
     return 1.0 - y * y;
   })).of_complex = complex::tanh;
  OpDef& asinh_row = t.add(unary_row("asinh", "asinh(x)", "Inverse hyperbolic sine.", Code::Asinh, kInexact,
                                     [](Expr x, Expr) { return rsqrt(x * x + 1.0); }));
  asinh_row.aliases = {"arcsinh"};
  asinh_row.of_complex = complex::asinh;
  OpDef& acosh_row = t.add(unary_row("acosh", "acosh(x)", "Inverse hyperbolic cosine.", Code::Acosh, kInexact,
                                     [](Expr x, Expr) { return rsqrt((x - 1.0) * (x + 1.0)); }, {1.5, 3}));
  acosh_row.aliases = {"arccosh"};
  acosh_row.of_complex = complex::acosh;
  OpDef& atanh_row = t.add(unary_row("atanh", "atanh(x)", "Inverse hyperbolic tangent.", Code::Atanh, kInexact,
                                     [](Expr x, Expr) { return 1.0 / ((1.0 - x) * (x + 1.0)); }, {-0.9, 0.9}));
  atanh_row.aliases = {"arctanh"};
  atanh_row.of_complex = complex::atanh;
}

void register_rounding(OpTable& t) {
  OpDef& size =
      t.add(unary_row("abs", "abs(x)", "The size of x, without its sign; the derivative at 0 is 1, as JAX has it.",
                      Code::Abs, kPromote, [](Expr x, Expr y) { return select(ge(x, 0.0), 1.0, y.number(-1.0)); }));
  size.aliases = {"absolute"};
  size.of_complex = complex::abs;
  t.add(unary_zero_row("sign", "sign(x)", "-1, 0 or 1.", Code::Sign, kPromote)).of_complex = complex::sign;
  // Whole numbers are rounded already: they keep their type.
  auto of_floats = [&](std::string_view name, std::string_view signature, std::string_view doc, Code code) -> OpDef& {
    OpDef row = unary_zero_row(name, signature, doc, code, kInexact);
    row.internal = true;
    return t.add(std::move(row));
  };
  auto rounding = [&](std::string_view inner, std::string_view inner_signature, std::string_view name,
                      std::string_view signature, std::string_view doc, Code code) {
    of_floats(inner, inner_signature, doc, code);
    t.add(composite_row(
        name, signature, doc,
        [inner](Builder& b, std::span<const Var> in, const Attrs&) -> Vars {
          return {runtime::is_inexact(b.type(in[0]).dtype) ? b.call(inner, {in[0]}) : in[0]};
        },
        unary_samples()));
  };
  rounding("float_floor", "float_floor(x)", "floor", "floor(x)", "The whole number below.", Code::Floor);
  rounding("float_ceil", "float_ceil(x)", "ceil", "ceil(x)", "The whole number above.", Code::Ceil);
  of_floats("float_round", "float_round(x)", "The nearest whole number, halves to the even one.", Code::Round)
      .of_complex = ir::OnParts{};
  // With decimals as jax.numpy: halves are rounded in f32.
  t.add(composite_row(
      "round", "round(x, decimals: int = 0)",
      "The nearest whole number (or number of so many decimals), halves to the even one.",
      [](Builder& b, std::span<const Var> in, const Attrs& attrs) -> Vars {
        const std::int64_t decimals = integer_or(attrs, "decimals", 0);
        const Type own = b.type(in[0]);
        if (!runtime::is_inexact(own.dtype) && decimals < 0)
          fail("value", "round of " + runtime::to_string(own) + " to tens or hundreds: cast it to a float first");
        if (!runtime::is_inexact(own.dtype)) return {in[0]};
        if (decimals == 0) return {b.call("float_round", {in[0]})};
        const bool half = own.dtype == DType::F16 || own.dtype == DType::BF16;
        Expr x{b, half ? ir::convert(b, in[0], DType::F32) : in[0]};
        const double factor = std::pow(10.0, static_cast<double>(decimals));
        Expr made = call("float_round", {x * factor}) / factor;
        return {half ? ir::convert(b, made, own.dtype, own.weak) : made.var()};
      },
      unary_samples(kDomain, "[4] -20..20 decimals=1")));
}

}  // namespace

void register_math(OpTable& table) {
  register_exponentials(table);
  register_circular(table);
  register_rounding(table);
}

}  // namespace shard::stdlib
