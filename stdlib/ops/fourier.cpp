// Fourier transforms: one row that takes and gives the two parts of lines, and what users call, made of it. Exchanging
// the parts on both sides makes the inverse of it (and its transpose), so that it needs no direction.
#include "runtime/kernels/fft.h"

#include <cmath>

#include "interpreter/hlo/writer.h"
#include "interpreter/ir/complex_parts.h"
#include "stdlib/ops/moving/moving_steps.h"
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
  OpDef row = internal_row("fourier_parts(re, im)", "The Fourier transform along the last dimension, by its parts.",
                           fourier_factors);
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
  row.explicit_refuses = refuses_split_last("a Fourier transform");
  row.flops = 10;
  row.samples = "[4, 6] [4, 6]; [8] [8]; [2, 2, 4] [2, 2, 4]; f64[2, 17] f64[2, 17]; [2, 1] [2, 1]";
  t.add(std::move(row));
}

std::int64_t length_of(const Builder& b, Var x, std::int64_t axis) {
  return b.type(x).shape[static_cast<std::size_t>(from_front(axis, b.type(x).rank()))];
}

// The first n along the axis, or zeros behind what is there.
Var of_length(Builder& b, Var x, std::int64_t axis, std::int64_t n) {
  const std::int64_t have = length_of(b, x, axis);
  if (n < have) return part_of(b, x, axis, 0, n);
  if (n == have) return x;
  Pairs widths(static_cast<std::size_t>(-axis), {0, 0});
  widths[0].second = n - have;
  return b.call("pad_with", {x, ir::constant(b, 0, b.type(x).dtype)}, {{"widths", widths}});
}

// Which way, and what a line of n elements is divided by: n once on the way there and back, or its root each way
// (NumPy).
struct Direction {
  bool back;
  std::string norm;
  double divisor(std::int64_t n) const {
    const auto size = static_cast<double>(n);
    if (norm == "ortho") return std::sqrt(size);
    return back == (norm == "backward") ? size : 1;
  }
};

Direction direction(const Attrs& attrs, bool back, std::string_view op) {
  std::string norm = text_or(attrs, "norm", "backward");
  if (norm != "backward" && norm != "ortho" && norm != "forward")
    fail("value", std::string(op) + ": norm is \"backward\", \"ortho\" or \"forward\", got \"" + norm + "\"");
  return {back, std::move(norm)};
}

Var along(Builder& b, Var x, std::int64_t axis, std::int64_t n, const Direction& to) {
  x = move_axis(b, of_length(b, x, axis, n), axis, -1);
  Var re = ir::real_part(b, x), im = ir::imag_part(b, x);
  const OpDef& row = b.table().at("fourier_parts");
  Vars y = to.back ? b.emit(row, {im, re}) : b.emit(row, {re, im});
  if (to.back) std::swap(y[0], y[1]);
  if (const double by = to.divisor(n); by != 1)
    for (Var& v : y) v = Expr{b, v} / by;
  return move_axis(b, ir::complex_of(b, y[0], y[1]), -1, axis);
}

// Numbers of at least f32; complex ones stay.
Var ready(Builder& b, Var x, std::string_view op) {
  const Type& t = b.type(x);
  if (t.shape.empty()) fail("shape", std::string(op) + " of an array of rank 0");
  if (runtime::is_complex(t.dtype) || t.dtype == DType::F64) return x;
  return ir::convert(b, x, DType::F32);
}

// The axis and how many elements of it are taken.
struct FourierLine {
  std::int64_t axis, n;
};

void check_length(const FourierLine& line, std::string_view op) {
  if (line.n < 1) fail("shape", std::string(op) + ": a line has at least one element");
}

FourierLine line_of(Builder& b, Var x, const Attrs& attrs, std::string_view op) {
  const std::int64_t axis = from_end(integer_or(attrs, "axis", -1), b.type(x).rank(), op);
  const FourierLine line{axis, integer_or(attrs, "n", length_of(b, x, axis))};
  check_length(line, op);
  return line;
}

// Several axes in the order that `axes` says: the last ones (`all`: every one) where it says nothing, as many as `s`
// has sizes where that is given. `real`: what comes out of the last one is real, and there are 2 * (length - 1) unless
// said.
std::vector<FourierLine> lines_of(Builder& b, Var x, const Attrs& attrs, bool all, bool real, std::string_view op) {
  const std::int64_t rank = b.type(x).rank();
  const auto sizes = ints_if(attrs, "s");
  auto given = ints_if(attrs, "axes");
  if (!given && !sizes && !all && rank < 2)
    fail("shape", std::string(op) + " is of two dimensions, got " + runtime::to_string(b.type(x)));
  if (!given) given = last(sizes ? static_cast<std::int64_t>(sizes->size()) : all ? rank : 2);
  if (given->empty() || (sizes && sizes->size() != given->size()))
    fail("shape", std::string(op) + ": " +
                      (given->empty() ? "no axes"
                                      : "as many sizes `s` as axes, got " + std::to_string(sizes->size()) + " and " +
                                            std::to_string(given->size())));
  std::vector<FourierLine> out;
  for (std::size_t i = 0; i < given->size(); ++i) {
    const std::int64_t axis = from_end((*given)[i], rank, op), have = length_of(b, x, axis);
    const bool half = real && i + 1 == given->size();
    out.push_back({axis, sizes ? (*sizes)[i] : half ? 2 * (have - 1) : have});
    check_length(out.back(), op);
  }
  return out;
}

