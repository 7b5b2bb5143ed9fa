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

constexpr Domain kPositive{0.3, 3}, kInside{-0.9, 0.9};

Expr rsqrt(const Expr& x) { return call("rsqrt", {x}); }

struct Function {
  std::string_view signature, doc;
  Code code;
  Partial1 partial;
  Domain domain = kDomain;
  const char* alias = nullptr;
};

void add_functions(OpTable& t, std::initializer_list<Function> functions) {
  for (const Function& f : functions) {
    OpDef& row = t.add(unary_row(f.signature, f.doc, f.code, kInexact, f.partial, f.domain));
    if (f.alias) row.aliases = {f.alias};
  }
}

void register_exponentials(OpTable& t) {
  const auto of_square = [](const Expr& x, double factor) { return factor * call("exp", {-(x * x)}); };
  constexpr double kSlope = 2.0 * std::numbers::inv_sqrtpi;  // of erf at 0
  add_functions(t, {{"exp(x)", "e to the power x.", Code::Exp, [](Expr, Expr y) { return y; }},
                    {"expm1(x)", "exp(x) - 1, exact near 0.", Code::Expm1, [](Expr, Expr y) { return y + 1.0; }},
                    {"log1p(x)", "log(1 + x), exact near 0.", Code::Log1p, [](Expr x, Expr) { return 1.0 / (x + 1.0); },
                     Domain(-0.5, 3)},
                    {"sqrt(x)", "Square root.", Code::Sqrt, [](Expr, Expr y) { return 0.5 / y; }, kPositive},
                    {"rsqrt(x)", "1 / sqrt(x).", Code::Rsqrt, [](Expr x, Expr y) { return -0.5 * (y / x); }, kPositive},
                    {"sigmoid(x)", "1 / (1 + exp(-x)).", Code::Sigmoid, [](Expr, Expr y) { return y * (1.0 - y); }},
                    {"erf(x)", "The error function.", Code::Erf, [=](Expr x, Expr) { return of_square(x, kSlope); }},
                    {"erf_inv(x)", "The inverse of the error function, infinite at -1 and 1.", Code::ErfInv,
                     [](Expr, Expr y) { return (0.5 / std::numbers::inv_sqrtpi) * call("exp", {y * y}); }, kInside},
                    {"erfc(x)", "1 - erf(x), exact where that is small.", Code::Erfc,
                     [=](Expr x, Expr) { return of_square(x, -kSlope); }},
                    {"lgamma(x)", "The logarithm of the gamma function's size.", Code::Lgamma,
                     [](Expr x, Expr) { return call("digamma", {x}); }, kPositive},
                    {"digamma(x)", "The derivative of lgamma.", Code::Digamma,
                     [](Expr x, Expr) { return call("trigamma", {x}); }, kPositive}});

  t.add(unary_row(
            "log(x)", "Natural logarithm.", Code::Log, kInexact, [](Expr x, Expr) { return 1.0 / x; }, kPositive))
      .aliases = {{"log2", "another base is a quotient: `log(x) / log(2.0)`"},
                  {"log10", "another base is a quotient: `log(x) / log(10.0)`"}};
  OpDef squared =
      unary_row("squared(x)", "x * x, of numbers.", Code::Square, kPromote, [](Expr x, Expr) { return 2.0 * x; });
  squared.internal = true;
  t.add(std::move(squared));
  add_composite(t, "square(x)", "x * x.", unary_samples(),
                [](Builder& b, std::span<const Var> in, const Attrs&) -> Vars {
                  const bool truth = b.type(in[0]).dtype == DType::Bool;  // counts as 0 or 1 (JAX)
                  return {b.call("squared", {truth ? ir::convert(b, in[0], DType::I32) : in[0]})};
                });
  OpDef third = unary_zero_row("trigamma(x)", "The derivative of digamma.", Code::Trigamma, kInexact, kPositive);
  third.derivative = ir::NotDifferentiable{"digamma has one derivative here"};
  third.internal = true;
  t.add(std::move(third));
}

