// Fourier transforms: one row that takes and gives the two parts of lines, and what users call, made of it. Exchanging
// the parts on both sides makes the inverse of it (and its transpose), so that it needs no direction.
#include "runtime/kernels/fourier.h"

#include "interpreter/hlo/writer.h"
#include "interpreter/ir/complex.h"
#include "stdlib/ops/elementwise.h"
#include "stdlib/ops/moving/parts.h"
#include "stdlib/ops/ops.h"

namespace shard::stdlib {
namespace {

FactorRule fourier_factors(const OpCall& call) {
  const Type &re = call.in[0], &im = call.in[1];
  if (re.shape.empty() || re.shape.back() == 0 || re.shape != im.shape)
    fail("shape", "no Fourier transform of " + runtime::to_string(re) + " and " + runtime::to_string(im));
  RuleBuilder r;
  auto dims = r.dims(re.shape);
  r.rule.factors[static_cast<std::size_t>(dims.back()[0])].kind = FactorKind::Whole;
  r.rule.operands = r.rule.results = {dims, dims};
  return r.rule;
}

BoundKernel bind_fourier(const KernelCall& c) {
  View re = c.in[0], im = c.in[1], out_re = c.out[0], out_im = c.out[1];
  const auto plan = std::make_shared<runtime::Fourier>(re.shape.back());
  return [=](void* const* in, void* const* out) mutable {
    plan->run(at(re, in[0]), at(im, in[1]), at(out_re, out[0]), at(out_im, out[1]));
  };
}

hlo::Values fourier_hlo(const hlo::Use& u) {
  const hlo::Value& x = u.in[0];
  const DType whole = runtime::complex_of(x.dtype);
  const hlo::Value z = x.to->op("stablehlo.complex", u.in, whole, x.shape);
  const std::int64_t length = x.shape.back();
  const hlo::Value y = x.to->op("stablehlo.fft", {&z, 1}, whole, x.shape,
                                "fft_type = #stablehlo<fft_type FFT>, fft_length = " + hlo::list_text({&length, 1}));
  return {x.to->op("stablehlo.real", {&y, 1}, x.dtype, x.shape), x.to->op("stablehlo.imag", {&y, 1}, x.dtype, x.shape)};
}

void register_row(OpTable& t) {
  OpDef row{.name = "fourier_parts",
            .signature = "fourier_parts(re, im)",
            .doc = "The Fourier transform along the last dimension, by its parts.",
            .factors = fourier_factors};
  row.dtype = {Operands::Promote, [](const OpCall& call) {
                 const Type& x = call.in[0];
                 if (x.dtype != DType::F32 && x.dtype != DType::F64)
                   fail("type", "a Fourier transform is of f32 and f64, got " + runtime::to_string(x));
                 return std::vector<Kind>{{x.dtype, false}, {x.dtype, false}};
               }};
  row.derivative =
      Transposes{{}, true, [](Builder& b, const NodeView& n, int operand, std::span<const Var> ct, const Type&) -> Var {
                   const Vars turned = b.emit(n.call.op, {ct[1], ct[0]});
                   return turned[static_cast<std::size_t>(1 - operand)];
                 }};
  row.kernel = ir::KernelFn(bind_fourier);
  row.hlo = fourier_hlo;
  row.explicit_refuses = [](const OpCall& call, const FactorRule&) -> std::optional<std::string> {
    for (const Type& x : call.in)
      if (is_split(x, x.rank() - 1))
        return "a Fourier transform along dimension " + std::to_string(x.rank() - 1) + " of " + runtime::to_string(x) +
               ", which is split over " + axes_text(x, x.rank() - 1) +
               ": `shard` the array so that this dimension is whole first";
    return std::nullopt;
  };
  row.flops = 10;
  row.internal = true;
  row.samples = "[4, 6] [4, 6]; [8] [8]; [2, 2, 4] [2, 2, 4]; f64[2, 17] f64[2, 17]; [2, 1] [2, 1]";
  t.add(std::move(row));
}

// The first n along the axis, or zeros behind what is there.
Var of_length(Builder& b, Var x, std::int64_t axis, std::int64_t n) {
  const std::int64_t have = b.type(x).shape[static_cast<std::size_t>(from_front(axis, b.type(x).rank()))];
  if (n < have) return part_of(b, x, axis, 0, n);
  if (n == have) return x;
  Pairs widths(static_cast<std::size_t>(-axis), {0, 0});
  widths[0].second = n - have;
  return b.call("pad_with", {x, ir::constant(b, 0, b.type(x).dtype)}, {{"widths", widths}});
}

Var along(Builder& b, Var x, std::int64_t axis, std::int64_t n, bool back) {
  x = axis_to_end(b, of_length(b, x, axis, n), axis);
  Var re = ir::real_part(b, x), im = ir::imag_part(b, x);
  const OpDef& row = b.table().at("fourier_parts");
  Vars y = back ? b.emit(row, {im, re}) : b.emit(row, {re, im});
  if (back) {
    std::swap(y[0], y[1]);
    for (Var& v : y) v = Expr{b, v} / static_cast<double>(n);
  }
  return axis_from_end(b, ir::complex_of(b, y[0], y[1]), axis);
}

// Numbers of at least f32; complex ones stay.
Var ready(Builder& b, Var x, std::string_view op) {
  const Type& t = b.type(x);
  if (t.shape.empty()) fail("shape", std::string(op) + " of an array of rank 0");
  if (runtime::is_complex(t.dtype) || t.dtype == DType::F64) return x;
  return ir::convert(b, x, DType::F32);
}

struct FourierLine {
  std::int64_t axis, n;
  FourierLine(Builder& b, Var x, const Attrs& attrs, std::string_view op) {
    axis = from_end(integer_or(attrs, "axis", -1), b.type(x).rank(), op);
    n = integer_or(attrs, "n", b.type(x).shape[static_cast<std::size_t>(from_front(axis, b.type(x).rank()))]);
    if (n < 1) fail("shape", std::string(op) + ": a line has at least one element");
  }
};

void refuse_complex(Builder& b, Var x, std::string_view op) {
  if (ir::is_complex(b, x)) fail("type", std::string(op) + " is of real numbers; of complex ones it is `fft`");
}

// From the first half of the lines of a real signal: the others are their conjugates.
Var whole_line(Builder& b, Var x, const FourierLine& line) {
  const std::int64_t half = line.n / 2 + 1;
  x = of_length(b, x, line.axis, half);
  Var re = ir::real_part(b, x), im = ir::imag_part(b, x);
  const auto mirrored = [&](Var v) {
    Ints axes{line.axis};
    return b.call("rev", {part_of(b, v, line.axis, 1, line.n - half + 1)}, {{"axes", axes}});
  };
  if (line.n == half) return x;
  const auto joined = [&](Var first, Var then) {
    return b.emit1(*b.core().concat, {first, then}, {{"axis", line.axis}});
  };
  return ir::complex_of(b, joined(re, mirrored(re)), joined(im, ir::neg(b, mirrored(im))));
}

ir::Compose transform(std::string_view name, bool back) {
  return [name, back](Builder& b, std::span<const Var> in, const Attrs& attrs) -> Vars {
    Var x = ready(b, in[0], name);
    const FourierLine line(b, x, attrs, name);
    return {along(b, x, line.axis, line.n, back)};
  };
}

ir::Compose plane(std::string_view name, bool back) {
  return [name, back](Builder& b, std::span<const Var> in, const Attrs&) -> Vars {
    Var x = ready(b, in[0], name);
    const Type t = b.type(x);
    if (t.rank() < 2) fail("shape", std::string(name) + " is of two dimensions, got " + runtime::to_string(t));
    for (std::int64_t axis : {-1, -2})
      x = along(b, x, axis, t.shape[static_cast<std::size_t>(from_front(axis, t.rank()))], back);
    return {x};
  };
}

Vars of_real(Builder& b, std::span<const Var> in, const Attrs& attrs) {
  refuse_complex(b, in[0], "rfft");
  Var x = ready(b, in[0], "rfft");
  const FourierLine line(b, x, attrs, "rfft");
  return {part_of(b, along(b, x, line.axis, line.n, false), line.axis, 0, line.n / 2 + 1)};
}

Vars to_real(Builder& b, std::span<const Var> in, const Attrs& attrs) {
  Var x = ready(b, in[0], "irfft");
  FourierLine line(b, x, {{"axis", integer_or(attrs, "axis", -1)}}, "irfft");
  line.n = integer_or(attrs, "n", 2 * (line.n - 1));
  if (line.n < 1) fail("shape", "irfft: a line has at least one element");
  return {ir::real_part(b, along(b, whole_line(b, x, line), line.axis, line.n, true))};
}

}  // namespace

void register_fourier(OpTable& t) {
  register_row(t);
  const ir::Samples lines = "[4, 6]; [8] n=5; [3] n=4; [4, 2] axis=0; c64[4]";
  t.add(composite_row("fft", "fft(x, n: int? = none, axis: int = -1)",
                      "The Fourier transform along an axis, of n elements: cut, or zeros behind.",
                      transform("fft", false), lines));
  t.add(composite_row("ifft", "ifft(x, n: int? = none, axis: int = -1)", "The inverse of fft.", transform("ifft", true),
                      lines));
  t.add(composite_row("rfft", "rfft(x, n: int? = none, axis: int = -1)",
                      "The first half, n / 2 + 1, of the Fourier transform of real numbers.", of_real,
                      "[4, 6]; [8] n=5; [4, 2] axis=0"));
  t.add(composite_row("irfft", "irfft(x, n: int? = none, axis: int = -1)",
                      "The inverse of rfft: n real numbers, 2 * (length - 1) unless said otherwise.", to_real,
                      "[4, 6]; [5] n=5; c64[4, 3] axis=0"));
  t.add(composite_row("fft2", "fft2(x)", "The Fourier transform along the last two dimensions.", plane("fft2", false),
                      "[4, 6]; c64[2, 3, 4]"));
  t.add(composite_row("ifft2", "ifft2(x)", "The inverse of fft2.", plane("ifft2", true), "[4, 6]; c64[2, 3, 4]"));
}

}  // namespace shard::stdlib