void refuse_complex(Builder& b, Var x, std::string_view op, std::string_view of_complex) {
  if (ir::is_complex(b, x))
    fail("type", std::string(op) + " is of real numbers; of complex ones it is `" + std::string(of_complex) + "`");
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
  return ir::complex_of(b, join_parts(b, {re, mirrored(re)}, line.axis),
                        join_parts(b, {im, ir::neg(b, mirrored(im))}, line.axis));
}

ir::Compose transform(std::string_view name, bool back) {
  return [name, back](Builder& b, std::span<const Var> in, const Attrs& attrs) -> Vars {
    Var x = ready(b, in[0], name);
    const FourierLine line = line_of(b, x, attrs, name);
    return {along(b, x, line.axis, line.n, direction(attrs, back, name))};
  };
}

ir::Compose transforms(std::string_view name, bool all, bool back) {
  return [name, all, back](Builder& b, std::span<const Var> in, const Attrs& attrs) -> Vars {
    Var x = ready(b, in[0], name);
    const Direction to = direction(attrs, back, name);
    const std::vector<FourierLine> lines = lines_of(b, x, attrs, all, false, name);
    for (auto line = lines.rbegin(); line != lines.rend(); ++line) x = along(b, x, line->axis, line->n, to);
    return {x};
  };
}

Var first_half(Builder& b, Var x, const FourierLine& line, const Direction& to) {
  return part_of(b, along(b, x, line.axis, line.n, to), line.axis, 0, line.n / 2 + 1);
}
Var real_lines(Builder& b, Var x, const FourierLine& line, const Direction& to) {
  return ir::real_part(b, along(b, whole_line(b, x, line), line.axis, line.n, to));
}

Vars of_real(Builder& b, std::span<const Var> in, const Attrs& attrs) {
  refuse_complex(b, in[0], "rfft", "fft");
  Var x = ready(b, in[0], "rfft");
  return {first_half(b, x, line_of(b, x, attrs, "rfft"), direction(attrs, false, "rfft"))};
}

Vars to_real(Builder& b, std::span<const Var> in, const Attrs& attrs) {
  Var x = ready(b, in[0], "irfft");
  FourierLine line = line_of(b, x, {{"axis", integer_or(attrs, "axis", -1)}}, "irfft");
  line.n = integer_or(attrs, "n", 2 * (line.n - 1));
  check_length(line, "irfft");
  return {real_lines(b, x, line, direction(attrs, true, "irfft"))};
}

// The last axis as rfft, then the others.
ir::Compose all_of_real(std::string_view name, std::string_view of_complex, bool all) {
  return [name, of_complex, all](Builder& b, std::span<const Var> in, const Attrs& attrs) -> Vars {
    refuse_complex(b, in[0], name, of_complex);
    Var x = ready(b, in[0], name);
    const Direction to = direction(attrs, false, name);
    const std::vector<FourierLine> lines = lines_of(b, x, attrs, all, false, name);
    x = first_half(b, x, lines.back(), to);
    for (std::size_t i = lines.size() - 1; i-- > 0;) x = along(b, x, lines[i].axis, lines[i].n, to);
    return {x};
  };
}

ir::Compose all_to_real(std::string_view name, bool all) {
  return [name, all](Builder& b, std::span<const Var> in, const Attrs& attrs) -> Vars {
    Var x = ready(b, in[0], name);
    const Direction to = direction(attrs, true, name);
    const std::vector<FourierLine> lines = lines_of(b, x, attrs, all, true, name);
    for (std::size_t i = 0; i + 1 < lines.size(); ++i) x = along(b, x, lines[i].axis, lines[i].n, to);
    return {real_lines(b, x, lines.back(), to)};
  };
}

// Frequencies of the elements of a transform whose samples lie d apart: from 0 up, then (unless half of them are
// enough) the negative ones.
ir::Compose frequencies(std::string_view name, bool half) {
  return [name, half](Builder& b, std::span<const Var>, const Attrs& attrs) -> Vars {
    const std::int64_t n = attrs.integer("n");
    const DType dtype = dtype_if(attrs, "dtype").value_or(DType::F32);
    if (n < 1) fail("shape", std::string(name) + ": a line has at least one element");
    if (!runtime::is_float(dtype))
      fail("type", std::string(name) + " gives floats, not " + std::string(runtime::name(dtype)));
    const std::int64_t count = half ? n / 2 + 1 : n;
    Expr i = positions_along(b, count, 1, -1);
    if (!half) i = select(ge(i, static_cast<double>((n + 1) / 2)), i - static_cast<double>(n), i);
    return {cast_to(i, dtype) / (static_cast<double>(n) * number_if(attrs, "d").value_or(1))};
  };
}