void register_circular(OpTable& t) {
  add_functions(
      t, {{"sin(x)", "Sine of an angle in radians.", Code::Sin, [](Expr x, Expr) { return call("cos", {x}); }},
          {"cos(x)", "Cosine of an angle in radians.", Code::Cos, [](Expr x, Expr) { return -call("sin", {x}); }},
          {"tan(x)", "Tangent of an angle in radians.", Code::Tan, [](Expr, Expr y) { return y * y + 1.0; },
           Domain(-1, 1)},
          {"asin(x)", "The angle whose sine is x.", Code::Asin, [](Expr x, Expr) { return rsqrt(1.0 - x * x); },
           kInside, "arcsin"},
          {"acos(x)", "The angle whose cosine is x.", Code::Acos, [](Expr x, Expr) { return -rsqrt(1.0 - x * x); },
           kInside, "arccos"},
          {"atan(x)", "The angle whose tangent is x.", Code::Atan, [](Expr x, Expr) { return 1.0 / (x * x + 1.0); },
           kDomain, "arctan"},
          {"sinh(x)", "Hyperbolic sine.", Code::Sinh, [](Expr x, Expr) { return call("cosh", {x}); }},
          {"cosh(x)", "Hyperbolic cosine.", Code::Cosh, [](Expr x, Expr) { return call("sinh", {x}); }},
          {"tanh(x)", "Hyperbolic tangent.", Code::Tanh, [](Expr, Expr y) { return 1.0 - y * y; }},
          {"asinh(x)", "Inverse hyperbolic sine.", Code::Asinh, [](Expr x, Expr) { return rsqrt(x * x + 1.0); },
           kDomain, "arcsinh"},
          {"acosh(x)", "Inverse hyperbolic cosine.", Code::Acosh,
           [](Expr x, Expr) { return rsqrt((x - 1.0) * (x + 1.0)); }, Domain(1.5, 3), "arccosh"},
          {"atanh(x)", "Inverse hyperbolic tangent.", Code::Atanh,
           [](Expr x, Expr) { return 1.0 / ((1.0 - x) * (x + 1.0)); }, kInside, "arctanh"}});
}

void register_rounding(OpTable& t) {
  OpDef& size =
      t.add(unary_row("abs(x)", "The size of x, without its sign; the derivative at 0 is 1, as JAX has it.", Code::Abs,
                      kPromote, [](Expr x, Expr y) { return select(ge(x, 0.0), 1.0, y.number(-1.0)); }));
  size.aliases = {"absolute"};
  size.of_complex = complex::abs;
  t.add(unary_zero_row("sign(x)", "-1, 0 or 1.", Code::Sign, kPromote));
  // Whole numbers are rounded already: they keep their type.
  auto of_floats = [&](std::string_view signature, std::string_view doc, Code code) -> OpDef& {
    OpDef row = unary_zero_row(signature, doc, code, kInexact);
    row.internal = true;
    return t.add(std::move(row));
  };
  auto rounding = [&](std::string_view inner, std::string_view signature, std::string_view doc, Code code) {
    const std::string_view rounded = of_floats(inner, doc, code).name;
    add_composite(t, signature, doc, unary_samples(),
                  [rounded](Builder& b, std::span<const Var> in, const Attrs&) -> Vars {
                    return {runtime::is_inexact(b.type(in[0]).dtype) ? b.call(rounded, {in[0]}) : in[0]};
                  });
  };
  rounding("float_floor(x)", "floor(x)", "The whole number below.", Code::Floor);
  rounding("float_ceil(x)", "ceil(x)", "The whole number above.", Code::Ceil);
  of_floats("float_round(x)", "The nearest whole number, halves to the even one.", Code::Round).of_complex =
      ir::OnParts{};
  // With decimals as jax.numpy: halves are rounded in f32.
  add_composite(t, "round(x, decimals: int = 0)",
                "The nearest whole number (or number of so many decimals), halves to the even one.",
                unary_samples(kDomain, "[4] -20..20 decimals=1"),
                [](Builder& b, std::span<const Var> in, const Attrs& attrs) -> Vars {
                  const std::int64_t decimals = integer_or(attrs, "decimals", 0);
                  const Type own = b.type(in[0]);
                  if (!runtime::is_inexact(own.dtype) && decimals < 0)
                    fail("value",
                         "round of " + runtime::to_string(own) + " to tens or hundreds: cast it to a float first");
                  if (!runtime::is_inexact(own.dtype)) return {in[0]};
                  if (decimals == 0) return {b.call("float_round", {in[0]})};
                  const bool half = own.dtype == DType::F16 || own.dtype == DType::BF16;
                  Expr x{b, half ? ir::convert(b, in[0], DType::F32) : in[0]};
                  const double factor = std::pow(10.0, static_cast<double>(decimals));
                  Expr made = call("float_round", {x * factor}) / factor;
                  return {half ? ir::convert(b, made, own.dtype, own.weak) : made.var()};
                });
}

}  // namespace

void register_math(OpTable& table) {
  register_exponentials(table);
  register_circular(table);
  register_rounding(table);
}

}  // namespace shard::stdlib
