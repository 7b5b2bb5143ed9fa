// Elementwise arithmetic, comparisons, logic and bits. Functions such as exp and sin are in math.cpp; relu, clip and
// other composites in activation.cpp. Ties and edges follow JAX: maximum and minimum share the derivative where both
// are equal, x ** 0 has none.
#include "stdlib/ops/elementwise.h"

#include <algorithm>
#include <cmath>

#include "stdlib/ops/complex.h"
#include "stdlib/ops/ops.h"

namespace shard::stdlib {

using runtime::Code;

ir::Samples unary_samples(Domain d, std::string_view also) { return {"[3, 4]; []; f64[2, 2, 4]; bf16[4]", d, also}; }

ir::Samples binary_samples(Domain d, std::string_view also) {
  return {"[4, 6] [4, 6]; [2, 4, 6] [6]; [4, 1] [1, 4]; [] [4]; f64[2] f64[2]; bf16[4] [2, 4]", d, also};
}

ir::KindFn always(DType dtype) {
  return [dtype](const OpCall&) { return std::vector<Kind>{{dtype, false}}; };
}

OpDef unary_row(std::string_view signature, std::string_view doc, Code code, Operands operands, Partial1 partial,
                Domain domain) {
  OpDef row = unary_zero_row(signature, doc, code, operands, domain);
  row.derivative = ir::Partials{[partial](Builder& b, const NodeView& n) -> Vars {
    return {partial({b, n.in[0]}, {b, n.out[0]})};
  }};
  return row;
}

OpDef unary_zero_row(std::string_view signature, std::string_view doc, Code code, Operands operands, Domain domain) {
  OpDef row = row_of(signature, doc, broadcast_factors);
  row.dtype.operands = operands;
  row.derivative = ir::Zero{};
  row.kernel = code;
  row.of_complex = complex::function(row.name);
  row.samples = unary_samples(domain);
  return row;
}

OpDef binary_row(std::string_view signature, std::string_view doc, Code code, Operands operands,
                 ir::Derivative derivative, Domain domain) {
  OpDef row = row_of(signature, doc, broadcast_factors);
  row.dtype.operands = operands;
  row.derivative = std::move(derivative);
  row.kernel = code;
  row.samples = binary_samples(domain);
  return row;
}

OpDef& add_composite(OpTable& t, std::string_view signature, std::string_view doc, ir::Samples samples,
                     ir::Compose compose) {
  OpDef row = row_of(signature, doc);
  row.dtype.operands = Operands::AsIs;
  row.kernel = std::move(compose);
  row.samples = samples;
  return t.add(std::move(row));
}

ir::Derivative partials2(Partial2 of) {
  return ir::Partials{[of](Builder& b, const NodeView& n) -> Vars {
    auto [dx, dy] = of({b, n.in[0]}, {b, n.in[1]}, {b, n.out[0]});
    return {dx, dy};
  }};
}

namespace {

// Result kinds of rows that take less than their code does, or say it in words of their own.
ir::KindFn only(std::string_view op, runtime::TypeSet types, std::string_view advice = "") {
  return [=](const OpCall& call) {
    for (auto& type : call.in)
      if (!runtime::holds(types, type.dtype))
        fail("type", std::string(op) + " is for " + runtime::to_string(types) + std::string(advice) + ", got " +
                         runtime::to_string(type));
    return std::vector<Kind>{call.in[0].kind()};
  };
}
// Arithmetic that counts with truth values: where no operand is anything else, they are i32 (JAX).
Vars counted(Builder& b, std::span<const Var> in) {
  Vars out(in.begin(), in.end());
  if (!std::all_of(in.begin(), in.end(), [&](Var v) { return b.type(v).dtype == DType::Bool; })) return out;
  for (Var& v : out) v = ir::convert(b, v, DType::I32);
  return out;
}

// `row` as users call it, on numbers.
OpDef& add_counting(OpTable& t, std::string_view signature, OpDef row) {
  row.internal = true;
  const OpDef& inner = t.add(std::move(row));
  return add_composite(t, signature, inner.doc, inner.samples,
                       [name = inner.name](Builder& b, std::span<const Var> in, const Attrs&) -> Vars {
                         return b.emit(b.table().at(name), counted(b, in), {});
                       });
}

// d/dx of max(x, y): 1 where x is the chosen one, a half where both are equal.
Expr share(const Expr& chosen, const Expr& tie, const Expr& like) {
  return select(chosen, 1.0, select(tie, 0.5, like.number(0.0)));
}

// The value of a scalar constant of the graph under construction, where `v` is one.
std::optional<std::int64_t> constant_integer(const Builder& b, Var v) {
  if (!b.type(v).shape.empty() || !runtime::is_integer(b.type(v).dtype)) return std::nullopt;
  const ir::Node* made = b.maker(v);
  if (!made || made->op != b.core().constant) return std::nullopt;
  const auto* i = std::get_if<std::int64_t>(made->attrs.find("value"));
  return i ? std::optional(*i) : std::nullopt;
}

// x ** n for a known small n by multiplications, as JAX does for Python's integers: exact on integers, no logarithm on
// floats.
constexpr std::int64_t kLargestPower = std::int64_t{1} << 31;
Expr integer_power(Expr x, std::int64_t n) {
  Expr power = x;
  std::optional<Expr> made;
  for (auto k = n; k > 0; k >>= 1) {
    if (k & 1) made = made ? *made * power : power;
    if (k > 1) power = power * power;
  }
  return *made;
}

// The same for an exponent that is known when the program runs, of complex numbers, whose logarithm would cost digits:
// by the exponent's bits, as far as kBits go.
Expr complex_integer_power(Expr x, const Expr& n) {
  constexpr int kBits = 5;
  const auto chosen = [](const Expr& c, const Expr& a, const Expr& b) { return call("where", {c, a, b}); };
  const Expr size = call("abs", {n}), one = x.number(1);
  Expr power = x, made = one;
  for (int k = 0; k < kBits; ++k) {
    const Expr rest = call("shift_right", {size, size.number(k)});
    made = chosen(eq(call("bit_and", {rest, rest.number(1)}), 1.0), made * power, made);
    if (k + 1 < kBits) power = chosen(gt(rest, 1.0), power * power, one);  // what is not needed must not overflow
  }
  made = chosen(lt(n, 0.0), one / made, made);
  return chosen(lt(size, double(1 << kBits)), made, call("power", {x, n}));
}

// x ** y as users write it. By integers the derivative is 0 where the exponent is 0, at x = 0 too (JAX).
Vars powered(Builder& b, std::span<const Var> in, const Attrs&) {
  const Type x = b.type(in[0]), y = b.type(in[1]);
  auto n = constant_integer(b, in[1]);
  const bool by_integer = y.weak && runtime::is_integer(y.dtype) && y.shape.empty();
  if (runtime::is_complex(x.dtype) && by_integer) {
    const Expr base{b, in[0]};
    if (!n) return {complex_integer_power(base, {b, in[1]})};
    if (*n > 0 && *n < kLargestPower) return {integer_power(base, *n)};
    if (*n < 0 && *n > -kLargestPower) return {1.0 / integer_power(base, -*n)};
  }
  if (n && *n < 0 && y.weak && !runtime::is_inexact(x.dtype))
    fail("value", runtime::to_string(x) + " ** " + std::to_string(*n) +
                      ": integers have no negative powers; for floats write `" + std::to_string(*n) + ".0`");
  if (n && *n >= 1 && *n <= 16 && y.weak && x.dtype != DType::Bool) return {integer_power({b, in[0]}, *n)};
  if (!runtime::is_float(x.dtype) || runtime::is_float(y.dtype))
    return b.emit(b.table().at("power"), counted(b, in), {});
  Expr exponent{b, promote_to(b, in[1], promoted(b, in))}, none = eq(exponent, 0.0);
  Expr power = call("power", {{b, in[0]}, select(none, 1.0, exponent)});
  return {select(none, 1.0, power)};
}

void register_arithmetic(OpTable& t) {
  // Sums and differences are linear in both operands together: an unreduced sum passes through them.
  auto linear2 = [](bool negate) {
    return Transposes{
        {}, true, [negate](Builder& b, const NodeView&, int operand, std::span<const Var> ct, const Type& want) {
          Var g = negate && operand == 1 ? ir::neg(b, ct[0]) : ct[0];
          return ir::unbroadcast(b, g, want);
        }};
  };
  t.add(binary_row("add(x, y)", "Sum, element by element.", Code::Add, Operands::Promote, linear2(false))).of_complex =
      ir::OnParts{};
  OpDef sub = binary_row("sub(x, y)", "Difference, element by element.", Code::Sub, Operands::Promote, linear2(true));
  sub.dtype.result = only("`-`", runtime::kNumbers, " (for bools write `^` or `~`)");
  sub.aliases = {"subtract"};
  sub.of_complex = ir::OnParts{};
  t.add(std::move(sub));
  OpDef& product = t.add(binary_row(
      "mul(x, y)", "Product, element by element.", Code::Mul, Operands::Promote,
      Transposes{{}, false, [](Builder& b, const NodeView& n, int operand, std::span<const Var> ct, const Type& want) {
                   return ir::unbroadcast(b, ir::mul(b, ct[0], n.in[static_cast<std::size_t>(1 - operand)]), want);
                 }}));
  product.aliases = {"multiply"};
  product.of_complex = complex::mul;
  ir::Derivative of_quotient = partials2([](Expr, Expr y, Expr z) { return std::pair{1.0 / y, -(z / y)}; });
  std::get<ir::Partials>(of_quotient).linear = {0};
  OpDef& quotient = t.add(binary_row("div(x, y)", "True quotient; integers give f32.", Code::Div, Operands::Inexact,
                                     std::move(of_quotient), {0.5, 3}));
  quotient.aliases = {"divide"};
  quotient.of_complex = complex::div;
  add_counting(
      t, "floor_divide(x, y)",
      binary_row("quotient(x, y)", "Quotient rounded down.", Code::FloorDiv, Operands::Promote, ir::Zero{}, {0.5, 3}));
  const auto of_remainder = [](Expr x, Expr y, Expr) { return std::pair{x.number(1.0), -call("quotient", {x, y})}; };
  add_counting(t, "mod(x, y)",
               binary_row("remainder(x, y)", "Remainder, with the sign of the divisor.", Code::Mod, Operands::Promote,
                          partials2(of_remainder), {0.5, 3}))
      .aliases = {"remainder"};
  OpDef neg = row_of("neg(x)", "The negative.", broadcast_factors);
  neg.derivative = linear([](Builder& b, const NodeView&, Var ct, const Type&) { return ir::neg(b, ct); });
  neg.dtype.result = only("`-`", runtime::kNumbers, " (for bools write `~`)");
  neg.kernel = Code::Neg;
  neg.of_complex = ir::OnParts{};
  neg.samples = unary_samples();
  t.add(std::move(neg));

  // The derivative wrt y is 0 where x is 0 (JAX): no nan from 0 * log 0. That wrt x is nan at 0 ** 0.0, as JAX's is.
  OpDef power = binary_row("power(x, y)", "x to the power y, without regard to whether y is a known integer.",
                           Code::Pow, Operands::Promote, partials2([](Expr x, Expr y, Expr z) {
                             Expr dx = y * call("power", {x, y - 1.0});
                             Expr dy = call("log", {select(eq(x, 0.0), 1.0, x)}) * z;
                             return std::pair{dx, dy};
                           }),
                           {0.5, 2});
  power.of_complex = complex::power;
  power.internal = true;
  t.add(std::move(power));
  add_composite(t, "pow(x, y)", "x to the power y; a host integer keeps the type of x.", binary_samples({0.5, 2}),
                powered)
      .aliases = {"power"};
  t.add(binary_row("maximum(x, y)", "The larger of both; nan where one is nan.", Code::Max, Operands::Promote,
                   partials2([](Expr x, Expr y, Expr z) {
                     Expr tie = eq(x, y);
                     return std::pair{share(gt(x, y), tie, z), share(lt(x, y), tie, z)};
                   })));
  t.add(binary_row("minimum(x, y)", "The smaller of both; nan where one is nan.", Code::Min, Operands::Promote,
                   partials2([](Expr x, Expr y, Expr z) {
                     Expr tie = eq(x, y);
                     return std::pair{share(lt(x, y), tie, z), share(gt(x, y), tie, z)};
                   })));
  t.add(binary_row("atan2(y, x)", "The angle of the point (x, y), in radians.", Code::Atan2, Operands::Inexact,
                   partials2([](Expr y, Expr x, Expr) {
                     Expr r = x * x + y * y;
                     return std::pair{x / r, -(y / r)};
                   }),
                   {0.5, 2}))
      .aliases = {"arctan2"};
}

void register_comparisons(OpTable& t) {
  auto compare = [&](std::string_view signature, std::string_view doc, Code code) -> OpDef& {
    OpDef row = binary_row(signature, doc, code, Operands::Promote, ir::Zero{});
    row.samples = binary_samples(kDomain, "i32[8] 0..3 i32[8] 0..3");
    return t.add(std::move(row));
  };
  compare("eq(x, y)", "Whether elements are equal.", Code::Eq).of_complex = complex::eq;
  compare("ne(x, y)", "Whether elements differ.", Code::Ne).of_complex = complex::ne;
  compare("lt(x, y)", "Whether x is smaller.", Code::Lt);
  compare("le(x, y)", "Whether x is smaller or equal.", Code::Le);
  compare("gt(x, y)", "Whether x is larger.", Code::Gt);
  compare("ge(x, y)", "Whether x is larger or equal.", Code::Ge);
  auto test = [&](std::string_view signature, std::string_view doc, Code code, ir::OfComplex of_complex) {
    t.add(unary_zero_row(signature, doc, code, Operands::Inexact)).of_complex = std::move(of_complex);
  };
  test("isnan(x)", "Whether elements are not a number.", Code::IsNan, complex::of_either("isnan"));
  test("isinf(x)", "Whether elements are infinite.", Code::IsInf, complex::of_either("isinf"));
  test("isfinite(x)", "Whether elements are neither infinite nor nan.", Code::IsFinite, ir::Compose(complex::isfinite));
}

void register_bits(OpTable& t) {
  constexpr const char* whole = "i32[4, 6] -8..8 i32[4, 6] 0..5; u8[4] 0..200 u8[2, 4] 0..5";
  constexpr const char* bools = "bool[4, 6] 0..2 bool[4, 6] 0..2; bool[] 0..2 bool[4] 0..2";
  auto bit_row = [](std::string_view signature, std::string_view doc, Code code, ir::Samples samples) {
    OpDef row = binary_row(signature, doc, code, Operands::Promote, ir::Zero{});
    row.samples = samples;
    return row;
  };
  const ir::Samples all_bits{whole, {}, bools};
  t.add(bit_row("bit_and(x, y)", "Bits set in both, or both true.", Code::BitAnd, all_bits));
  t.add(bit_row("bit_or(x, y)", "Bits set in one of both, or one true.", Code::BitOr, all_bits));
  t.add(bit_row("bit_xor(x, y)", "Bits that differ.", Code::BitXor, all_bits));
  const auto truth = [&](std::string_view signature, std::string_view doc, Code code) {
    OpDef row = bit_row(signature, doc, code, bools);
    row.dtype.result = only(row.name, runtime::kBools);
    t.add(std::move(row));
  };
  truth("logical_and(x, y)", "Whether both are true.", Code::BitAnd);
  truth("logical_or(x, y)", "Whether one is true.", Code::BitOr);
  const auto shift = [&](std::string_view signature, std::string_view inner, std::string_view doc, Code code) {
    add_counting(t, signature, bit_row(inner, doc, code, whole));
  };
  shift("shift_left(x, y)", "bits_up(x, y)", "Bits moved up.", Code::Shl);
  shift("shift_right(x, y)", "bits_down(x, y)", "Bits moved down; signed numbers keep their sign.", Code::Shr);

  OpDef flip = unary_zero_row("bit_flip(x)", "All bits of integers turned over.", Code::BitNot, Operands::Promote);
  flip.dtype.result = only("bit_flip", runtime::kIntegers);
  flip.samples = "i32[4, 6] -8..8";
  flip.internal = true;
  t.add(std::move(flip));
  OpDef negate = unary_zero_row("logical_not(x)", "Whether it is not true.", Code::Not, Operands::AsIs);
  negate.dtype.result = only("logical_not", runtime::kBools);
  negate.samples = "bool[4, 6] 0..2; bool[] 0..2";
  t.add(std::move(negate));
  add_composite(t, "bit_not(x)", "All bits turned over, or the opposite truth.", "i32[4] -8..8; bool[4] 0..2",
                [](Builder& b, std::span<const Var> in, const Attrs&) -> Vars {
                  return {b.call(b.type(in[0]).dtype == DType::Bool ? "logical_not" : "bit_flip", {in[0]})};
                });
}

void register_select(OpTable& t) {
  OpDef select =
      internal_row("select(c, x, y)", "x where c is true, else y; x and y of one element type.", broadcast_factors);
  select.dtype.result = [](const OpCall& call) {
    if (call.in[0].dtype != DType::Bool) fail("type", "select chooses by bools, got " + runtime::to_string(call.in[0]));
    if (call.in[1].dtype != call.in[2].dtype)
      fail("type", "select takes cases of one element type, got " + runtime::to_string(call.in[1]) + " and " +
                       runtime::to_string(call.in[2]));
    return std::vector<Kind>{{call.in[1].dtype, call.in[1].weak && call.in[2].weak}};
  };
  select.derivative = Transposes{
      {1, 2}, true, [](Builder& b, const NodeView& n, int operand, std::span<const Var> ct, const Type& want) {
        Expr c{b, n.in[0]}, g{b, ct[0]};
        return ir::unbroadcast(b, operand == 1 ? stdlib::select(c, g, 0.0) : stdlib::select(c, 0.0, g), want);
      }};
  select.kernel = Code::Select;
  select.of_complex = ir::OnParts{};
  select.explicit_refuses = [](const OpCall& call, const FactorRule&) -> std::optional<std::string> {
    const Type &which = call.in[0], &x = call.in[1], &y = call.in[2];
    const bool arrays = !x.shape.empty() && !y.shape.empty() &&
                        which.shape == x.shape;  // with a number in it the condition just follows
    if (arrays && laid_out(which) && laid_out(x) && !same_layout(which, x))
      return "the condition of `where` must be laid out as its cases are, got " + runtime::to_string(which) + " and " +
             runtime::to_string(x) + "; `shard` one of them first";
    if (!which.shape.empty() && which.shape != x.shape) return std::nullopt;  // all three broadcast, as elsewhere
    if (x.shape.empty() || y.shape.empty() || !laid_out(x) || !laid_out(y) || x.shape != y.shape || same_layout(x, y))
      return std::nullopt;
    return "the two cases of `where` must have one layout, got " + runtime::to_string(x) + " and " +
           runtime::to_string(y) + "; `shard` one of them first";
  };
  select.samples = "bool[4, 6] 0..2 [4, 6] [4, 6]; bool[4, 1] 0..2 [4, 6] []; bool[] 0..2 i32[4] i32[4]";
  t.add(std::move(select));

  OpDef convert = internal_row("convert(x, dtype: dtype, weak: bool = false)",
                               "Another element type; fractions are cut off.", broadcast_factors);
  convert.dtype.result = [](const OpCall& call) {
    DType to = call.attrs.dtype("dtype");
    if ((call.in[0].dtype == DType::Key) != (to == DType::Key))
      fail("type",
           "a key is not converted: " + runtime::to_string(call.in[0]) + " to " + std::string(runtime::name(to)));
    return std::vector<Kind>{{to, flag_or(call.attrs, "weak", false)}};
  };
  convert.derivative = linear([](Builder& b, const NodeView& n, Var ct, const Type& want) {
    // Through integers nothing flows.
    bool flows = runtime::is_float(want.dtype) && runtime::is_float(n.call.attrs.dtype("dtype"));
    return flows ? ir::convert(b, ct, want.dtype, want.weak) : ir::zeros(b, want);
  });
  convert.kernel = Code::Convert;
  convert.of_complex = complex::convert;
  convert.samples = "[4, 6] -3..3 dtype=f64; [4, 6] -3..3 dtype=i32; i32[4] dtype=f32; f64[4] dtype=f32";
  t.add(std::move(convert));

  OpDef stop = row_of("stop_gradient(x)", "The value itself (a tree too), through which no derivative flows.",
                      broadcast_factors);
  stop.of_trees = true;
  stop.derivative = ir::Zero{};
  stop.kernel = Code::Identity;
  stop.of_complex = ir::OnParts{};
  stop.samples = "[4, 6]; i32[4]";
  stop.aliases = {"detach"};
  t.add(std::move(stop));
}

}  // namespace

void register_elementwise(OpTable& table) {
  register_arithmetic(table);
  register_comparisons(table);
  register_bits(table);
  register_select(table);
}

}  // namespace shard::stdlib
