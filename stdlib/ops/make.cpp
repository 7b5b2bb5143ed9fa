// Arrays made of nothing: the internal rows constant, iota and fill_like, and zeros, ones, full, eye, arange, linspace,
// one_hot, tril, triu as users call them. `out` says a layout: the parts are then made so from the start.
#include <cmath>

#include "interpreter/hlo/writer.h"
#include "runtime/kernels/kernels.h"
#include "stdlib/ops/complex.h"
#include "stdlib/ops/elementwise.h"
#include "stdlib/ops/moving/moving_steps.h"
#include "stdlib/ops/ops.h"

namespace shard::stdlib {
namespace {

Var iota_of(Builder& b, const Shape& shape, std::int64_t axis, DType dtype, const Attrs& from = {}) {
  return b.call("iota", {}, with_out({{"shape", shape}, {"axis", axis}, {"dtype", dtype}}, from));
}

Var broadcast_out(Builder& b, Var x, const Shape& shape, const Attrs& from) {
  if (!from.has("out")) return ir::broadcast_to(b, x, shape);
  return b.call("broadcast", {x}, with_out({{"shape", shape}}, from));
}

// ---- rows

void register_constant(OpTable& t) {
  OpDef row = internal_row("constant(value: number, dtype: dtype, weak: bool = false)", "A number.");
  row.derivative = ir::Zero{};
  row.kernel = ir::Structure::Constant;
  row.of_complex = complex::constant;
  row.flops = 0;
  row.infer = [](const OpCall& call) {
    return std::vector<Type>{Type::of(call.attrs.dtype("dtype"), {}, flag_or(call.attrs, "weak", false))};
  };
  t.add(std::move(row));
}

// Positions along a split dimension begin where this device's part does.
Vars iota_locally(Builder& b, const ir::LocalCall& c, std::span<const Var>) {
  const Shape& shape = c.attrs.ints("shape");
  auto d = static_cast<std::size_t>(from_front(c.attrs.integer("axis"), static_cast<std::int64_t>(shape.size())));
  auto& axes = c.axes[static_cast<std::size_t>(c.rule.results[0][d][0])];
  Attrs attrs = c.attrs;
  attrs.erase("out");
  if (axes.empty()) return b.emit(c.call.op, std::span<const Var>{}, attrs);
  DType dtype = c.attrs.dtype("dtype"),
        whole = runtime::is_integer(dtype) && runtime::size_of(dtype) == 8 ? dtype : DType::I32;
  attrs.set("dtype", whole);
  Expr local{b, b.emit(c.call.op, std::span<const Var>{}, attrs).at(0)};
  Expr first{b, ir::convert(b, device_position(b, axes), whole)};
  return {ir::convert(b, local + first * static_cast<double>(shape[d]), dtype)};
}

void register_iota(OpTable& t) {
  OpDef row = internal_row("iota(shape: ints, axis: int, dtype: dtype, out: spec? = none)",
                           "Positions along an axis: 0, 1, 2, ...");
  row.factors = [](const OpCall& call) {
    RuleBuilder r;
    r.rule.results = {r.dims(shape_of(call.attrs.ints("shape"), "iota"))};
    return r.rule;
  };
  row.dtype.result = [](const OpCall& call) { return std::vector<Kind>{{call.attrs.dtype("dtype"), false}}; };
  row.derivative = ir::Zero{};
  row.hlo = [](const hlo::Use& u) -> hlo::Values {
    return {hlo::iota(u.to, u.out[0].dtype, u.out[0].shape, from_front(u.attrs.integer("axis"), u.out[0].rank()))};
  };
  row.kernel = [](const KernelCall& c) -> BoundKernel {
    View out = c.out[0];
    int axis = from_front(c.attrs.integer("axis"), out.rank());
    return [=](void* const*, void* const* o) mutable { runtime::iota(at(out, o[0]), axis); };
  };
  row.partition = iota_locally;
  row.flops = 0;
  row.samples = "shape=[8] axis=-1 dtype=i32; shape=[4, 6] axis=-2 dtype=f32";
  t.add(std::move(row));
}

// A number in the shape and layout of an array, whose values do not matter: the layout follows the array's in every
// mode.
void register_fill_like(OpTable& t) {
  OpDef row =
      internal_row("fill_like(x, value: number, dtype: dtype)", "A number everywhere, shaped and laid out as x.");
  row.factors = broadcast_factors;
  row.dtype.result = [](const OpCall& call) { return std::vector<Kind>{{call.attrs.dtype("dtype"), false}}; };
  // Zeros beside an unreduced sum are unreduced as it is; another number is whole.
  row.infer = [](const OpCall& call) {
    Type made = call.in[0];
    made.dtype = call.attrs.dtype("dtype");
    made.weak = false;
    const bool zero = call.attrs.number("value") == 0 && made.dtype != DType::Bool;
    if (!zero || made.sharding.unreduced_kind != runtime::UnreducedKind::Sum) {
      made.sharding.unreduced = {};
      made.sharding.unreduced_kind = runtime::UnreducedKind::Sum;
    }
    if (made.sharding.used_axes().empty() && made.varying.empty()) made.mesh = nullptr;
    return std::vector<Type>{made};
  };
  row.derivative = ir::Zero{};
  row.of_complex = complex::filled;
  row.hlo = [](const hlo::Use& u) -> hlo::Values {
    return {is_whole_number(u.attrs, "value") ? u.to.integer(u.out[0].dtype, u.out[0].shape, u.attrs.integer("value"))
                                              : u.to.constant(u.out[0].dtype, u.out[0].shape, u.attrs.number("value"))};
  };
  row.kernel = [](const KernelCall& c) -> BoundKernel {
    View out = c.out[0];
    double value = c.attrs.number("value");
    std::int64_t whole =
        is_whole_number(c.attrs, "value") ? c.attrs.integer("value") : static_cast<std::int64_t>(value);
    return [=](void* const*, void* const* o) mutable { runtime::fill(at(out, o[0]), value, whole); };
  };
  row.flops = 0;
  row.samples = "[4, 6] value=0.5 dtype=f32; i32[4] value=3 dtype=i32";
  t.add(std::move(row));
}

// ---- as users call them

ir::Compose filled(std::string_view op, double value) {
  return [op, value](Builder& b, std::span<const Var>, const Attrs& attrs) -> Vars {
    DType dtype = dtype_if(attrs, "dtype").value_or(DType::F32);
    return {broadcast_out(b, ir::constant(b, value, dtype), shape_of(*ints_if(attrs, "shape"), op), attrs)};
  };
}

// Shaped and laid out as x is, unreduced sums too: the number then counts once. Other than through fill_like, nothing
// of x is waited for.
Var as_unreduced(Builder& b, Var number, const Type& x) {
  Layout layout{x.mesh, x.sharding};
  if (!x.mesh->of_kind(runtime::AxisKind::Auto).empty())
    for (auto& d : layout.sharding.dims) d.open = true;
  return b.call("broadcast", {number}, {{"shape", x.shape}, {"out", layout}});
}

ir::Compose filled_like(double value) {
  return [value](Builder& b, std::span<const Var> in, const Attrs& attrs) -> Vars {
    const Type x = b.type(in[0]);
    DType dtype = dtype_if(attrs, "dtype").value_or(x.dtype);
    if (attrs.has("out")) return {broadcast_out(b, ir::constant(b, value, dtype), x.shape, attrs)};
    if (value != 0 && !x.sharding.unreduced.empty()) return {as_unreduced(b, ir::constant(b, value, dtype), x)};
    return {b.call("fill_like", {in[0]}, {{"value", value}, {"dtype", dtype}})};
  };
}

Vars full(Builder& b, std::span<const Var> in, const Attrs& attrs) {
  DType dtype = dtype_if(attrs, "dtype").value_or(b.type(in[0]).dtype);
  return {broadcast_out(b, ir::convert(b, in[0], dtype), shape_of(*ints_if(attrs, "shape"), "full"), attrs)};
}

Vars full_like(Builder& b, std::span<const Var> in, const Attrs& attrs) {
  const Type x = b.type(in[0]);
  DType dtype = dtype_if(attrs, "dtype").value_or(x.dtype);
  if (attrs.has("out") && b.type(in[1]).shape.empty())
    return {broadcast_out(b, ir::convert(b, in[1], dtype), x.shape, attrs)};
  if (!x.sharding.unreduced.empty()) return {as_unreduced(b, ir::convert(b, in[1], dtype), x)};
  Expr none{b, b.call("fill_like", {in[0]}, {{"value", 0.0}, {"dtype", DType::Bool}})};
  Expr value{b, ir::convert(b, in[1], dtype)};
  Expr made = select(none, value, value);
  if (attrs.has("out")) made = {b, b.emit1(*b.core().shard, {made}, {{"layout", attrs.layout("out")}})};
  return {made};
}

Vars eye(Builder& b, std::span<const Var>, const Attrs& attrs) {
  std::int64_t n = attrs.integer("n"), m = integer_or(attrs, "m", n), k = integer_or(attrs, "k", 0);
  Shape shape = shape_of({n, m}, "eye");
  Expr rows{b, iota_of(b, shape, -2, DType::I32, attrs)}, columns{b, iota_of(b, shape, -1, DType::I32, attrs)};
  return {ir::convert(b, eq(rows + static_cast<double>(k), columns), dtype_if(attrs, "dtype").value_or(DType::F32))};
}

// start, start + step, ... below stop. With whole numbers i32, else f32 (the count is computed in double precision, as
// NumPy does).
Vars arange(Builder& b, std::span<const Var>, const Attrs& attrs) {
  bool one = !attrs.has("stop");
  double start = one ? 0 : attrs.number("start"), stop = one ? attrs.number("start") : attrs.number("stop"),
         step = number_if(attrs, "step").value_or(1);
  bool whole = is_whole_number(attrs, "start") && is_whole_number(attrs, "stop") && is_whole_number(attrs, "step");
  if (step == 0) fail("value", "arange: the step cannot be 0");
  double count = std::ceil((stop - start) / step);
  for (const double bound : {start, stop, step})  // while checking: as many as only a run knows
    if (bound != 0 && std::fmod(bound, static_cast<double>(runtime::kUnknownSize)) == 0) count = std::fabs(bound);
  if (!(count < 1e15)) fail("shape", "arange: too many elements");
  DType dtype = dtype_if(attrs, "dtype").value_or(whole ? DType::I32 : DType::F32);
  Shape shape = {std::max<std::int64_t>(0, static_cast<std::int64_t>(count))};
  const bool narrow = dtype == DType::F16 || dtype == DType::BF16;  // counted in f32 and rounded once, as JAX does
  Expr i{b, iota_of(b, shape, -1, narrow ? DType::F32 : dtype, attrs)};
  if (step != 1) i = i * step;
  if (start != 0 || step < 0) i = start + i;  // 0 times a negative step is -0, and the first one is 0
  return {narrow ? cast_to(i, dtype) : i};
}

// start * (1 - t) + stop * t for t = i / (num - 1), the last one exactly stop; without the end, t = i / num (JAX).
Expr between(Builder& b, double start, double stop, DType dtype, std::string_view op, const Attrs& attrs) {
  const std::int64_t num = integer_or(attrs, "num", 50);
  const bool endpoint = flag_or(attrs, "endpoint", true);
  Expr i{b, iota_of(b, shape_of({num}, op), -1, dtype, attrs)};
  if (num <= 1) return i * 0.0 + start;
  Expr t = i / static_cast<double>(endpoint ? num - 1 : num);
  Expr line = start * (1.0 - t) + stop * t;
  return endpoint ? select(eq(i, static_cast<double>(num - 1)), stop, line) : line;
}

// The float type in which a line of `asked` is computed.
DType line_in(DType asked, std::string_view op) {
  if (!runtime::is_number(asked)) fail("type", std::string(op) + " gives numbers");
  const DType part = runtime::is_complex(asked) ? runtime::part_of(asked) : asked;
  return runtime::is_float(part) ? part : DType::F32;
}

Vars linspace(Builder& b, std::span<const Var>, const Attrs& attrs) {
  const DType asked = dtype_if(attrs, "dtype").value_or(DType::F32), dtype = line_in(asked, "linspace");
  Expr line = between(b, attrs.number("start"), attrs.number("stop"), dtype, "linspace", attrs);
  return {cast_to(runtime::is_integer(asked) ? call("floor", {line}) : line, asked)};
}

// base ** linspace(...)
Expr powers(Builder& b, double start, double stop, double base, DType dtype, std::string_view op, const Attrs& attrs) {
  Expr line = between(b, start, stop, dtype, op, attrs);
  return call("pow", {line.number(base), line});
}

Vars logspace(Builder& b, std::span<const Var>, const Attrs& attrs) {
  const DType asked = dtype_if(attrs, "dtype").value_or(DType::F32), dtype = line_in(asked, "logspace");
  const double base = number_if(attrs, "base").value_or(10);
  return {cast_to(powers(b, attrs.number("start"), attrs.number("stop"), base, dtype, "logspace", attrs), asked)};
}

// The ends are as given, although their logarithms are rounded (NumPy).
Vars geomspace(Builder& b, std::span<const Var>, const Attrs& attrs) {
  const double start = attrs.number("start"), stop = attrs.number("stop");
  if (start == 0 || stop == 0 || (start < 0) != (stop < 0))
    fail("value", "geomspace goes from a number to another of the same sign, neither of them 0");
  const DType asked = dtype_if(attrs, "dtype").value_or(DType::F32), dtype = line_in(asked, "geomspace");
  const double sign = start < 0 ? -1 : 1;
  Expr line = sign * powers(b, std::log10(start / sign), std::log10(stop / sign), 10, dtype, "geomspace", attrs);
  const std::int64_t num = integer_or(attrs, "num", 50);
  Expr i{b, iota_of(b, shape_of({num}, "geomspace"), -1, dtype, attrs)};
  if (flag_or(attrs, "endpoint", true) && num > 1) line = select(eq(i, static_cast<double>(num - 1)), stop, line);
  return {cast_to(select(eq(i, 0.0), start, line), asked)};
}

Vars one_hot(Builder& b, std::span<const Var> in, const Attrs& attrs) {
  std::int64_t n = attrs.integer("n");
  Shape shape = b.type(in[0]).shape;
  DType kind = b.type(in[0]).dtype;
  if (!runtime::is_integer(kind)) fail("type", "one_hot takes integers, got " + runtime::to_string(b.type(in[0])));
  shape.push_back(1);
  Var classes = iota_of(b, shape_of({n}, "one_hot"), -1, kind);
  Var hot = b.call("eq", {expand(b, ir::convert(b, in[0], kind), shape), classes});
  if (attrs.has("out")) hot = b.emit1(*b.core().shard, {hot}, {{"layout", attrs.layout("out")}});
  return {ir::convert(b, hot, dtype_if(attrs, "dtype").value_or(DType::F32))};
}

ir::Compose triangle(bool lower) {
  return [lower](Builder& b, std::span<const Var> in, const Attrs& attrs) -> Vars {
    Expr x{b, in[0]};
    const Shape shape = x.type().shape;
    if (shape.size() < 2) fail("shape", "tril and triu take matrices, got " + runtime::to_string(x.type()));
    auto k = static_cast<double>(integer_or(attrs, "k", 0));
    Expr rows{b, iota_of(b, {shape[shape.size() - 2], 1}, -2, DType::I32)},
        columns{b, iota_of(b, {1, shape.back()}, -1, DType::I32)};
    return {lower ? select(ge(rows + k, columns), x, 0.0) : select(ge(columns, rows + k), x, 0.0)};
  };
}

}  // namespace

void register_make(OpTable& t) {
  register_constant(t);
  register_iota(t);
  register_fill_like(t);
  auto add = [&](std::string_view signature, std::string_view doc, ir::Compose compose, ir::Samples samples) {
    add_composite(t, signature, doc, samples, placed_last(std::move(compose)));
  };
  constexpr const char* shapes = "shape=[4, 6]; shape=[] dtype=i8";
  constexpr const char* like = "[4, 6]; i32[4] dtype=f32";
  add("zeros(shape: ints, dtype: dtype? = none, out: spec? = none)", "An array of zeros.", filled("zeros", 0), shapes);
  add("ones(shape: ints, dtype: dtype? = none, out: spec? = none)", "An array of ones.", filled("ones", 1), shapes);
  add("full(shape: ints, value, dtype: dtype? = none, out: spec? = none)", "An array of one number.", full,
      "[] shape=[4, 6]; i32[4] shape=[2, 4]");
  add("zeros_like(x, dtype: dtype? = none, out: spec? = none)", "Zeros, shaped and laid out as x.", filled_like(0),
      like);
  add("ones_like(x, dtype: dtype? = none, out: spec? = none)", "Ones, shaped and laid out as x.", filled_like(1), like);
  add("full_like(x, value, dtype: dtype? = none, out: spec? = none)", "One number, shaped and laid out as x.",
      full_like, "[4, 6] []; i32[4] [] dtype=f32");
  add("eye(n: int, m: int? = none, k: int = 0, dtype: dtype? = none, out: spec? = none)",
      "Ones on the k-th diagonal, zeros elsewhere.", eye, "n=4; n=4 m=6 k=1");
  add("arange(start: number, stop: number? = none, step: number? = none, dtype: dtype? = none, out: spec? = none)",
      "The numbers from start (0) up to stop, which is left out.", arange,
      "start=4; start=0 stop=8 step=2; start=0.0 stop=1.0 step=0.25");
  add("linspace(start: number, stop: number, num: int = 50, endpoint: bool = true, dtype: dtype? = none, out: spec? = "
      "none)",
      "Numbers at equal distances, both ends included; endpoint: false leaves out the last.", linspace,
      "start=-1.0 stop=1.0 num=8; start=0.0 stop=1.0 num=4 endpoint=false");
  add("logspace(start: number, stop: number, num: int = 50, endpoint: bool = true, base: number = 10, dtype: dtype? = "
      "none, out: spec? = none)",
      "base to the powers that linspace(start, stop, num) gives.", logspace,
      "start=-1.0 stop=1.0 num=8; start=0 stop=3 num=4 base=2 endpoint=false");
  add("geomspace(start: number, stop: number, num: int = 50, endpoint: bool = true, dtype: dtype? = none, out: spec? = "
      "none)",
      "Numbers from start to stop, each the same multiple of the one before it.", geomspace,
      "start=1 stop=16 num=4; start=-1.0 stop=-8.0 num=6 endpoint=false");
  add("one_hot(x, n: int, dtype: dtype? = none, out: spec? = none)",
      "A new last dimension with a 1 at the position that x says, 0 elsewhere.", one_hot,
      "i32[4] 0..6 n=6; i32[2, 4] -1..3 n=4 dtype=i32");
  add("tril(x, k: int = 0)", "The lower triangle up to the k-th diagonal, zeros above.", triangle(true),
      "[4, 4]; [2, 4, 6] k=1");
  add("triu(x, k: int = 0)", "The upper triangle from the k-th diagonal, zeros below.", triangle(false),
      "[4, 4]; [2, 4, 6] k=1");
}

}  // namespace shard::stdlib
