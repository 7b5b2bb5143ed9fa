// Complex numbers: taken apart, put together, and arithmetic in their parts. The gradient is JAX's: a cotangent is
// paired with a tangent by the product without a conjugate, so that of a real loss by x + iy is d/dx - i d/dy.
#include "stdlib/ops/complex.h"

#include <cmath>
#include <limits>

#include "interpreter/ir/complex_parts.h"
#include "stdlib/ops/elementwise.h"
#include "stdlib/ops/ops.h"

namespace shard::stdlib {
namespace complex {

// A complex number by its parts, for formulas.
struct Number {
  Expr re, im;
  Number(Expr r, Expr i) : re(r), im(i) {}
  Number(ir::Builder& b, ir::Var v) : re(b, ir::real_part(b, v)), im(b, ir::imag_part(b, v)) {}
  ir::Vars made() const { return {ir::complex_of(re.builder(), re, im)}; }
};

inline Expr size_of_part(const Expr& x) { return call("abs", {x}); }

namespace {

Expr held(const Expr& x) { return call("stop_gradient", {x}); }
Expr angle(const Number& x) { return call("atan2", {x.im, x.re}); }
Expr either(std::string_view test, const Number& x) {
  return call("logical_or", {call(test, {x.re}), call(test, {x.im})});
}
// Infinite parts as 1 or -1, the others as 0.
Number direction_of(const Number& x) {
  const auto part = [](const Expr& v) { return select(call("isinf", {v}), call("sign", {v}), 0.0); };
  return {part(x.re), part(x.im)};
}
Number chosen(const Expr& c, const Number& x, const Number& y) {
  return {select(c, x.re, y.re), select(c, x.im, y.im)};
}

// Smith's quotient (1962): the divisor's larger part is divided out first, so that squares neither overflow nor vanish.
Number ratio(const Number& x, const Number& y) {
  Expr wide = gt(size_of_part(y.re), size_of_part(y.im));
  Expr large = select(wide, y.re, y.im), small = select(wide, y.im, y.re);
  Expr first = select(wide, x.re, x.im), second = select(wide, x.im, x.re);
  Expr r = small / large, whole = large + small * r, crossed = first * r;
  return {(first + second * r) / whole, select(wide, second - crossed, crossed - second) / whole};
}

// What a quotient is that comes out as no number: infinite where the divisor is 0 or the number is infinite, 0 where
// the divisor is infinite (C99, Annex G; JAX). It has no derivative.
Number quotient_at_the_edge(const Number& x, const Number& y) {
  Expr over = either("isinf", x), under = either("isinf", y);
  Expr none = both(stdlib::eq(y.re, 0.0), stdlib::eq(y.im, 0.0)), sign = 1.0 / y.re;
  const Number a = chosen(over, direction_of(x), x), c = chosen(under, direction_of(y), y);
  constexpr double kInf = std::numeric_limits<double>::infinity(), kNan = std::numeric_limits<double>::quiet_NaN();
  Expr by = select(stdlib::eq(over, under), x.re.number(kNan), select(over, x.re.number(kInf), 0.0));
  return chosen(none, {x.re * sign, x.im * sign}, {by * (a.re * c.re + a.im * c.im), by * (a.im * c.re - a.re * c.im)});
}

}  // namespace

// On the real line the imaginary part is 0 even where the other one is none or infinite.
Number exponential(const Number& x) {
  Expr e = call("exp", {x.re});
  Expr open = call("logical_or", {call("isfinite", {e}), call("ne", {x.im, x.im.number(0)})});
  return {e * call("cos", {x.im}), select(open, e, 1.0) * call("sin", {x.im})};
}

Number product(const Number& x, const Number& y) { return {x.re * y.re - x.im * y.im, x.re * y.im + x.im * y.re}; }

// Where both parts of the divisor are infinite its direction stands for it in the formula, whose derivative is then
// finite, and is multiplied by 0.
Number quotient(const Number& x, const Number& y) {
  Expr far = both(call("isinf", {y.re}), call("isinf", {y.im}));
  const Number made = ratio(x, {select(far, 1.0, y.re), select(far, 1.0, y.im)});
  const Number edge = quotient_at_the_edge({held(x.re), held(x.im)}, {held(y.re), held(y.im)});
  Expr lost = both(call("isnan", {made.re}), call("isnan", {made.im}));
  return chosen(call("logical_or", {lost, far}), edge, made);
}

Expr size(const Number& x) {
  Expr scale = held(maximum(size_of_part(x.re), size_of_part(x.im)));
  Expr none = stdlib::eq(scale, 0.0), by = select(none, 1.0, scale);
  Expr re = x.re / by, im = x.im / by;
  Expr root = call("sqrt", {select(none, 1.0, re * re + im * im)});
  Expr unbounded = call("isinf", {scale});
  return select(unbounded, scale, select(none, 0.0, by * root));
}

// Parts so large that the size would overflow are made smaller first, and what comes of it larger again.
struct InRange {
  Expr large;
  Number x;
  explicit InRange(const Number& given)
      : large(gt(maximum(size_of_part(given.re), size_of_part(given.im)),
                 runtime::float_form(given.re.type().dtype)->largest / 4)),
        x(select(large, 0.25 * given.re, given.re), select(large, 0.25 * given.im, given.im)) {}
};

Number logarithm(const Number& x) {
  const InRange near(x);
  return {call("log", {size(near.x)}) + select(near.large, x.re.number(std::log(4.0)), 0.0), angle(x)};
}

Number root(const Number& given) {
  const InRange near(given);
  const Number& x = near.x;
  Expr sum = size(x) + size_of_part(x.re), none = stdlib::eq(sum, 0.0);
  Expr large = call("sqrt", {0.5 * select(none, 1.0, sum)}), small = x.im / (2.0 * large);
  Expr right = ge(x.re, 0.0), down = stdlib::lt(x.im, 0.0);
  Expr re = select(right, large, size_of_part(small)), im = select(right, small, select(down, -large, large));
  Expr back = select(near.large, large.number(2.0), 1.0), endless = call("isinf", {x.im});
  return {select(none, 0.0, select(endless, size_of_part(x.im), back * re)),
          select(none, 0.0, select(endless, x.im, back * im))};
}

// With t = tanh a and u = tan b: (t + iu) / (1 + i t u), which stays finite for large a.
Number tangent_hyperbolic(const Number& x) {
  Expr t = call("tanh", {x.re}), u = call("tan", {x.im});
  return ratio({t, u}, {x.re.number(1.0), t * u});
}

Vars mul(Builder& b, std::span<const Var> in, const Attrs&) { return product({b, in[0]}, {b, in[1]}).made(); }
Vars div(Builder& b, std::span<const Var> in, const Attrs&) { return quotient({b, in[0]}, {b, in[1]}).made(); }
// exp(y log x); 0 ** y is 0, and x ** 0 is 1.
Vars power(Builder& b, std::span<const Var> in, const Attrs&) {
  const Number x{b, in[0]}, y{b, in[1]};
  const auto nothing = [](const Number& z) { return both(stdlib::eq(z.re, 0.0), stdlib::eq(z.im, 0.0)); };
  Expr none = nothing(x);
  Number there{select(none, 1.0, x.re), select(none, 0.0, x.im)};
  Number made = exponential(product(y, logarithm(there)));
  Expr one = cast_to(nothing(y), x.re.type().dtype, x.re.type().weak);
  return Number{select(none, one, made.re), select(none, 0.0, made.im)}.made();
}

Vars abs(Builder& b, std::span<const Var> in, const Attrs&) { return {size({b, in[0]})}; }
Vars eq(Builder& b, std::span<const Var> in, const Attrs&) {
  const Number x{b, in[0]}, y{b, in[1]};
  return {both(stdlib::eq(x.re, y.re), stdlib::eq(x.im, y.im))};
}
Vars ne(Builder& b, std::span<const Var> in, const Attrs&) {
  const Number x{b, in[0]}, y{b, in[1]};
  return {call("logical_or", {call("ne", {x.re, y.re}), call("ne", {x.im, y.im})})};
}
Vars isfinite(Builder& b, std::span<const Var> in, const Attrs&) {
  const Number x{b, in[0]};
  return {both(call("isfinite", {x.re}), call("isfinite", {x.im}))};
}
ir::Compose of_either(std::string_view test) {
  return [test](Builder& b, std::span<const Var> in, const Attrs&) -> Vars { return {either(test, {b, in[0]})}; };
}

// To real numbers by the real part (to truth values: whether it is not 0).
Vars convert(Builder& b, std::span<const Var> in, const Attrs& attrs) {
  const DType to = attrs.dtype("dtype");
  const bool weak = flag_or(attrs, "weak", false);
  const Number x{b, in[0]};
  if (to == DType::Bool) return {call("ne", {Expr{b, in[0]}, Expr{b, in[0]}.number(0.0)})};
  if (!runtime::is_complex(to)) return {cast_to(x.re, to, weak)};
  const DType part = runtime::part_of(to);
  return Number{cast_to(x.re, part, weak), cast_to(x.im, part, weak)}.made();
}

Vars constant(Builder& b, std::span<const Var>, const Attrs& attrs) {
  const bool weak = flag_or(attrs, "weak", false);
  const DType part = runtime::part_of(attrs.dtype("dtype"));
  const auto* whole = std::get_if<std::int64_t>(attrs.find("value"));
  const double value = whole ? static_cast<double>(*whole) : attrs.number("value");
  return Number{{b, ir::constant(b, value, part, weak)}, {b, ir::constant(b, 0, part, weak)}}.made();
}

Vars filled(Builder& b, std::span<const Var> in, const Attrs& attrs) {
  const Var like = ir::real_part(b, in[0]);
  const DType to = attrs.dtype("dtype");
  if (!runtime::is_complex(to)) return {b.call("fill_like", {like}, attrs)};
  Attrs re = attrs, im = attrs;
  re.set("dtype", runtime::part_of(to)), im.set("dtype", runtime::part_of(to));
  im.set("value", std::int64_t{0});
  return Number{{b, b.call("fill_like", {like}, re)}, {b, b.call("fill_like", {like}, im)}}.made();
}

ir::Compose bilinear(std::string_view row) {
  return [row](Builder& b, std::span<const Var> in, const Attrs& attrs) {
    const Number x{b, in[0]}, y{b, in[1]};
    const auto times = [&](const Expr& p, const Expr& q) {
      Vars operands{p, q};
      operands.insert(operands.end(), in.begin() + 2, in.end());
      return Expr{b, b.emit(b.table().at(row), operands, attrs).at(0)};
    };
    return Number{times(x.re, y.re) - times(x.im, y.im), times(x.re, y.im) + times(x.im, y.re)}.made();
  };
}

// ---- functions of one number, by the names of their rows; the inverse circular and hyperbolic functions have the
// branch cuts of NumPy (Kahan, "Branch cuts for complex elementary functions", 1987)

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

using Formula = Number (*)(const Number&);
constexpr std::pair<std::string_view, Formula> kFormulas[] = {
    {"squared",
     [](const Number& x) {
       return Number{(x.re - x.im) * (x.re + x.im), 2.0 * (x.re * x.im)};
     }},
    {"exp", exponential},
    {"log", logarithm},
    {"sqrt", root},
    {"rsqrt",
     [](const Number& x) {
       const Number below = root(x);
       Expr one = below.re.number(1);
       return quotient({one, one * 0.0}, below);
     }},
    // exp(a) cos(b) - 1 as expm1(a) cos(b) - 2 sin(b / 2) ** 2
    {"expm1",
     [](const Number& x) {
       Expr half = call("sin", {0.5 * x.im});
       return Number{call("expm1", {x.re}) * call("cos", {x.im}) - 2.0 * half * half,
                     call("exp", {x.re}) * call("sin", {x.im})};
     }},
    // Near 0 the size of 1 + x as a number beside 1.
    {"log1p",
     [](const Number& x) {
       const Number moved = plus(x, 1);
       Expr near = stdlib::lt(maximum(size_of_part(x.re), size_of_part(x.im)), 0.5);
       Expr beside = x.re * (x.re + 2.0) + x.im * x.im;
       Expr small = 0.5 * call("log1p", {select(near, beside, 0.0)});
       const Number far = logarithm(moved);
       return Number{select(near, small, far.re), far.im};
     }},
    // (1 + tanh(x / 2)) / 2, which stays finite.
    {"sigmoid",
     [](const Number& x) {
       const Number t = tangent_hyperbolic({0.5 * x.re, 0.5 * x.im});
       return Number{0.5 * t.re + 0.5, 0.5 * t.im};
     }},
    {"sin",
     [](const Number& x) {
       return Number{call("sin", {x.re}) * call("cosh", {x.im}), call("cos", {x.re}) * call("sinh", {x.im})};
     }},
    {"cos",
     [](const Number& x) {
       return Number{call("cos", {x.re}) * call("cosh", {x.im}), -(call("sin", {x.re}) * call("sinh", {x.im}))};
     }},
    {"tan", [](const Number& x) { return turned_back(tangent_hyperbolic(turned(x))); }},
    {"sinh",
     [](const Number& x) {
       return Number{call("sinh", {x.re}) * call("cos", {x.im}), call("cosh", {x.re}) * call("sin", {x.im})};
     }},
    {"cosh",
     [](const Number& x) {
       return Number{call("cosh", {x.re}) * call("cos", {x.im}), call("sinh", {x.re}) * call("sin", {x.im})};
     }},
    {"tanh", tangent_hyperbolic},
    {"asin", arc_sine},
    {"acos",
     [](const Number& x) {
       const Number below = root(plus(negative(x), 1)), above = root(plus(x, 1));
       return Number{2.0 * atan2(below.re, above.re), call("asinh", {product(conjugate(above), below).im})};
     }},
    {"atan", [](const Number& x) { return turned_back(arc_tangent_hyperbolic(turned(x))); }},
    {"asinh", [](const Number& x) { return turned_back(arc_sine(turned(x))); }},
    {"acosh",
     [](const Number& x) {
       const Number below = root(plus(x, -1)), above = root(plus(x, 1));
       return Number{call("asinh", {product(conjugate(below), above).re}), 2.0 * atan2(below.im, above.re)};
     }},
    {"atanh", arc_tangent_hyperbolic},
    {"sign",
     [](const Number& x) {
       Expr r = size(x), none = stdlib::eq(r, 0.0), by = select(none, 1.0, r);
       return Number{x.re / by, x.im / by};
     }},
};

}  // namespace

ir::OfComplex function(std::string_view name) {
  for (const auto& [called, formula] : kFormulas)
    if (called == name)
      return [formula = formula](Builder& b, std::span<const Var> in, const Attrs&) -> Vars {
        return formula({b, in[0]}).made();
      };
  return {};
}

}  // namespace complex

