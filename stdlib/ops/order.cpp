// What follows an order: sort, argsort, top_k, and running sums, products and maxima. The rows work along the last
// dimension, which they need whole; users' axes are brought there and back.
#include "runtime/kernels/kernels.h"
#include "stdlib/ops/elementwise.h"
#include "stdlib/ops/hlo.h"
#include "stdlib/ops/ops.h"

namespace shard::stdlib {
namespace {

using runtime::Scan;

FactorRule whole_last(const OpCall& call) {
  if (call.in[0].shape.empty()) fail("shape", std::string(call.op.name) + " of an array of rank 0");
  RuleBuilder r;
  auto dims = r.dims(call.in[0].shape);
  r.rule.factors[static_cast<std::size_t>(dims.back()[0])].kind = FactorKind::Whole;
  r.rule.operands = {dims};
  r.rule.results = {dims};
  return r.rule;
}

std::string split_along(std::string_view op, const Type& x, int d) {
  return std::string(op) + " along dimension " + std::to_string(d) + " of " + runtime::to_string(x) +
         ", which is split over " + axes_text(x, d) + ": `shard` the array so that this dimension is whole first";
}

std::function<std::optional<std::string>(const OpCall&, const FactorRule&)> refuses_split_last(std::string_view op) {
  return [op](const OpCall& call, const FactorRule&) -> std::optional<std::string> {
    const Type& x = call.in[0];
    int d = x.rank() - 1;
    if (!is_split(x, d)) return std::nullopt;
    return split_along(op, x, d);
  };
}

// x's elements at the positions of `index`, along the last dimension of both.
Var along_last(Builder& b, Var x, Var index) {
  auto rank = static_cast<std::int64_t>(b.type(x).shape.size());
  return b.call("take_rows", {x, index},
                {{"axis", std::int64_t{-1}}, {"batch", rank - 1}, {"bounds", std::string("clamp")}});
}

OpDef order_row(std::string_view name, std::string_view signature, std::string_view doc, std::string_view said) {
  OpDef row{.name = name, .signature = signature, .doc = doc, .factors = whole_last};
  row.dtype.operands = Operands::AsIs;
  row.explicit_refuses = refuses_split_last(said);
  row.internal = true;
  row.flops = 10;
  row.samples = "[4, 6]; [8]; [2, 2, 4]; i32[4, 8] 0..4";
  return row;
}

// Descending order is ascending order from its end (JAX), so that equals share derivatives as there; argsort keeps
// equals in place.
void register_sort(OpTable& t) {
  OpDef sort = order_row("sort_last", "sort_last(x, descending: bool = false)",
                         "The elements along the last dimension in order, nan last.", "sort");
  sort.derivative = ir::Custom{[](Builder& b, const NodeView& n, std::span<const Var> tangents) -> Vars {
                                 if (!tangents[0].valid()) return {Var{}};
                                 Var order = b.call("argsort_last", {n.in[0]});
                                 if (flag_or(n.call.attrs, "descending", false))
                                   order = b.call("rev", {order}, {{"axes", Ints{-1}}});
                                 return {along_last(b, tangents[0], order)};
                               },
                               {}};
  sort.hlo = sort_hlo;
  sort.kernel = [](const KernelCall& c) -> BoundKernel {
    View in = c.in[0], out = c.out[0];
    bool down = flag_or(c.attrs, "descending", false);
    return [=, stop = &c.pool.stop()](void* const* i, void* const* o) mutable {
      runtime::sort(at(in, i[0]), at(out, o[0]), down, stop);
    };
  };
  t.add(std::move(sort));
  OpDef argsort = order_row(
      "argsort_last", "argsort_last(x, descending: bool = false, first: int? = none)",
      "The positions that put the last dimension in order; equal elements keep theirs. `first`: so many of them.",
      "argsort");
  argsort.factors = [](const OpCall& call) {
    FactorRule rule = whole_last(call);
    if (!call.attrs.has("first")) return rule;
    auto& of_result = rule.results[0].back();
    of_result = {static_cast<int>(rule.factors.size())};
    rule.factors.push_back({.size = call.attrs.integer("first"), .kind = FactorKind::Whole});
    return rule;
  };
  argsort.dtype = {Operands::AsIs, always(DType::I32)};
  argsort.derivative = ir::Zero{};
  argsort.hlo = argsort_hlo;
  argsort.kernel = [](const KernelCall& c) -> BoundKernel {
    View in = c.in[0], out = c.out[0];
    bool down = flag_or(c.attrs, "descending", false);
    if (runtime::numel(out.shape) == 0) return [](void* const*, void* const*) {};
    return [=, stop = &c.pool.stop()](void* const* i, void* const* o) mutable {
      runtime::argsort(at(in, i[0]), at(out, o[0]), down, stop);
    };
  };
  t.add(std::move(argsort));
}

// Running products of complex numbers: each position takes in what stands 1, 2, 4, ... before it (behind it).
Vars complex_scan_prod(Builder& b, std::span<const Var> in, const Attrs& attrs) {
  const bool reverse = flag_or(attrs, "reverse", false);
  Expr x{b, in[0]};
  const std::int64_t size = x.type().shape.back();
  const auto part = [&](std::int64_t from, std::int64_t to) {
    return b.call("slice", {x}, {{"start", Ints{from}}, {"limit", Ints{to}}, {"step", Ints{1}}});
  };
  for (std::int64_t k = 1; k < size; k *= 2) {
    Shape edge = x.type().shape;
    edge.back() = k;
    const Var ones = ir::broadcast_to(b, x.number(1), edge), rest = reverse ? part(k, size) : part(0, size - k);
    const Vars pieces = reverse ? Vars{rest, ones} : Vars{ones, rest};
    x = x * Expr{b, b.emit(*b.core().concat, pieces, {{"axis", std::int64_t{-1}}}).at(0)};
  }
  return {x};
}

void register_scans(OpTable& t) {
  auto add = [&](std::string_view name, std::string_view signature, std::string_view doc, std::string_view said,
                 Scan op, ir::Derivative derivative) {
    OpDef row = order_row(name, signature, doc, said);
    row.derivative = std::move(derivative);
    row.flops = 1;
    row.hlo = [op](const hlo::Use& u) { return running_hlo(u, op); };
    row.kernel = [op](const KernelCall& c) -> BoundKernel {
      View in = c.in[0], out = c.out[0];
      bool reverse = flag_or(c.attrs, "reverse", false);
      return [=](void* const* i, void* const* o) mutable {
        runtime::cumulative(op, at(in, i[0]), at(out, o[0]), reverse);
      };
    };
    if (op == Scan::Sum) row.of_complex = ir::OnParts{};
    if (op == Scan::Prod) row.of_complex = complex_scan_prod;
    row.samples.also = "[4, 6] reverse=true";
    t.add(std::move(row));
  };
  add("scan_sum", "scan_sum(x, reverse: bool = false)", "Running sums along the last dimension.", "cumsum", Scan::Sum,
      Transposes{{}, false, [](Builder& b, const NodeView& n, int, std::span<const Var> ct, const Type&) {
                   return b.emit1(n.call.op, {ct[0]}, {{"reverse", !flag_or(n.call.attrs, "reverse", false)}});
                 }});
  // d y_k / d x_i is the product of the other factors of y_k. Without zeros it is y_k / x_i; one zero z leaves, from it
  // on, what the product is with z taken for 1, to z's own derivative alone; behind a second zero nothing is left.
  add("scan_prod", "scan_prod(x, reverse: bool = false)", "Running products along the last dimension.", "cumprod",
      Scan::Prod,
      ir::Custom{[](Builder& b, const NodeView& n, std::span<const Var> tangents) -> Vars {
                   if (!tangents[0].valid()) return {Var{}};
                   const Attrs& attrs = n.call.attrs;
                   Expr x{b, n.in[0]}, dx{b, tangents[0]};
                   Expr is_zero = eq(x, 0.0), filled = select(is_zero, 1.0, x);
                   Expr zeros{b, b.call("scan_sum", {cast_to(is_zero, x.type().dtype)}, attrs)},
                       product{b, b.call("scan_prod", {filled}, attrs)};
                   Expr ratio = dx / filled;
                   Expr smooth{b, b.call("scan_sum", {select(is_zero, 0.0, ratio)}, attrs)},
                       lone{b, b.call("scan_sum", {select(is_zero, dx, 0.0)}, attrs)};
                   return {product * select(eq(zeros, 0.0), smooth, select(eq(zeros, 1.0), lone, 0.0))};
                 },
                 {}});
  auto extreme = [](Builder& b, const NodeView& n, std::span<const Var> tangents) -> Vars {
    if (!tangents[0].valid()) return {Var{}};
    // The position of each running extreme: the largest position so far at which it was reached.
    Expr x{b, n.in[0]}, y{b, n.out[0]};
    const Shape shape = x.type().shape;
    bool reverse = flag_or(n.call.attrs, "reverse", false);
    Shape line(shape.size(), 1);
    line.back() = shape.back();
    Expr i{b, b.call("iota", {}, {{"shape", line}, {"axis", std::int64_t{-1}}, {"dtype", DType::I32}})};
    Expr here{b, ir::broadcast_to(b, i, shape)}, new_one = eq(x, y);
    Expr held = select(new_one, here, reverse ? static_cast<double>(shape.back() - 1) : 0.0);
    return {along_last(b, tangents[0], b.call(reverse ? "scan_min" : "scan_max", {held}, n.call.attrs))};
  };
  add("scan_max", "scan_max(x, reverse: bool = false)", "Running maxima along the last dimension.", "cummax", Scan::Max,
      ir::Custom{extreme, {}});
  add("scan_min", "scan_min(x, reverse: bool = false)", "Running minima along the last dimension.", "cummin", Scan::Min,
      ir::Custom{extreme, {}});
}

// `row` along the axis of a call; `flatten`: without an axis the whole array is one line, else the last axis is meant.
Vars along(Builder& b, std::span<const Var> in, const Attrs& attrs, std::string_view op, std::string_view row,
           bool flatten, Attrs passed) {
  Var x = in[0];
  if (flatten && !attrs.has("axis")) x = expand(b, x, {runtime::numel(b.type(x).shape)});
  auto rank = static_cast<std::int64_t>(b.type(x).shape.size());
  if (rank == 0) fail("shape", std::string(op) + " of an array of rank 0");
  std::int64_t axis = from_end(integer_or(attrs, "axis", -1), rank, op);
  const Type& t = b.type(x);
  if (int d = from_front(axis, rank); laid_out(t) && is_split(t, d))
    fail("layout", split_along(op, t, d));  // as users see it, before the axis moves
  return {axis_from_end(b, b.call(row, {axis_to_end(b, x, axis)}, std::move(passed)), axis)};
}

// What holds the numbers of a type that is for keeping alone, in the same order.
DType ordered_as(DType t) {
  if (t == DType::I4) return DType::I8;
  return t == DType::F8E4M3 || t == DType::F8E5M2 ? DType::F16 : t;
}

ir::Compose sorter(std::string_view op, std::string_view row) {
  return [op, row](Builder& b, std::span<const Var> in, const Attrs& attrs) {
    const DType own = b.type(in[0]).dtype;
    Vars made = along(b, Vars{ir::convert(b, in[0], ordered_as(own), b.type(in[0]).weak)}, attrs, op, row, false,
                      {{"descending", flag_or(attrs, "descending", false)}});
    return b.type(made[0]).dtype == ordered_as(own) && own != ordered_as(own) ? Vars{ir::convert(b, made[0], own)}
                                                                              : made;
  };
}

ir::Compose runner(std::string_view op, std::string_view row) {
  return [op, row](Builder& b, std::span<const Var> in, const Attrs& attrs) {
    Var x = b.type(in[0]).dtype == DType::Bool && op != "cummax" && op != "cummin" ? ir::convert(b, in[0], DType::I32)
                                                                                   : in[0];
    return along(b, Vars{x}, attrs, op, row, true, {{"reverse", flag_or(attrs, "reverse", false)}});
  };
}

Vars top_k(Builder& b, std::span<const Var> in, const Attrs& attrs) {
  Var x = in[0];
  const Shape shape = b.type(x).shape;
  std::int64_t k = attrs.integer("k");
  if (shape.empty() || k < 0 || k > shape.back())
    fail("shape", "top_k: " + std::to_string(k) + " of the last dimension of " + runtime::to_string(b.type(x)));
  Var index = b.call("argsort_last", {x}, {{"descending", true}, {"first", k}});
  return {along_last(b, x, index), index};
}

}  // namespace

void register_order(OpTable& t) {
  register_sort(t);
  register_scans(t);
  constexpr const char* axes = "[4, 6]; [4, 6] axis=0; i32[8] 0..4";
  auto add = [&](std::string_view name, std::string_view signature, std::string_view doc,
                 ir::Compose compose) -> OpDef& {
    return t.add(composite_row(name, signature, doc, std::move(compose), axes));
  };
  add("sort", "sort(x, axis: int = -1, descending: bool = false)", "The elements along an axis in order, nan last.",
      sorter("sort", "sort_last"))
      .aliases = {{"sorted", "an array is sorted by `sort(x)`, a list by `sort_by(xs, fn(x) = x)`"},
                  {"sort", "values never change in place"}};
  add("argsort", "argsort(x, axis: int = -1, descending: bool = false)",
      "The positions that put an axis in order; equal elements keep theirs.", sorter("argsort", "argsort_last"));
  add("cumsum", "cumsum(x, axis: int? = none, reverse: bool = false)",
      "Running sums along an axis, or of all elements in a line.", runner("cumsum", "scan_sum"));
  add("cumprod", "cumprod(x, axis: int? = none, reverse: bool = false)",
      "Running products along an axis, or of all elements in a line.", runner("cumprod", "scan_prod"));
  add("cummax", "cummax(x, axis: int? = none, reverse: bool = false)",
      "Running maxima along an axis, or of all elements in a line.", runner("cummax", "scan_max"));
  add("cummin", "cummin(x, axis: int? = none, reverse: bool = false)",
      "Running minima along an axis, or of all elements in a line.", runner("cummin", "scan_min"));
  t.add(composite_row("top_k", "top_k(x, k: int)",
                      "The k largest of the last dimension, largest first, and their positions.", top_k,
                      "[4, 6] k=2; i32[8] 0..4 k=3"))
      .aliases = {"topk"};
}

}  // namespace shard::stdlib
