// Rows taken from and written to an array at positions that another array gives: take, scatter_rows and
// scatter_reduce, of which take.cpp makes what users call. With `axis` (from the end of x) and `batch` (leading
// dimensions that x and the index share):
//     x [batch..., before..., n, after...],  index [batch..., any...]  ->  [batch..., before..., any..., after...]
// A split indexed dimension is worked on under a mask: each device takes what it has, and a sum is unreduced (factors
// of kind masked).
#include <algorithm>
#include <array>

#include "interpreter/transform/batch.h"
#include "runtime/kernels/kernels.h"
#include "runtime/kernels/moves.h"
#include "stdlib/ops/elementwise.h"
#include "stdlib/ops/hlo.h"
#include "stdlib/ops/moving/moving_steps.h"
#include "stdlib/ops/ops.h"

namespace shard::stdlib {
namespace {

// The dimensions of one use: [batch][before][n][after] of x and [batch][any] of the index.
struct Places {
  std::size_t batch, before, after, any, axis;
  Places(const Attrs& attrs, std::size_t rank, std::size_t index_rank, std::size_t lead = 0) {
    auto at = attrs.integer("axis") + static_cast<std::int64_t>(rank);
    batch = lead + static_cast<std::size_t>(integer_or(attrs, "batch", 0));
    if (at < static_cast<std::int64_t>(batch) || at >= static_cast<std::int64_t>(rank) || index_rank < batch)
      fail("shape",
           "take: axis " + std::to_string(attrs.integer("axis")) + " of an array of rank " + std::to_string(rank));
    axis = static_cast<std::size_t>(at);
    before = axis - batch;
    after = rank - axis - 1;
    any = index_rank - batch;
  }
  std::vector<int> x_groups() const {
    return {static_cast<int>(batch), static_cast<int>(before), 1, static_cast<int>(after)};
  }
  std::vector<int> index_groups() const { return {static_cast<int>(batch), static_cast<int>(any)}; }
  std::vector<int> out_groups() const {
    return {static_cast<int>(batch), static_cast<int>(before), static_cast<int>(any), static_cast<int>(after)};
  }
};

// Factors of x, of the index and of the rows taken or written, and which of them is the indexed one.
struct IndexRule {
  RuleBuilder r;
  ir::ValueFactors x, index, rows;
  int indexed;
  IndexRule(const OpCall& call, FactorKind kind, FactorKind positions, FactorReduce joined = FactorReduce::Sum) {
    const Shape &xs = call.in[0].shape, &is = call.in[1].shape;
    Places p(call.attrs, xs.size(), is.size());
    for (std::size_t d = 0; d < p.batch; ++d)
      if (xs[d] != is[d])
        fail("shape", "an array and its index differ in dimension " + std::to_string(d) + ": " +
                          runtime::to_string(call.in[0]) + " and " + runtime::to_string(call.in[1]));
    x = r.dims(xs);
    indexed = x[p.axis][0];
    r.rule.factors[static_cast<std::size_t>(indexed)].kind = kind;
    if (call.in[0].dtype == DType::Bool)  // of truth values there is no sum
      r.rule.factors[static_cast<std::size_t>(indexed)].reduce = FactorReduce::Or;
    for (std::size_t d = 0; d < is.size(); ++d)
      index.push_back(d < p.batch ? x[d] : ir::DimFactors{r.factor(is[d], positions, joined)});
    rows.assign(x.begin(), x.begin() + static_cast<std::ptrdiff_t>(p.axis));
    rows.insert(rows.end(), index.begin() + static_cast<std::ptrdiff_t>(p.batch), index.end());
    rows.insert(rows.end(), x.begin() + static_cast<std::ptrdiff_t>(p.axis) + 1, x.end());
  }
};

// How the terms of devices that have different positions are joined; nothing where they are written over each other.
std::optional<FactorReduce> joined_by(const OpCall& call) {
  const std::string op = call.attrs.text("op");
  if (op == "set" || call.in[0].dtype == DType::Key) return std::nullopt;
  if (call.in[0].dtype == DType::Bool) return op == "add" || op == "max" ? FactorReduce::Or : FactorReduce::And;
  return op == "add"   ? FactorReduce::Sum
         : op == "mul" ? FactorReduce::Prod
         : op == "max" ? FactorReduce::Max
                       : FactorReduce::Min;
}

FactorKind masked_unless_key(const OpCall& call) {
  return call.in[0].dtype == DType::Key ? FactorKind::Whole : FactorKind::Masked;
}

// Positions split, or the indexed dimension: several results are possible, so the layout has to be said.
std::optional<std::string> index_refuses(const OpCall& call, const FactorRule& rule) {
  if (call.attrs.has("out")) return std::nullopt;
  const Type &x = call.in[0], &index = call.in[1];
  Places p(call.attrs, x.shape.size(), index.shape.size());
  std::string both = std::string(call.op.name == "take" ? "taking from " : "writing to ") + runtime::to_string(x) +
                     " at " + runtime::to_string(index);
  std::string way = ": say the result's layout with `out: P(...)`, or `shard` first";
  if (is_split(x, static_cast<int>(p.axis)))
    return both + ": the indexed dimension is split over " + axes_text(x, static_cast<int>(p.axis)) + way;
  for (std::size_t d = p.batch; d < index.shape.size(); ++d)
    if (is_split(index, static_cast<int>(d)))
      return both + ": the positions are split over " + axes_text(index, static_cast<int>(d)) + way;
  if (call.in.size() < 3) return std::nullopt;
  const Type& rows = call.in[2];  // what is written does not decide how the array is laid out
  for (std::size_t d = 0; d < rows.shape.size(); ++d) {
    if (!is_split(rows, static_cast<int>(d))) continue;
    std::string mine;
    bool window = false;  // a dimension of the array too; positions are gathered or summed
    for (std::size_t k = 0; k < x.shape.size(); ++k)
      if (rule.operands[0][k] == rule.operands[2][d]) window = true, mine = axes_text(x, static_cast<int>(k));
    if (!window && index.shape.size() > p.batch)
      return both + ": the rows that are written are split over " + axes_text(rows, static_cast<int>(d)) + way;
    if (window && mine != axes_text(rows, static_cast<int>(d)))
      return "what is written must be laid out as the array is, got " + runtime::to_string(x) + " and " +
             runtime::to_string(rows) + "; `shard` one of them first";
  }
  return std::nullopt;
}

// ---- kernels

// One batch entry of a merged [batch][before][n][after]: [before, n, after]; and of an index [batch][any]: [before (the
// same), any].
View block(const View& v) {
  return {v.dtype, {v.shape[1], v.shape[2], v.shape[3]}, {v.strides[1], v.strides[2], v.strides[3]}, nullptr};
}
View positions(const View& index, std::int64_t before) {
  return {index.dtype, {before, index.shape[1]}, {0, index.strides[1]}, nullptr};
}
// All batch entries at once, of a merged array with nothing before the axis: [batch, n, after].
View entries(const View& v) {
  return {v.dtype, {v.shape[0], v.shape[2], v.shape[3]}, {v.strides[0], v.strides[2], v.strides[3]}, nullptr};
}

BoundKernel bind_take(const KernelCall& c) {
  Places p(c.attrs, c.in[0].shape.size(), c.in[1].shape.size(), static_cast<std::size_t>(c.batch));
  std::string how = text_or(c.attrs, "bounds", "clamp");
  auto bounds = how == "nan"      ? runtime::Bounds::Nan
                : how == "drop"   ? runtime::Bounds::Drop
                : how == "folded" ? runtime::Bounds::Folded
                                  : runtime::Bounds::Clamp;  // edge: clamp
  MergedView x(c.in[0], p.x_groups()), index(c.in[1], p.index_groups());
  const View out = *merged(c.out[0], p.out_groups());
  if (runtime::numel(out.shape) == 0) return [](void* const*, void* const*) {};
  if (runtime::Moves few; !x.from && !index.from && few.take(0, x.view, 1, index.view, out, bounds)) return few;
  runtime::Pool& pool = c.pool;
  const bool whole = x.view.shape[1] == 1;
  View from = whole ? entries(x.view) : block(x.view), to = whole ? entries(out) : block(out);
  View where = whole ? index.view : positions(index.view, x.view.shape[1]);
  const std::int64_t times = whole ? 1 : out.shape[0];
  const std::array steps{x.view.strides[0], index.view.strides[0], out.strides[0]};
  return [=, &pool](void* const* in, void* const* o) mutable {
    runtime::BufferRef held_x, held_i;
    void *const xs = x.data(pool, in[0], held_x), *const is = index.data(pool, in[1], held_i);
    for (std::int64_t b = 0; b < times; ++b)
      runtime::take(at(from, xs, b * steps[0]), at(where, is, b * steps[1]), at(to, o[0], b * steps[2]), bounds);
  };
}

ir::KernelFn scatter_kernel() {
  return [](const KernelCall& c) -> BoundKernel {
    Places p(c.attrs, c.in[0].shape.size(), c.in[1].shape.size(), static_cast<std::size_t>(c.batch));
    std::string how = c.attrs.text("op");
    auto op = how == "set"   ? runtime::Scatter::Set
              : how == "mul" ? runtime::Scatter::Mul
              : how == "min" ? runtime::Scatter::Min
              : how == "max" ? runtime::Scatter::Max
                             : runtime::Scatter::Add;
    MergedView x(c.in[0], p.x_groups()), index(c.in[1], p.index_groups()), v(c.in[2], p.out_groups());
    const View out = *merged(c.out[0], p.x_groups());
    if (runtime::numel(out.shape) == 0) return [](void* const*, void* const*) {};
    runtime::Moves few;
    few.whole(0, out);
    const bool as_they_lie = !x.from && !index.from && !v.from && runtime::is_contiguous(x.view);
    if (as_they_lie && few.put(2, v.view, 1, index.view, out, op)) return few;
    runtime::Pool& pool = c.pool;
    View from = block(x.view), where = positions(index.view, out.shape[1]), rows = block(v.view), to = block(out);
    const std::int64_t times = out.shape[0];
    const std::array steps{x.view.strides[0], index.view.strides[0], v.view.strides[0], out.strides[0]};
    return [=, &pool](void* const* in, void* const* o) mutable {
      runtime::BufferRef held_x, held_i, held_v;
      void *const xs = x.data(pool, in[0], held_x), *const is = index.data(pool, in[1], held_i),
                  *const vs = v.data(pool, in[2], held_v);
      for (std::int64_t b = 0; b < times; ++b)
        runtime::scatter(op, at(from, xs, b * steps[0]), at(where, is, b * steps[1]), at(rows, vs, b * steps[2]),
                         at(to, o[0], b * steps[3]));
    };
  };
}

// A mask over positions, aligned with the rows.
Var over_rows(Builder& b, Var mask, const Places& p) {
  Shape shape = b.type(mask).shape;
  shape.insert(shape.begin() + static_cast<std::ptrdiff_t>(p.batch), p.before, 1);
  shape.insert(shape.end(), p.after, 1);
  return expand(b, mask, shape);
}

// ---- per device

// The index counted from the first row that this device has.
Var local_index(Builder& b, const ir::LocalCall& c, Var index, int indexed, std::int64_t rows) {
  Var first = ir::mul(b, device_position(b, c.axes[static_cast<std::size_t>(indexed)]), scalar_i32(b, rows));
  return ir::sub(b, index, ir::convert(b, first, b.type(index).dtype));
}

Vars take_locally(Builder& b, const ir::LocalCall& c, std::span<const Var> in) {
  const Shape& global = c.call.in[0].shape;
  Places p(c.call.attrs, global.size(), c.call.in[1].shape.size());
  int indexed = c.rule.operands[0][p.axis][0];
  if (c.axes[static_cast<std::size_t>(indexed)].empty()) return b.emit(c.call.op, in, c.attrs);
  std::int64_t n = global[p.axis], rows = b.type(in[0]).shape[p.axis];
  std::string bounds = text_or(c.attrs, "bounds", "clamp");
  Expr index{b, in[1]};
  if (bounds == "folded") index = select(lt(index, 0.0), -1.0 - index, index);
  if (bounds == "clamp" || bounds == "edge" || bounds == "folded")
    index = minimum(maximum(index, index.number(0)), index.number(static_cast<double>(n - 1)));
  Expr here{b, local_index(b, c, index, indexed, rows)};
  Expr mine = both(ge(here, 0.0), lt(here, static_cast<double>(rows)));
  Attrs attrs = c.attrs;
  attrs.set("bounds", std::string("clamp"));
  Var taken = b.emit(c.call.op, {in[0], here}, attrs).at(0);
  const Shape made = b.type(taken).shape;
  Expr part = select({b, over_rows(b, mine, p)}, {b, taken}, 0.0);
  if (bounds == "nan" &&
      n > 0) {  // out of range everywhere: what the whole array would give, from the first device alone
    Expr outside = call("logical_or", {lt(index, 0.0), ge(index, static_cast<double>(n))});
    Expr first = eq(Expr{b, device_position(b, c.axes[static_cast<std::size_t>(indexed)])}, 0.0);
    Var nowhere = ir::broadcast_to(b, here.number(-1), here.type().shape);
    Var fill = b.emit(c.call.op, {in[0], nowhere}, c.attrs).at(0);
    part = select({b, over_rows(b, both(outside, first), p)}, {b, fill}, part);
  }
  return {ir::broadcast_to(b, part, made)};
}

Vars scatter_locally(Builder& b, const ir::LocalCall& c, std::span<const Var> in) {
  Places p(c.call.attrs, c.call.in[0].shape.size(), c.call.in[1].shape.size());
  int indexed = c.rule.operands[0][p.axis][0];
  Vars now(in.begin(), in.end());
  if (!c.axes[static_cast<std::size_t>(indexed)].empty()) {
    now[1] = local_index(b, c, now[1], indexed,
                         b.type(now[0]).shape[p.axis]);  // what others have is out of range and left out
  }
  std::vector<runtime::AxisId> summed;  // positions split: a sum or product is to be joined, in which x counts once
  for (std::size_t d = p.batch; d < c.rule.operands[1].size(); ++d)
    for (int f : c.rule.operands[1][d])
      summed.insert(summed.end(), c.axes[static_cast<std::size_t>(f)].begin(),
                    c.axes[static_cast<std::size_t>(f)].end());
  const FactorReduce joined = joined_by(c.call).value_or(FactorReduce::Sum);
  if (!summed.empty() && (joined == FactorReduce::Sum || joined == FactorReduce::Prod)) {
    Expr x{b, now[0]};
    now[0] = select(eq(Expr{b, device_position(b, summed)}, 0.0), x, joined == FactorReduce::Prod ? 1.0 : 0.0);
  }
  return b.emit(c.call.op, now, c.attrs);
}

// ---- batching

Attrs one_more_batch(const Builder& b, const Attrs& attrs, std::span<const Mapped> in) {
  Attrs made = with_mapped_out(b, attrs, in);
  made.set("batch", integer_or(attrs, "batch", 0) + 1);
  return made;
}

std::vector<Mapped> take_batch(Builder& b, const OpCall& call, std::span<const Mapped> in, std::int64_t size) {
  bool shared = integer_or(call.attrs, "batch", 0) > 0;
  if (!shared && !in[1].mapped)
    return {{b.emit(call.op, {in[0].var, in[1].var}, with_mapped_out(b, call.attrs, in)).at(0), true}};
  const transform::Front front = transform::front_of(b, in);
  Var x = transform::front_mapped(b, in[0], size, front), index = transform::front_mapped(b, in[1], size, front);
  return {{b.emit(call.op, {x, index}, one_more_batch(b, call.attrs, in)).at(0), true}};
}

std::vector<Mapped> scatter_batch(Builder& b, const OpCall& call, std::span<const Mapped> in, std::int64_t size) {
  const transform::Front front = transform::front_of(b, in);
  Vars all;
  for (auto& m : in) all.push_back(transform::front_mapped(b, m, size, front));
  if (!in[1].mapped && integer_or(call.attrs, "batch", 0) == 0) {
    all[1] = in[1].var;
    return {{b.emit(call.op, all, with_mapped_out(b, call.attrs, in)).at(0), true}};
  }
  return {{b.emit(call.op, all, one_more_batch(b, call.attrs, in)).at(0), true}};
}

// ---- derivatives

Var take_transpose(Builder& b, const NodeView& n, int, std::span<const Var> ct, const Type& want) {
  const Attrs& attrs = n.call.attrs;
  Places p(attrs, want.shape.size(), n.call.in[1].shape.size());
  Expr index{b, n.in[1]};
  if (text_or(attrs, "bounds", "clamp") == "clamp")
    index = minimum(maximum(index, index.number(0)), index.number(static_cast<double>(want.shape[p.axis] - 1)));
  const auto out = wanted_layout(b, want, ct);
  const auto batch = integer_or(attrs, "batch", 0);
  // One position of each line, as a loss takes the score of the right class: no zeros are written first.
  if (!out && batch == want.rank() - 1 && n.call.in[1].rank() == want.rank() && n.call.in[1].shape.back() == 1)
    return select(eq(positions_along(b, want.shape.back(), 1, -1), index), Expr{b, ct[0]}, 0.0);
  Attrs made = written_along(attrs.integer("axis"), "add", batch);
  if (out) made.set("out", *out);
  return b.call("scatter_rows", {ir::zeros(b, want), index, ct[0]}, made);
}

// Of positions written more than once only the last one counts: 1 where a row's value is what remained.
Var survived(Builder& b, const NodeView& n) {
  const Shape &x = n.call.in[0].shape, &is = n.call.in[1].shape;
  Places p(n.call.attrs, x.size(), is.size());
  Shape targets(x.begin(), x.begin() + static_cast<std::ptrdiff_t>(p.batch));
  targets.push_back(x[p.axis]);
  Shape positions_only(is.begin() + static_cast<std::ptrdiff_t>(p.batch), is.end());
  Var ids = positions_along(b, runtime::numel(positions_only), 1, -1);
  ids = ir::broadcast_to(b, expand(b, ids, positions_only), is);
  const auto batch = static_cast<std::int64_t>(p.batch);
  Var last = b.call("scatter_rows", {ir::broadcast_to(b, scalar_i32(b, -1), targets), n.in[1], ids},
                    written_along(-1, "set", batch));
  Var seen = b.call("take", {last, n.in[1]}, rows_along(-1, "drop", batch));
  return over_rows(b, b.call("eq", {seen, ids}), p);
}

Var scatter_transpose(Builder& b, const NodeView& n, int operand, std::span<const Var> ct, const Type& want) {
  const Attrs& attrs = n.call.attrs;
  bool set = attrs.text("op") == "set";
  if (operand == 0) {
    if (!set) return ct[0];
    Attrs made = written_along(attrs.integer("axis"), "set", integer_or(attrs, "batch", 0));
    if (auto out = wanted_layout(b, want, ct)) made.set("out", *out);
    return b.call("scatter_rows", {ct[0], n.in[1], ir::zeros(b, n.call.in[2])}, made);
  }
  Attrs made = rows_along(attrs.integer("axis"), "drop", integer_or(attrs, "batch", 0));
  if (auto out = wanted_layout(b, want, ct)) made.set("out", *out);
  Expr taken{b, b.call("take", {ct[0], n.in[1]}, made)};
  return set ? select({b, survived(b, n)}, taken, 0.0) : taken;
}

// Of the larger or smaller of several, those that are equal share the derivative (JAX). A product's is that of
// scan_prod: one factor of 0 leaves, to itself alone, what the product is without it.
Vars reduce_jvp(Builder& b, const NodeView& n, std::span<const Var> tangents) {
  if (!tangents[0].valid() && !tangents[2].valid()) return {Var{}};
  const Attrs& attrs = n.call.attrs;
  Attrs read = rows_along(attrs.integer("axis"), "drop", integer_or(attrs, "batch", 0)), adding = attrs;
  adding.set("op", std::string("add"));
  if (auto out = wanted_layout(b, n.call.in[2], {})) read.set("out", *out);
  Expr x{b, n.in[0]}, v{b, n.in[2]}, y{b, n.out[0]};
  Expr dx{b, tangents[0].valid() ? tangents[0] : ir::zeros(b, n.call.in[0])},
      dv{b, tangents[2].valid() ? tangents[2] : ir::zeros(b, n.call.in[2])};
  auto added = [&](Expr to, Expr rows) { return Expr{b, b.call("scatter_rows", {to, n.in[1], rows}, adding)}; };
  auto multiplied = [&](Expr to, Expr rows) { return Expr{b, b.emit1(n.call.op, {to, n.in[1], rows}, attrs)}; };
  auto number = [&](Expr flags) { return cast_to(flags, x.type().dtype); };
  if (attrs.text("op") != "mul") {
    Expr there{b, b.call("take", {y, n.in[1]}, read)};
    Expr mine = number(eq(x, y)), theirs = number(eq(v, there));
    return {added(mine * dx, theirs * dv) / added(mine, theirs)};
  }
  Expr ones{b, b.call("fill_like", {x}, {{"value", 1.0}, {"dtype", x.type().dtype}})},
      none{b, ir::zeros(b, n.call.in[0])};
  Expr is_zero = eq(v, 0.0), filled = select(is_zero, 1.0, v);
  Expr zeros = added(none, number(is_zero)), product = multiplied(x, filled);
  Expr smooth = added(none, select(is_zero, 0.0, dv / filled)), lone = added(none, select(is_zero, dv, 0.0));
  return {dx * multiplied(ones, v) + product * select(eq(zeros, 0.0), smooth, select(eq(zeros, 1.0), lone, 0.0))};
}

ir::KindFn kind_of_first(std::string_view op) {
  return [op](const OpCall& call) {
    DType i = call.in[1].dtype;
    if (i != DType::I32 && i != DType::I64)
      fail("type", std::string(op) + ": an index is i32 or i64, got " + runtime::to_string(call.in[1]));
    if (call.in.size() > 2 && call.in[2].dtype != call.in[0].dtype)
      fail("type", std::string(op) + ": rows of " + runtime::to_string(call.in[2]) + " do not go into " +
                       runtime::to_string(call.in[0]));
    return std::vector<Kind>{call.in[0].kind()};
  };
}

OpDef scatter_row(std::string_view signature, std::string_view doc) {
  OpDef row = internal_row(signature, doc);
  row.factors = [](const OpCall& call) {
    const auto joined = joined_by(call);
    IndexRule i(call, masked_unless_key(call), joined ? FactorKind::Reduced : FactorKind::Whole,
                joined.value_or(FactorReduce::Sum));
    Shape rows;
    for (auto& d : i.rows) rows.push_back(i.r.rule.factors[static_cast<std::size_t>(d[0])].size);
    if (call.in.size() > 2 && call.in[2].shape != rows)
      fail("shape", "writing " + runtime::to_string(call.in[2]) + " to " + runtime::to_string(call.in[0]) + " at " +
                        runtime::to_string(call.in[1]) + ": rows of shape " + runtime::to_string(rows) + " are needed");
    return i.r.made({i.x, i.index, i.rows}, {i.x});
  };
  row.dtype.result = kind_of_first(row.name);
  row.hlo = scatter_hlo;
  row.in_place = true;
  row.kernel = scatter_kernel();
  row.explicit_refuses = index_refuses;
  row.partition = scatter_locally;
  row.batch = scatter_batch;
  return row;
}

}  // namespace

void register_gather_scatter(OpTable& t) {
  OpDef take_row = internal_row(
      "take(x, index, axis: int, batch: int = 0, bounds: str = \"clamp\", out: spec? = none)",
      "The rows of x along an axis at the positions of an index; beyond the end the last one (clamp; edge: which "
      "gets no gradient then), nan or 0 (drop); folded: -1 - i reads i without gradient.");
  take_row.factors = [](const OpCall& call) {
    IndexRule i(call, masked_unless_key(call), FactorKind::Pass);
    return i.r.made({i.x, i.index}, {i.rows});
  };
  take_row.dtype.result = kind_of_first("take");
  take_row.derivative = Transposes{{0}, false, take_transpose, [](const OpCall& call) {
                                     return call.attrs.text("bounds") == "nan" && !runtime::is_float(call.in[0].dtype);
                                   }};
  take_row.of_complex = ir::OnParts{};
  take_row.hlo = take_hlo;
  take_row.kernel = ir::KernelFn(bind_take);
  take_row.explicit_refuses = index_refuses;
  take_row.partition = take_locally;
  take_row.batch = take_batch;
  take_row.samples =
      "[8, 4] i32[6] 0..8 axis=-2 batch=0 bounds='clamp'; "
      "[2, 8, 4] i32[2, 2] 0..10 axis=-2 batch=0 bounds='clamp'; "
      "[8] i32[] 0..8 axis=-1 batch=0 bounds='clamp'; "
      "[4, 8] i32[4, 2] 0..8 axis=-1 batch=1 bounds='drop'; "
      "[8, 2] i32[4] 0..8 axis=-2 batch=0 bounds='edge'; "
      "[8, 2] i32[4] 0..8 axis=-2 batch=0 bounds='folded'; "
      "i32[8, 2] i32[4] 0..8 axis=-2 batch=0 bounds='nan'";
  t.add(std::move(take_row));

  OpDef write =
      scatter_row("scatter_rows(x, index, v, axis: int, batch: int = 0, op: str, out: spec? = none)",
                  "x with rows v added or set at the positions of an index; positions out of range are left out.");
  write.of_complex = ir::OnParts{};
  write.derivative = Transposes{{0, 2}, true, scatter_transpose};
  write.samples =
      "[8, 4] i32[6] 0..8 [6, 4] axis=-2 batch=0 op='add'; "
      "[2, 8] i32[4] 0..10 [2, 4] axis=-1 batch=0 op='add'; "
      "[8, 2] i32[2, 2] 0..8 [2, 2, 2] axis=-2 batch=0 op='add'; "
      "[8, 4] i32[4] 0..8 [4, 4] axis=-2 batch=0 op='set'; "
      "[4, 8] i32[4, 2] 0..8 [4, 2] axis=-1 batch=1 op='add'; "
      "i32[8] i32[] 0..8 i32[] axis=-1 batch=0 op='add'";
  t.add(std::move(write));
  OpDef merge =
      scatter_row("scatter_reduce(x, index, v, axis: int, batch: int = 0, op: str, out: spec? = none)",
                  "x with rows v multiplied into, or the smaller or larger kept, at the positions of an index.");
  merge.derivative = ir::Custom{reduce_jvp, {}};
  merge.samples =
      "[8, 4] i32[6] 0..8 [6, 4] axis=-2 batch=0 op='mul'; "
      "[8] i32[4] 0..8 [4] axis=-1 batch=0 op='max'; "
      "i32[8] i32[4] 0..8 i32[4] axis=-1 batch=0 op='min'";
  t.add(std::move(merge));
}

}  // namespace shard::stdlib