// Frequency 0 in the middle, or (back) where it was.
ir::Compose shifted_to_middle(std::string_view name, bool back) {
  return [name, back](Builder& b, std::span<const Var> in, const Attrs& attrs) -> Vars {
    Ints axes = axes_from_end(ints_if(attrs, "axes"), b.type(in[0]).rank(), name), shifts;
    for (const std::int64_t axis : axes) {
      const std::int64_t n = length_of(b, in[0], axis);
      shifts.push_back(back ? -(n / 2) : n / 2);
    }
    return {axes.empty() ? in[0] : b.call("roll", {in[0]}, {{"shift", shifts}, {"axis", axes}})};
  };
}

}  // namespace

void register_fourier(OpTable& t) {
  register_row(t);
  const ir::Samples lines = "[4, 6]; [8] n=5 norm='ortho'; [3] n=4 norm='forward'; [4, 2] axis=0; c64[4]";
  add_composite(t, "fft(x, n: int? = none, axis: int = -1, norm: str = \"backward\")",
                "The Fourier transform along an axis, of n elements: cut, or padded with zeros.", lines,
                transform("fft", false));
  add_composite(t, "ifft(x, n: int? = none, axis: int = -1, norm: str = \"backward\")", "The inverse of fft.", lines,
                transform("ifft", true));
  add_composite(t, "rfft(x, n: int? = none, axis: int = -1, norm: str = \"backward\")",
                "The first half, n / 2 + 1, of the Fourier transform of real numbers.",
                "[4, 6]; [8] n=5 norm='ortho'; [4, 2] axis=0", of_real);
  add_composite(t, "irfft(x, n: int? = none, axis: int = -1, norm: str = \"backward\")",
                "The inverse of rfft: n real numbers, 2 * (length - 1) unless said otherwise.",
                "[4, 6]; [5] n=5 norm='ortho'; c64[4, 3] axis=0", to_real);
  const ir::Samples planes = "[4, 6]; c64[2, 3, 4] axes=[0, 2] norm='ortho'; [4, 2] s=[3, 5]",
                    real_planes = "[4, 6]; [2, 3, 4] axes=[2, 0] norm='ortho'; [4, 2] s=[3, 5]",
                    halves = "c64[4, 3]; c64[2, 3, 4] axes=[2, 0] norm='ortho'; [4, 3] s=[3, 5]";
  add_composite(t, "fft2(x, s: ints? = none, axes: ints? = none, norm: str = \"backward\")",
                "The Fourier transform along two dimensions, the last ones unless `axes` says otherwise.", planes,
                transforms("fft2", false, false));
  add_composite(t, "ifft2(x, s: ints? = none, axes: ints? = none, norm: str = \"backward\")", "The inverse of fft2.",
                planes, transforms("ifft2", false, true));
  add_composite(t, "rfft2(x, s: ints? = none, axes: ints? = none, norm: str = \"backward\")",
                "fft2 of real numbers: the first half along the last axis.", real_planes,
                all_of_real("rfft2", "fft2", false));
  add_composite(t, "irfft2(x, s: ints? = none, axes: ints? = none, norm: str = \"backward\")", "The inverse of rfft2.",
                halves, all_to_real("irfft2", false));
  add_composite(t, "fftn(x, s: ints? = none, axes: ints? = none, norm: str = \"backward\")",
                "The Fourier transform along all dimensions, or some.", planes, transforms("fftn", true, false));
  add_composite(t, "ifftn(x, s: ints? = none, axes: ints? = none, norm: str = \"backward\")", "The inverse of fftn.",
                planes, transforms("ifftn", true, true));
  add_composite(t, "rfftn(x, s: ints? = none, axes: ints? = none, norm: str = \"backward\")",
                "fftn of real numbers: the first half along the last axis.", real_planes,
                all_of_real("rfftn", "fftn", true));
  add_composite(t, "irfftn(x, s: ints? = none, axes: ints? = none, norm: str = \"backward\")", "The inverse of rfftn.",
                halves, all_to_real("irfftn", true));
  add_composite(t, "fftfreq(n: int, d: number = 1.0, dtype: dtype? = none)",
                "The frequencies of the n elements that fft gives, of samples that lie d apart.", "n=4; n=5 d=0.5",
                frequencies("fftfreq", false));
  add_composite(t, "rfftfreq(n: int, d: number = 1.0, dtype: dtype? = none)",
                "The frequencies of the n / 2 + 1 elements that rfft gives, of samples that lie d apart.",
                "n=4; n=5 d=0.5", frequencies("rfftfreq", true));
  add_composite(t, "fftshift(x, axes: ints? = none)", "Frequency 0 moved to the middle, along axes or all.",
                "[4, 6]; [5] ; c64[2, 3] axes=[1]", shifted_to_middle("fftshift", false));
  add_composite(t, "ifftshift(x, axes: ints? = none)", "The inverse of fftshift.", "[4, 6]; [5]; c64[2, 3] axes=[1]",
                shifted_to_middle("ifftshift", true));
}

}  // namespace shard::stdlib
