// What follows an order: sort, argsort, top_k, and running sums, products and maxima. The rows work along the last
// dimension, which they need whole but for running totals; users' axes are brought there and back.
#include <array>
#include <cmath>

#include "runtime/kernels/kernels.h"
#include "stdlib/ops/hlo.h"
#include "stdlib/ops/moving/halo.h"
#include "stdlib/ops/moving/moving_steps.h"
#include "stdlib/ops/ops.h"

namespace shard::stdlib {

// ---- StableHLO
// Orders as StableHLO. Sorts compare in total order, in which -0 lies before 0 and a nan of either sign somewhere: both
// are made one before, so that order is that of the kernels (nan last). Running sums double their reach in each step.

namespace {

using runtime::Scan;

hlo::Value canonical(const hlo::Value& x) {
  if (!runtime::is_float(x.dtype)) return x;
  const hlo::Value number = hlo::select(hlo::compare(x, x.number(0), "EQ"), x.number(0), x);
  return hlo::select(hlo::compare(x, x, "NE"), x.number(std::nan("")), number);
}

// A stable sort of lines by the first value; the others go along.
hlo::Values sorted(hlo::Writer& to, const hlo::Values& in, bool down) {
  hlo::Values scalars;
  for (const hlo::Value& v : in) scalars.insert(scalars.end(), 2, hlo::Value{&to, {}, v.dtype, {}});
  const hlo::Values given = to.begin(scalars);
  const std::string total =
      runtime::is_float(in[0].dtype) ? ", compare_type = #stablehlo<comparison_type TOTALORDER>" : "";
  const hlo::Value before = to.op(
      "stablehlo.compare", {given[0], given[1]}, DType::Bool, Shape{},
      std::string("comparison_direction = #stablehlo<comparison_direction ") + (down ? "GT" : "LT") + ">" + total);
  const std::string region = to.end({&before, 1});
  return to.ops("stablehlo.sort", in, in,
                "dimension = " + std::to_string(in[0].rank() - 1) + " : i64, is_stable = true", region);
}

std::string_view combiner(Scan how, DType dtype) {
  const bool truth = dtype == DType::Bool;
  switch (how) {
    case Scan::Sum: return truth ? "or" : "add";
    case Scan::Prod: return truth ? "and" : "multiply";
    case Scan::Max: return "maximum";
    default: return "minimum";
  }
}

hlo::Values sort_hlo(const hlo::Use& u) {
  const hlo::Value up = sorted(u.to, {canonical(u.in[0])}, false)[0];
  if (!flag_or(u.attrs, "descending", false)) return {up};
  return {hlo::reverse(up, Ints{up.rank() - 1})};
}

hlo::Values argsort_hlo(const hlo::Use& u) {
  const hlo::Value x = canonical(u.in[0]), place = hlo::iota(u.to, DType::I32, x.shape, x.rank() - 1);
  const hlo::Value order = sorted(u.to, {x, place}, flag_or(u.attrs, "descending", false))[1];
  return {u.attrs.has("first") ? hlo::part(order, x.rank() - 1, 0, u.attrs.integer("first")) : order};
}

}  // namespace

hlo::Values running_hlo(const hlo::Use& u, Scan how) {
  const bool reverse = flag_or(u.attrs, "reverse", false);
  const bool narrow = u.in[0].dtype == DType::F16 || u.in[0].dtype == DType::BF16;
  hlo::Value x = narrow ? hlo::convert(u.in[0], DType::F32) : u.in[0];
  const std::size_t rank = x.shape.size();
  const std::int64_t n = x.shape.back();
  const hlo::Value none = how == Scan::Sum || how == Scan::Prod ? u.to.constant(x.dtype, {}, how == Scan::Prod)
                                                                : hlo::limit_of(u.to, x.dtype, how == Scan::Min);
  for (std::int64_t by = 1; by < n; by *= 2) {
    Ints low(rank, 0), high(rank, 0);
    const Ints inner(rank, 0);
    low.back() = reverse ? -by : by;
    high.back() = -low.back();
    x = hlo::binary(combiner(how, x.dtype), hlo::pad(x, none, low, high, inner), x);
  }
  return {hlo::convert(x, u.in[0].dtype)};
}

// Halving, so many turns as the line has bits: where the first element lies that is not before the value.
hlo::Values search_hlo(const hlo::Use& u) {
  const std::size_t lead = u.in[0].shape.size() - 1;
  const std::int64_t n = u.in[0].shape.back();
  std::int64_t b = 1;
  for (std::size_t d = 0; d < lead; ++d) b *= u.in[0].shape[d];
  const hlo::Value v = hlo::reshape(u.in[1], {b, b == 0 ? 0 : runtime::numel(u.in[1].shape) / b});
  hlo::Value low = hlo::broadcast(u.to.constant(DType::I32, {}, 0), v.shape), high = low.number(static_cast<double>(n));
  if (n > 0 && runtime::numel(v.shape) > 0) {
    const hlo::Value lines = hlo::reshape(u.in[0], {b, 1, n, 1});
    const auto before = [](const hlo::Value& x, const hlo::Value& y) {  // nan lies behind all numbers
      const hlo::Value less = hlo::compare(x, y, "LT");
      if (!runtime::is_float(x.dtype)) return less;
      return hlo::either(less, hlo::both(hlo::compare(y, y, "NE"), hlo::compare(x, x, "EQ")));
    };
    for (std::int64_t reach = n; reach > 0; reach /= 2) {
      const hlo::Value going = hlo::compare(low, high, "LT"), middle = (low + high) / 2;
      const hlo::Value a = hlo::reshape(rows_at(lines, middle), v.shape);
      const hlo::Value on =
          hlo::both(going, flag_or(u.attrs, "behind", false) ? hlo::unary("not", before(v, a)) : before(a, v));
      low = hlo::select(on, middle + 1, low);
      high = hlo::select(on, high, hlo::select(going, middle, high));
    }
  }
  return {hlo::reshape(low, u.out[0].shape)};
}

// A reduction of pairs: the larger one, of equals the first; a nan is larger than any number.
hlo::Values extreme_position_hlo(const hlo::Use& u, bool largest) {
  const hlo::Value& x = u.in[0];
  const int d = from_front(u.attrs.integer("axis"), x.rank());
  const hlo::Values in{x, hlo::iota(u.to, DType::I32, x.shape, d), hlo::limit_of(u.to, x.dtype, !largest),
                       u.to.constant(DType::I32, {}, 0)};
  const hlo::Values scalars{
      {&u.to, {}, x.dtype, {}}, {&u.to, {}, DType::I32, {}}, {&u.to, {}, x.dtype, {}}, {&u.to, {}, DType::I32, {}}};
  const hlo::Values p = u.to.begin(scalars);
  hlo::Value wins = hlo::compare(p[0], p[2], largest ? "GT" : "LT"), ties = hlo::compare(p[0], p[2], "EQ");
  if (runtime::is_float(x.dtype)) {
    const hlo::Value mine = hlo::compare(p[0], p[0], "NE"), theirs = hlo::compare(p[2], p[2], "NE");
    wins = hlo::either(hlo::both(mine, hlo::compare(p[2], p[2], "EQ")), wins);
    ties = hlo::either(ties, hlo::both(mine, theirs));
  }
  const hlo::Value first = hlo::either(wins, hlo::both(ties, hlo::compare(p[1], p[3], "LT")));
  const hlo::Values chosen{hlo::select(hlo::either(wins, ties), p[0], p[2]), hlo::select(first, p[1], p[3])};
  const std::string region = u.to.end(chosen);
  const hlo::Values like{{&u.to, {}, x.dtype, u.out[0].shape}, {&u.to, {}, DType::I32, u.out[0].shape}};
  return {u.to.ops("stablehlo.reduce", in, like, "dimensions = " + hlo::list_text(Ints{d}), region)[1]};
}

// ---- rows

namespace {

FactorRule whole_last(const OpCall& call) {
  if (call.in[0].shape.empty()) fail("shape", std::string(call.op.name) + " of an array of rank 0");
  RuleBuilder r;
  auto dims = r.dims(call.in[0].shape);
  r.rule.factors[static_cast<std::size_t>(dims.back()[0])].kind = FactorKind::Whole;
  return r.made({dims}, {dims});
}

// x's elements at the positions of `index`, along the last dimension of both.
Var along_last(Builder& b, Var x, Var index) {
  return b.call("take", {x, index}, rows_along(-1, "clamp", b.type(x).rank() - 1));
}

OpDef order_row(std::string_view signature, std::string_view doc, std::string_view said) {
  OpDef row = internal_row(signature, doc, whole_last);
  row.explicit_refuses = refuses_split_last(said);
  row.flops = 10;
  row.samples = "[4, 6]; [8]; [2, 2, 4]; i32[4, 8] 0..4";
  return row;
}

ir::KernelFn sorts_by(void (*sort)(const View& in, const View& out, bool descending, const runtime::Stop* stop)) {
  return [sort](const KernelCall& c) -> BoundKernel {
    View in = c.in[0], out = c.out[0];
    const bool down = flag_or(c.attrs, "descending", false);
    if (runtime::numel(out.shape) == 0) return [](void* const*, void* const*) {};
    return [=, stop = &c.pool.stop()](void* const* i, void* const* o) mutable {
      sort(at(in, i[0]), at(out, o[0]), down, stop);
    };
  };
}

// Descending order is ascending order from its end (JAX), so that equals share derivatives as there; argsort keeps
// equals in place.
void register_sort(OpTable& t) {
  OpDef sort = order_row("sort_last(x, descending: bool = false)",
                         "The elements along the last dimension in order, nan last.", "sort");
  sort.derivative = pushed([](Builder& b, const NodeView& n, Var tangent) -> Vars {
    Var order = b.call("argsort_last", {n.in[0]});
    if (flag_or(n.call.attrs, "descending", false)) order = b.call("rev", {order}, {{"axes", Ints{-1}}});
    return {along_last(b, tangent, order)};
  });
  sort.hlo = sort_hlo;
  sort.kernel = sorts_by(runtime::sort);
  t.add(std::move(sort));
  OpDef argsort = order_row(
      "argsort_last(x, descending: bool = false, first: int? = none)",
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
  argsort.kernel = sorts_by(runtime::argsort);
  t.add(std::move(argsort));
}

// Running products of complex numbers: each position takes in what stands 1, 2, 4, ... before it (behind it).
Vars complex_scan_prod(Builder& b, std::span<const Var> in, const Attrs& attrs) {
  const bool reverse = flag_or(attrs, "reverse", false);
  Expr x{b, in[0]};
  const std::int64_t size = x.type().shape.back();
  for (std::int64_t k = 1; k < size; k *= 2) {
    Shape edge = x.type().shape;
    edge.back() = k;
    const Var ones = ir::broadcast_to(b, x.number(1), edge),
              rest = reverse ? part_of(b, x, -1, k, size) : part_of(b, x, -1, 0, size - k);
    x = x * Expr{b, join_parts(b, reverse ? Vars{rest, ones} : Vars{ones, rest}, -1)};
  }
  return {x};
}

// Along a split dimension each device runs over its own block, and takes in the totals of the blocks before it (behind
// it), which are gathered.
Vars scan_locally(Builder& b, const ir::LocalCall& c, std::span<const Var> in, Scan how) {
  const auto s = split_dim(c, 0, c.call.in[0].shape.size() - 1);
  if (!s) return b.emit(c.call.op, in, c.attrs);
  const bool reverse = flag_or(c.attrs, "reverse", false);
  constexpr FactorReduce combines[] = {FactorReduce::Sum, FactorReduce::Prod, FactorReduce::Max, FactorReduce::Min};
  // Backwards what lies behind the end comes first.
  const Var run_over = reverse ? ended(b, in[0], *s, combines[static_cast<std::size_t>(how)]) : in[0];
  Expr y{b, b.emit(c.call.op, std::array{run_over}, c.attrs).at(0)};
  const auto end = [&](Var x, bool first) {
    const std::int64_t at = first ? 0 : b.type(x).shape.back() - 1;
    return part_of(b, x, -1, at, at + 1);
  };
  const SplitDim one_each{s->dim, s->axes, s->devices, s->devices};
  Expr totals{b, gathered(b, end(y, reverse), one_each)};
  const Shape shape = totals.type().shape;
  const auto over_all = [&](Var x) { return Expr{b, ir::broadcast_to(b, x, shape)}; };
  const Expr here = over_all(device_position(b, s->axes));
  const Expr block = over_all(positions_along(b, shape.back(), shape.size(), -1));
  // An extreme of the block's own changes none of them.
  const Expr nothing = how == Scan::Sum    ? over_all(totals.number(0))
                       : how == Scan::Prod ? over_all(totals.number(1))
                                           : over_all(end(run_over, !reverse));
  const Expr others = select(reverse ? lt(here, block) : lt(block, here), totals, nothing);
  const Expr all{b, ir::broadcast_to(b, end(b.emit1(c.call.op, {others}, c.attrs), reverse), y.type().shape)};
  constexpr std::string_view rows[] = {"add", "mul", "maximum", "minimum"};
  return {b.call(rows[static_cast<std::size_t>(how)], {all, y})};
}

void register_scans(OpTable& t) {
  auto add = [&](std::string_view signature, std::string_view doc, std::string_view said, Scan op,
                 ir::Derivative derivative) {
    OpDef row = order_row(signature, doc, said);
    row.factors = [](const OpCall& call) {
      FactorRule rule = whole_last(call);
      if (call.in[0].dtype != DType::Bool)
        rule.factors[static_cast<std::size_t>(rule.operands[0].back()[0])].kind = halo_of(call.in[0]);
      return rule;
    };
    row.partition = [op](Builder& b, const ir::LocalCall& c, std::span<const Var> in) {
      return scan_locally(b, c, in, op);
    };
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
  add("scan_sum(x, reverse: bool = false)", "Running sums along the last dimension.", "cumsum", Scan::Sum,
      linear([](Builder& b, const NodeView& n, Var ct, const Type&) {
        return b.emit1(n.call.op, {ct}, {{"reverse", !flag_or(n.call.attrs, "reverse", false)}});
      }));
  // d y_k / d x_i is the product of the other factors of y_k. Without zeros it is y_k / x_i; one zero z leaves, from it
  // on, what the product is with z taken for 1, to z's own derivative alone; behind a second zero nothing is left.
  add("scan_prod(x, reverse: bool = false)", "Running products along the last dimension.", "cumprod", Scan::Prod,
      pushed([](Builder& b, const NodeView& n, Var tangent) -> Vars {
        const Attrs& attrs = n.call.attrs;
        Expr x{b, n.in[0]}, dx{b, tangent};
        Expr is_zero = eq(x, 0.0), filled = select(is_zero, 1.0, x);
        Expr zeros{b, b.call("scan_sum", {cast_to(is_zero, x.type().dtype)}, attrs)},
            product{b, b.call("scan_prod", {filled}, attrs)};
        Expr ratio = dx / filled;
        Expr smooth{b, b.call("scan_sum", {select(is_zero, 0.0, ratio)}, attrs)},
            lone{b, b.call("scan_sum", {select(is_zero, dx, 0.0)}, attrs)};
        return {product * select(eq(zeros, 0.0), smooth, select(eq(zeros, 1.0), lone, 0.0))};
      }));
  auto extreme = [](Builder& b, const NodeView& n, std::span<const Var> tangents) -> Vars {
    if (!tangents[0].valid()) return {Var{}};
    // The position of each running extreme: the largest position so far at which it was reached.
    Expr x{b, n.in[0]}, y{b, n.out[0]};
    const Shape shape = x.type().shape;
    bool reverse = flag_or(n.call.attrs, "reverse", false);
    Expr here{b, ir::broadcast_to(b, positions_along(b, shape.back(), shape.size(), -1), shape)}, new_one = eq(x, y);
    Expr held = select(new_one, here, reverse ? static_cast<double>(shape.back() - 1) : 0.0);
    return {along_last(b, tangents[0], b.call(reverse ? "scan_min" : "scan_max", {held}, n.call.attrs))};
  };
  add("scan_max(x, reverse: bool = false)", "Running maxima along the last dimension.", "cummax", Scan::Max,
      ir::Custom{extreme, {}});
  add("scan_min(x, reverse: bool = false)", "Running minima along the last dimension.", "cummin", Scan::Min,
      ir::Custom{extreme, {}});
}

// `row` along the axis of a call; `flatten`: without an axis the whole array is one line, else the last axis is meant.
Vars along(Builder& b, std::span<const Var> in, const Attrs& attrs, std::string_view op, std::string_view row,
           bool flatten, Attrs passed) {
  Var x = in[0];
  if (flatten && !attrs.has("axis")) x = flat(b, x);
  auto rank = static_cast<std::int64_t>(b.type(x).shape.size());
  if (rank == 0) fail("shape", std::string(op) + " of an array of rank 0");
  std::int64_t axis = from_end(integer_or(attrs, "axis", -1), rank, op);
  const Type& t = b.type(x);
  if (int d = from_front(axis, rank); laid_out(t) && is_split(t, d))
    fail("layout", split_along(op, t, d));  // as users see it, before the axis moves
  return {move_axis(b, b.call(row, {move_axis(b, x, axis, -1)}, std::move(passed)), -1, axis)};
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
  auto add = [&](std::string_view signature, std::string_view doc, ir::Compose compose) -> OpDef& {
    return add_composite(t, signature, doc, axes, std::move(compose));
  };
  add("sort(x, axis: int = -1, descending: bool = false)", "The elements along an axis in order, nan last.",
      sorter("sort", "sort_last"))
      .aliases = {{"sorted", "an array is sorted by `sort(x)`, a list by `sort_by(xs, fn(x) = x)`"},
                  {"sort", "values never change in place"}};
  add("argsort(x, axis: int = -1, descending: bool = false)",
      "The positions that put an axis in order; equal elements keep theirs.", sorter("argsort", "argsort_last"));
  add("cumsum(x, axis: int? = none, reverse: bool = false)",
      "Running sums along an axis, or of all elements in a line.", runner("cumsum", "scan_sum"));
  add("cumprod(x, axis: int? = none, reverse: bool = false)",
      "Running products along an axis, or of all elements in a line.", runner("cumprod", "scan_prod"));
  add("cummax(x, axis: int? = none, reverse: bool = false)",
      "Running maxima along an axis, or of all elements in a line.", runner("cummax", "scan_max"));
  add("cummin(x, axis: int? = none, reverse: bool = false)",
      "Running minima along an axis, or of all elements in a line.", runner("cummin", "scan_min"));
  add_composite(t, "top_k(x, k: int)", "The k largest of the last dimension, largest first, and their positions.",
                "[4, 6] k=2; i32[8] 0..4 k=3", top_k)
      .aliases = {"topk"};
}

}  // namespace shard::stdlib
