// Products of vectors and matrices that are no contractions (and vdot): kron, cross, convolve, correlate, polyval. The
// row convolve_lines is the whole convolution of two lines; its derivatives are parts of convolutions of the same kind.
#include <algorithm>

#include "stdlib/ops/complex.h"
#include "stdlib/ops/hlo.h"
#include "stdlib/ops/moving/moving_steps.h"
#include "stdlib/ops/ops.h"
#include "stdlib/ops/products/matrices.h"

namespace shard::stdlib {
namespace {

// ---- convolve_lines(x [lead..., n], y [lead..., m]) -> [lead..., n + m - 1]

std::int64_t line_length(const Type& t) { return t.shape.back(); }

FactorRule line_factors(const OpCall& call) {
  const Type &x = call.in[0], &y = call.in[1];
  if (x.shape.empty() || y.rank() != x.rank() || !std::equal(x.shape.begin(), x.shape.end() - 1, y.shape.begin()) ||
      line_length(x) == 0 || line_length(y) == 0)
    fail("shape", "no convolution of " + runtime::to_string(x) + " and " + runtime::to_string(y));
  RuleBuilder r;
  ir::ValueFactors lead = r.dims({x.shape.begin(), x.shape.end() - 1});
  const auto line = [&](std::int64_t n) {
    auto made = lead;
    made.push_back({r.factor(n, FactorKind::Whole)});
    return made;
  };
  return r.made({line(line_length(x)), line(line_length(y))}, {line(line_length(x) + line_length(y) - 1)});
}

template <class T, class Sum>
void convolve_line(const T* x, std::int64_t n, std::int64_t x_step, const T* y, std::int64_t m, std::int64_t y_step,
                   T* out) {
  std::vector<Sum> sums(static_cast<std::size_t>(n + m - 1), Sum{0});
  for (std::int64_t j = 0; j < m; ++j) {
    const Sum by = static_cast<Sum>(y[j * y_step]);
    for (std::int64_t i = 0; i < n; ++i) sums[static_cast<std::size_t>(i + j)] += static_cast<Sum>(x[i * x_step]) * by;
  }
  for (std::size_t i = 0; i < sums.size(); ++i) out[i] = static_cast<T>(sums[i]);
}

BoundKernel bind_convolve(const KernelCall& c) {
  View x = c.in[0], y = c.in[1], out = c.out[0];
  const Shape lead(out.shape.begin(), out.shape.end() - 1);
  std::vector<runtime::Strides> strides;
  for (const View* v : {&x, &y, &out}) strides.emplace_back(v->strides.begin(), v->strides.end() - 1);
  return [=](void* const* in, void* const* o) {
    for_each_block(lead, strides, [&](const std::vector<std::int64_t>& offset) {
      const auto run = [&](auto type) {
        using T = decltype(type);
        convolve_line<T, double>(static_cast<const T*>(in[0]) + offset[0], x.shape.back(), x.strides.back(),
                                 static_cast<const T*>(in[1]) + offset[1], y.shape.back(), y.strides.back(),
                                 static_cast<T*>(o[0]) + offset[2]);
      };
      x.dtype == DType::F64 ? run(double{}) : run(float{});
    });
  };
}

Var reversed(Builder& b, Var x) { return b.call("rev", {x}, {{"axes", Ints{-1}}}); }

void register_lines(OpTable& t) {
  OpDef row = internal_row("convolve_lines(x, y)", "The whole convolution of lines, in f32 or f64.", line_factors);
  row.dtype.operands = Operands::Promote;
  row.dtype.result = [](const OpCall& call) {
    for (auto& type : call.in)
      if (type.dtype != DType::F32 && type.dtype != DType::F64)
        fail("type", "convolve_lines is for f32 and f64, got " + runtime::to_string(type));
    return std::vector<Kind>{call.in[0].kind()};
  };
  row.derivative = Transposes{
      {}, false, [](Builder& b, const NodeView& n, int operand, std::span<const Var> ct, const Type&) -> Var {
        const std::int64_t mine = line_length(n.call.in[static_cast<std::size_t>(operand)]),
                           other = line_length(n.call.in[static_cast<std::size_t>(1 - operand)]);
        Var whole = b.emit1(n.call.op, {ct[0], reversed(b, n.in[static_cast<std::size_t>(1 - operand)])});
        return part_of(b, whole, -1, other - 1, other - 1 + mine);
      }};
  row.of_complex = complex::bilinear("convolve_lines");
  row.hlo = convolve_hlo;
  row.kernel = ir::KernelFn(bind_convolve);
  row.explicit_refuses = [](const OpCall& call, const FactorRule&) -> std::optional<std::string> {
    for (const Type& x : call.in)
      if (is_split(x, x.rank() - 1))
        return "a convolution of " + runtime::to_string(x) + ", which is split over " + axes_text(x, x.rank() - 1) +
               ": `shard` it so that it is whole first";
    for (int d = 0; d + 1 < call.in[0].rank(); ++d)
      if (laid_out(call.in[0]) && laid_out(call.in[1]) && axes_text(call.in[0], d) != axes_text(call.in[1], d))
        return "a convolution of " + runtime::to_string(call.in[0]) + " and " + runtime::to_string(call.in[1]) +
               ", which are laid out in two ways: `shard` one of them first";
    return std::nullopt;
  };
  row.flops = 2;
  row.samples = "[6] [4]; [2, 4] [2, 3]; f64[1] f64[4]";
  t.add(std::move(row));
}

// A part of the whole convolution: all, as long as the longer, or where the shorter lies inside.
ir::Compose convolution(std::string_view op, bool turned) {
  return [op, turned](Builder& b, std::span<const Var> in, const Attrs& attrs) -> Vars {
    const std::string mode = text_or(attrs, "mode", turned ? "valid" : "full");
    if (mode != "full" && mode != "same" && mode != "valid")
      fail("value", std::string(op) + ": mode is \"full\", \"same\" or \"valid\", got \"" + mode + "\"");
    for (Var v : in)
      if (b.type(v).rank() != 1 || b.type(v).shape[0] == 0)
        fail("shape", std::string(op) + " takes two vectors, got " + runtime::to_string(b.type(in[0])) + " and " +
                          runtime::to_string(b.type(in[1])));
    Kind kind = promoted(b, in);
    kind.dtype = runtime::to_inexact(kind.dtype);
    const bool kept = kind.dtype == DType::F64 || runtime::is_complex(kind.dtype);
    const DType wide = kept ? kind.dtype : DType::F32;
    Var x = ir::convert(b, in[0], wide), y = ir::convert(b, in[1], wide);
    const std::int64_t n = b.type(x).shape[0], m = b.type(y).shape[0], longer = std::max(n, m),
                       shorter = std::min(n, m);
    Var whole = b.call("convolve_lines", {x, turned ? reversed(b, b.call("conj", {y})) : y});
    std::int64_t from = 0, to = longer + shorter - 1;
    if (mode == "valid") from = shorter - 1, to = longer;
    // Where the shorter one has an even length, which element is its middle depends on which of both is turned.
    if (mode == "same") from = turned && n < m ? shorter / 2 : (shorter - 1) / 2, to = from + longer;
    return {promote_to(b, part_of(b, whole, -1, from, to), kind)};
  };
}

// ---- kron, cross, polyval

Vars kron(Builder& b, std::span<const Var> in, const Attrs&) {
  const Kind kind = promoted(b, in);
  Shape x = b.type(in[0]).shape, y = b.type(in[1]).shape;
  while (x.size() < y.size()) x.insert(x.begin(), 1);
  while (y.size() < x.size()) y.insert(y.begin(), 1);
  Shape spread_x, spread_y, merged_shape;
  for (std::size_t d = 0; d < x.size(); ++d) {
    spread_x.push_back(x[d]), spread_x.push_back(1);
    spread_y.push_back(1), spread_y.push_back(y[d]);
    std::int64_t n = 0;
    if (__builtin_mul_overflow(x[d], y[d], &n)) fail("shape", "kron: the result is too large");
    merged_shape.push_back(n);
  }
  Var made =
      ir::mul(b, expand(b, promote_to(b, in[0], kind), spread_x), expand(b, promote_to(b, in[1], kind), spread_y));
  for (std::size_t d = 0; d < x.size(); ++d) {  // one pair after the other: a reshape merges one
    Shape next = b.type(made).shape;
    next.erase(next.begin() + static_cast<std::ptrdiff_t>(d));
    next[d] = merged_shape[d];
    made = expand(b, made, next);
  }
  return {made};
}

Vars cross(Builder& b, std::span<const Var> in, const Attrs& attrs) {
  const Kind kind = promoted(b, in);
  std::vector<Expr> x, y;
  for (std::vector<Expr>* parts : {&x, &y}) {
    Var v = promote_to(b, in[parts == &y ? 1 : 0], kind);
    const Type t = b.type(v);
    const std::int64_t axis = from_end(integer_or(attrs, "axis", -1), t.rank(), "cross");
    const std::int64_t size = t.shape[static_cast<std::size_t>(from_front(axis, t.rank()))];
    if (size != 2 && size != 3) fail("shape", "cross takes vectors of 2 or 3 numbers, got " + runtime::to_string(t));
    for (std::int64_t i = 0; i < size; ++i) parts->push_back(element_of(b, v, axis, i));
  }
  if (x.size() == 2 && y.size() == 2) return {x[0] * y[1] - x[1] * y[0]};
  const auto third = [](const std::vector<Expr>& v) { return v.size() == 3 ? v[2] : zeros_as(v[0]); };
  Expr x2 = third(x), y2 = third(y);
  const Expr parts[] = {x[1] * y2 - x2 * y[1], x2 * y[0] - x[0] * y2, x[0] * y[1] - x[1] * y[0]};
  Vars grown;
  for (const Expr& p : parts) {
    Shape shape = p.type().shape;
    shape.push_back(1);
    grown.push_back(expand(b, p, shape));
  }
  const std::int64_t axis_in_result = from_end(integer_or(attrs, "axis", -1), b.type(grown[0]).rank(), "cross");
  return {move_axis(b, join_parts(b, grown, -1), -1, axis_in_result)};
}

// One sum over all elements; where the shapes are the same, dimension by dimension, so that layouts stay.
Vars vdot(Builder& b, std::span<const Var> in, const Attrs&) {
  Var x = b.call("conj", {in[0]}), y = in[1];
  const std::int64_t n = runtime::numel(b.type(x).shape);
  if (n != runtime::numel(b.type(y).shape))
    fail("shape", "vdot takes arrays of as many elements, got " + runtime::to_string(b.type(in[0])) + " and " +
                      runtime::to_string(b.type(in[1])));
  if (b.type(x).shape != b.type(y).shape) x = expand(b, x, {n}), y = expand(b, y, {n});
  const std::string letters = std::string("abcdefghijklmnopqrstuvwxyz").substr(0, b.type(x).shape.size());
  return {b.call("einsum", {x, y}, {{"spec", letters + "," + letters + "->"}})};
}

// p[0] x^(n-1) + ... + p[n-1], by Horner's rule.
Vars polyval(Builder& b, std::span<const Var> in, const Attrs&) {
  const Kind kind = promoted(b, in);
  Var p = promote_to(b, in[0], kind);
  if (b.type(p).shape.empty())
    fail("shape", "polyval takes the coefficients in a vector, got " + runtime::to_string(b.type(p)));
  Expr x{b, promote_to(b, in[1], kind)};
  const Shape rest(b.type(p).shape.begin() + 1, b.type(p).shape.end());
  const auto shape = runtime::broadcast(rest, x.type().shape);
  if (!shape)
    fail("shape", "polyval: " + runtime::to_string(b.type(in[0])) + " and " + runtime::to_string(b.type(in[1])) +
                      " do not fit together");
  Expr y{b, ir::broadcast_to(b, zeros_as(x), *shape)};
  for (std::int64_t i = 0; i < b.type(p).shape[0]; ++i) y = y * x + element_of(b, p, -b.type(p).rank(), i);
  return {y};
}

}  // namespace

void register_vectors(OpTable& t) {
  register_lines(t);
  add_composite(t, "kron(x, y)", "Every element of x times all of y, in blocks.",
                "[4, 2] [2, 4]; [4] [2, 2]; i32[2] [4]", kron);
  add_composite(t, "cross(x, y, axis: int = -1)", "The vector product of vectors of 3 (or 2) numbers.",
                "[4, 3] [4, 3]; [3, 4] [3, 4] axis=0; [4, 2] [2]; [3] [4, 2]", cross);
  add_composite(t, "vdot(x, y)", "The sum of the products of all elements, those of x conjugated.",
                "[6] [6]; [4, 6] [4, 6]; [2, 4] [8]; [] []; i32[4] i32[4]", vdot);
  add_composite(
      t, "convolve(x, y, mode: str = \"full\")",
      "The convolution of two vectors: all of it, as long as the longer one (same), or where the shorter one lies "
      "inside (valid).",
      "[6] [4] mode='full'; [4] [6] mode='same'; [8] [3] mode='valid'", convolution("convolve", false));
  add_composite(t, "correlate(x, y, mode: str = \"valid\")", "The convolution of a vector with the reverse of another.",
                "[6] [4] mode='full'; [4] [6] mode='same'; [8] [3] mode='valid'", convolution("correlate", true));
  add_composite(t, "polyval(p, x)", "The polynomial with coefficients p, the highest power first, at x.",
                "[3] [4, 6]; [2, 4] [4]; i32[3] i32[4]", polyval);
}

}  // namespace shard::stdlib
