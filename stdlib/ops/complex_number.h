// A complex number by its parts, for formulas (complex.cpp, complex_functions.cpp).
#pragma once
#include "interpreter/ir/complex_parts.h"
#include "stdlib/ops/expr.h"

namespace shard::stdlib::complex {

struct Number {
  Expr re, im;
  Number(Expr r, Expr i) : re(r), im(i) {}
  Number(ir::Builder& b, ir::Var v) : re(b, ir::real_part(b, v)), im(b, ir::imag_part(b, v)) {}
  ir::Vars made() const { return {ir::complex_of(re.builder(), re, im)}; }
};

inline Expr size_of_part(const Expr& x) { return call("abs", {x}); }
Number product(const Number& x, const Number& y);
Number quotient(const Number& x, const Number& y);
Expr size(const Number& x);  // 0 at 0, with the derivative 0 there (JAX)
Number logarithm(const Number& x);
Number root(const Number& x);  // with a real part that is not negative
Number tangent_hyperbolic(const Number& x);

}  // namespace shard::stdlib::complex
