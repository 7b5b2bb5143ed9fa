// Formulas of a graph under construction; makers of elementwise rows (one code of runtime/kernels/codes.h, one partial
// derivative an operand) and of composites.
#pragma once
#include <functional>
#include <initializer_list>

#include "stdlib/ops/rows.h"

namespace shard::stdlib {

// Values of a graph under construction, written as formulas: `0.5 * x * (1.0 + tanh(y))`. A thin pair of builder and
// variable, for the rows' derivatives and composites. Numbers become constants of the other side's element type, so
// they never promote.
class Expr {
 public:
  Expr(ir::Builder& b, ir::Var v) : b_(&b), v_(v) {}
  ir::Builder& builder() const { return *b_; }
  ir::Var var() const { return v_; }
  operator ir::Var() const { return v_; }  // so that an Expr can stand wherever a row wants a variable
  const ir::Type& type() const { return b_->type(v_); }
  Expr number(double value) const {
    return {*b_, ir::constant(*b_, value, type().dtype, type().weak)};
  }  // of this element type

 private:
  ir::Builder* b_;
  ir::Var v_;
};

inline Expr call(std::string_view name, std::initializer_list<Expr> xs, ir::Attrs attrs = {}) {
  ir::Vars vars(xs.begin(), xs.end());
  ir::Builder& b = xs.begin()->builder();
  return {b, b.emit(b.table().at(name), vars, std::move(attrs)).at(0)};
}

inline Expr operator+(const Expr& x, const Expr& y) { return call("add", {x, y}); }
inline Expr operator-(const Expr& x, const Expr& y) { return call("sub", {x, y}); }
inline Expr operator*(const Expr& x, const Expr& y) { return call("mul", {x, y}); }
inline Expr operator/(const Expr& x, const Expr& y) { return call("div", {x, y}); }
inline Expr operator-(const Expr& x) { return call("neg", {x}); }
inline Expr operator+(const Expr& x, double y) { return x + x.number(y); }
inline Expr operator-(const Expr& x, double y) { return x - x.number(y); }
inline Expr operator*(const Expr& x, double y) { return x * x.number(y); }
inline Expr operator/(const Expr& x, double y) { return x / x.number(y); }
inline Expr operator+(double x, const Expr& y) { return y.number(x) + y; }
inline Expr operator-(double x, const Expr& y) { return y.number(x) - y; }
inline Expr operator*(double x, const Expr& y) { return y.number(x) * y; }
inline Expr operator/(double x, const Expr& y) { return y.number(x) / y; }

inline Expr eq(const Expr& x, const Expr& y) { return call("eq", {x, y}); }
inline Expr eq(const Expr& x, double y) { return call("eq", {x, x.number(y)}); }
inline Expr lt(const Expr& x, const Expr& y) { return call("lt", {x, y}); }
inline Expr lt(const Expr& x, double y) { return call("lt", {x, x.number(y)}); }
inline Expr gt(const Expr& x, const Expr& y) { return call("gt", {x, y}); }
inline Expr gt(const Expr& x, double y) { return call("gt", {x, x.number(y)}); }
inline Expr ge(const Expr& x, const Expr& y) { return call("ge", {x, y}); }
inline Expr ge(const Expr& x, double y) { return call("ge", {x, x.number(y)}); }
// The other case of a choice. Beside an unreduced sum, zeros that are unreduced as it is.
inline Expr case_beside(const Expr& x, double value) {
  if (value != 0 || x.type().sharding.unreduced.empty()) return x.number(value);
  return call("fill_like", {x}, {{"value", 0.0}, {"dtype", x.type().dtype}});
}
inline Expr select(const Expr& c, const Expr& x, const Expr& y) { return call("select", {c, x, y}); }
inline Expr select(const Expr& c, const Expr& x, double y) { return call("select", {c, x, case_beside(x, y)}); }
inline Expr select(const Expr& c, double x, const Expr& y) { return call("select", {c, case_beside(y, x), y}); }
inline Expr both(const Expr& x, const Expr& y) { return call("logical_and", {x, y}); }
inline Expr maximum(const Expr& x, const Expr& y) { return call("maximum", {x, y}); }
inline Expr minimum(const Expr& x, const Expr& y) { return call("minimum", {x, y}); }
inline Expr cast_to(const Expr& x, runtime::DType dtype, bool weak = false) {
  return {x.builder(), ir::convert(x.builder(), x, dtype, weak)};
}

// ---- makers of rows

using Partial1 = std::function<Expr(Expr x, Expr y)>;                           // d y / d x
using Partial2 = std::function<std::pair<Expr, Expr>(Expr x, Expr y, Expr z)>;  // d z / d x, d z / d y

// `domain`: where samples lie, so that differences exist.
using Domain = ir::Range;
inline constexpr Domain kDomain{-2, 2};
OpDef unary_row(std::string_view signature, std::string_view doc, runtime::Code code, Operands operands,
                Partial1 partial, Domain domain = kDomain);
OpDef unary_zero_row(std::string_view signature, std::string_view doc, runtime::Code code, Operands operands,
                     Domain domain = kDomain);
OpDef binary_row(std::string_view signature, std::string_view doc, runtime::Code code, Operands operands,
                 ir::Derivative derivative, Domain domain = kDomain);
ir::Derivative partials2(Partial2 of);
ir::KindFn always(DType dtype);  // results of this type, never weak
ir::Samples unary_samples(Domain domain = kDomain, std::string_view also = {});
ir::Samples binary_samples(Domain domain = kDomain, std::string_view also = {});
// A composite; `compose` sees operands as they came.
OpDef& add_composite(OpTable& t, std::string_view signature, std::string_view doc, ir::Samples samples,
                     ir::Compose compose);

}  // namespace shard::stdlib
