// Functions of complex numbers beyond arithmetic: tan, the inverse circular and hyperbolic functions (with the branch
// cuts of NumPy; Kahan, "Branch cuts for complex elementary functions", 1987), expm1, log1p, rsqrt, sigmoid.
#include "stdlib/ops/complex.h"
#include "stdlib/ops/complex_number.h"

namespace shard::stdlib::complex {
namespace {

Number turned(const Number& x) { return {-x.im, x.re}; }       // i x
Number turned_back(const Number& x) { return {x.im, -x.re}; }  // -i x
Number conjugate(const Number& x) { return {x.re, -x.im}; }
Number plus(const Number& x, double y) { return {x.re + y, x.im}; }
Number negative(const Number& x) { return {-x.re, -x.im}; }
Expr atan2(const Expr& y, const Expr& x) { return call("atan2", {y, x}); }

Number arc_sine(const Number& x) {
  const Number below = root(plus(negative(x), 1)), above = root(plus(x, 1));
  return {atan2(x.re, product(below, above).re), call("asinh", {product(conjugate(below), above).im})};
}

// re: log(|1 + x| / |1 - x|) / 2; im: half of the angle between both.
Number arc_tangent_hyperbolic(const Number& x) {
  Expr away = 1.0 - x.re, squares = x.im * x.im;
  return {0.25 * call("log1p", {4.0 * x.re / (away * away + squares)}),
          0.5 * atan2(2.0 * x.im, away * (x.re + 1.0) - squares)};
}

}  // namespace

Vars tan(Builder& b, std::span<const Var> in, const Attrs&) {
  return turned_back(tangent_hyperbolic(turned({b, in[0]}))).made();
}
Vars asin(Builder& b, std::span<const Var> in, const Attrs&) { return arc_sine({b, in[0]}).made(); }
Vars acos(Builder& b, std::span<const Var> in, const Attrs&) {
  const Number x{b, in[0]}, below = root(plus(negative(x), 1)), above = root(plus(x, 1));
  return Number{2.0 * atan2(below.re, above.re), call("asinh", {product(conjugate(above), below).im})}.made();
}
Vars atan(Builder& b, std::span<const Var> in, const Attrs&) {
  return turned_back(arc_tangent_hyperbolic(turned({b, in[0]}))).made();
}
Vars asinh(Builder& b, std::span<const Var> in, const Attrs&) {
  return turned_back(arc_sine(turned({b, in[0]}))).made();
}
Vars acosh(Builder& b, std::span<const Var> in, const Attrs&) {
  const Number x{b, in[0]}, below = root(plus(x, -1)), above = root(plus(x, 1));
  return Number{call("asinh", {product(conjugate(below), above).re}), 2.0 * atan2(below.im, above.re)}.made();
}
Vars atanh(Builder& b, std::span<const Var> in, const Attrs&) { return arc_tangent_hyperbolic({b, in[0]}).made(); }

// exp(a) cos(b) - 1 as expm1(a) cos(b) - 2 sin(b / 2) ** 2
Vars expm1(Builder& b, std::span<const Var> in, const Attrs&) {
  const Number x{b, in[0]};
  Expr half = call("sin", {0.5 * x.im});
  return Number{call("expm1", {x.re}) * call("cos", {x.im}) - 2.0 * half * half,
                call("exp", {x.re}) * call("sin", {x.im})}
      .made();
}

// Near 0 the size of 1 + x as a number beside 1.
Vars log1p(Builder& b, std::span<const Var> in, const Attrs&) {
  const Number x{b, in[0]}, moved = plus(x, 1);
  Expr near = stdlib::lt(maximum(size_of_part(x.re), size_of_part(x.im)), 0.5);
  Expr beside = x.re * (x.re + 2.0) + x.im * x.im;
  Expr small = 0.5 * call("log1p", {select(near, beside, 0.0)});
  const Number far = logarithm(moved);
  return Number{select(near, small, far.re), far.im}.made();
}

Vars rsqrt(Builder& b, std::span<const Var> in, const Attrs&) {
  const Number below = root({b, in[0]});
  Expr one = below.re.number(1);
  return quotient({one, one * 0.0}, below).made();
}

// (1 + tanh(x / 2)) / 2, which stays finite.
Vars sigmoid(Builder& b, std::span<const Var> in, const Attrs&) {
  const Number x{b, in[0]}, t = tangent_hyperbolic({0.5 * x.re, 0.5 * x.im});
  return Number{0.5 * t.re + 0.5, 0.5 * t.im}.made();
}

}  // namespace shard::stdlib::complex