namespace {

ir::KindFn part_kind(std::string_view name) {
  return [name](const OpCall& call) {
    const Type& x = call.in[0];
    if (!runtime::is_complex(x.dtype))
      fail("type", std::string(name) + " is for complex numbers, got " + runtime::to_string(x));
    return std::vector<Kind>{{runtime::part_of(x.dtype), x.weak}};
  };
}

void register_parts(OpTable& t) {
  OpDef pair = internal_row("complex_pair(re, im)", "The complex number of two parts.", broadcast_factors);
  pair.dtype = {Operands::Promote, [](const OpCall& call) {
                  const Type& x = call.in[0];
                  if (x.dtype != DType::F32 && x.dtype != DType::F64)
                    fail("type", "complex_pair is for f32 and f64, got " + runtime::to_string(x));
                  return std::vector<Kind>{{runtime::complex_of(x.dtype), x.weak}};
                }};
  pair.derivative =
      Transposes{{}, true, [](Builder& b, const NodeView&, int operand, std::span<const Var> ct, const Type& want) {
                   Var g = operand == 0 ? ir::real_part(b, ct[0]) : ir::neg(b, ir::imag_part(b, ct[0]));
                   return ir::unbroadcast(b, g, want);
                 }};
  pair.kernel = runtime::Code::Complex;
  pair.samples = "[4, 6] [4, 6]; [4, 1] [1, 4]; [] [4]; f64[2] f64[2]";
  t.add(std::move(pair));
  const auto part = [&](std::string_view signature, std::string_view doc, runtime::Code code) {
    OpDef row = internal_row(signature, doc, broadcast_factors);
    row.dtype.result = part_kind(row.name);
    const bool first = code == runtime::Code::Real;
    row.derivative = linear([first](Builder& b, const NodeView&, Var ct, const Type&) {
      Var none = ir::zeros(b, b.type(ct));
      return first ? ir::complex_of(b, ct, none) : ir::complex_of(b, none, ir::neg(b, ct));
    });
    row.kernel = code;
    row.samples = "c64[4, 6]; c64[]; c128[2, 4]";
    t.add(std::move(row));
  };
  part("real_part(x)", "The real part of a complex number.", runtime::Code::Real);
  part("imag_part(x)", "The imaginary part of a complex number.", runtime::Code::Imag);
}

// Of numbers of any type.
void register_of_any(OpTable& t) {
  const auto of_any = [&](std::string_view signature, std::string_view doc, ir::Compose compose,
                          ir::Samples samples = unary_samples()) -> OpDef& {
    return add_composite(t, signature, doc, samples, std::move(compose));
  };
  of_any(
      "complex(re, im)", "The complex number of two parts: c128 of f64, else c64.",
      [](Builder& b, std::span<const Var> in, const Attrs&) -> Vars {
        const Kind kind = promoted(b, in);
        const DType part = kind.dtype == DType::F64 ? DType::F64 : DType::F32;
        return {ir::complex_of(b, promote_to(b, in[0], {part, kind.weak}), promote_to(b, in[1], {part, kind.weak}))};
      },
      binary_samples());
  of_any("real(x)", "The real part; of a real number the number itself.",
         [](Builder& b, std::span<const Var> in, const Attrs&) -> Vars { return {ir::real_part(b, in[0])}; });
  of_any("imag(x)", "The imaginary part; of a real number 0.",
         [](Builder& b, std::span<const Var> in, const Attrs&) -> Vars { return {ir::imag_part(b, in[0])}; });
  of_any("conj(x)", "The number with the opposite imaginary part.",
         [](Builder& b, std::span<const Var> in, const Attrs&) -> Vars {
           if (!ir::is_complex(b, in[0])) return {in[0]};
           return {ir::complex_of(b, ir::real_part(b, in[0]), ir::neg(b, ir::imag_part(b, in[0])))};
         })
      .aliases = {"conjugate"};
  of_any(
      "angle(x)", "The angle of a complex number in the plane, in radians.",
      [](Builder& b, std::span<const Var> in, const Attrs&) -> Vars {
        return {b.call("atan2", {ir::imag_part(b, in[0]), ir::real_part(b, in[0])})};
      },
      unary_samples({0.3, 2}));
}

}  // namespace

void register_complex(OpTable& t) {
  register_parts(t);
  register_of_any(t);
}

}  // namespace shard::stdlib
