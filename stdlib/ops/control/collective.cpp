// The steps in which devices communicate, and what belongs to them: a device's place (`axis_index`), the cast that
// makes a value varying
// (`pcast`), and a device's own part of a value (`own_slice`). The rows `shard` and `follow` are in constraint.cpp.
// Their kernels are in exec, which reads the `comm` column. Shapes, effects on the varying axes and transposes are
// those of jax.lax's collectives under shard_map. Attributes: interpreter/ir/collective.h.
#include <algorithm>
#include <stdexcept>

#include "stdlib/ops/control/control.h"
#include "stdlib/ops/ops.h"

namespace shard::stdlib {
namespace {

using ir::Collective;
using runtime::AxisId;
using runtime::AxisSet;
using runtime::MeshRef;
using runtime::Reduce;

// ---- what a use says

MeshRef mesh_of(const OpCall& call) {
  if (call.attrs.has("mesh")) return call.attrs.layout("mesh").mesh;
  for (const Type& t : call.in)
    if (t.mesh) return t.mesh;
  fail("mesh", std::string(call.op.name) + " needs a mesh: declare one, and use it in a `manual fn`");
}

bool grouped(const Attrs& attrs) { return attrs.has("groups"); }

// Devices that communicate with each other: along the axes, or in one group.
std::int64_t devices(const OpCall& call) {
  if (grouped(call.attrs)) return call.attrs.integer("group_size");
  return mesh_of(call)->size_of(call.attrs.axes());
}

bool tiled(const Attrs& attrs) { return flag_or(attrs, "tiled", false); }
std::size_t dim_of(const Type& t, std::int64_t negative, std::string_view op) {
  return static_cast<std::size_t>(from_end(negative, t.rank(), op) + t.rank());
}
std::string axes_named(const OpCall& call) {
  std::string out;
  for (AxisId a : call.attrs.axes().list()) out += (out.empty() ? "@" : ", @") + mesh_of(call)->axes[a].name;
  return out;
}

// The dimensions of an operand and a result: which of them the collective works on, and where the others are in the
// result.
struct Change {
  std::vector<bool> touched;  // by operand dimension
  std::vector<int> from;      // by result dimension: the operand's, or -1 where it is made or changed
  Shape shape;
};

// Which dimension (from the end; `present`) loses its parts or goes, and which comes or grows: the one description of
// all collectives that change a shape.
Change change(const OpCall& call, std::optional<std::int64_t> split, std::optional<std::int64_t> join) {
  const Type& x = call.in[0];
  Change c;
  std::int64_t n = devices(call);
  c.touched.assign(x.shape.size(), false);
  const bool whole_dims = ir::tiled(*call.op.comm, call.attrs);
  Shape shape = x.shape;
  std::vector<int> from(shape.size());
  for (std::size_t d = 0; d < from.size(); ++d) from[d] = static_cast<int>(d);
  if (split) {
    std::size_t d = dim_of(x, *split, call.op.name);
    if (whole_dims ? shape[d] % n != 0 : shape[d] != n)
      fail("shape", std::string(call.op.name) + " of " + runtime::to_string(x) + " over " + axes_named(call) +
                        ": dimension " + std::to_string(d) + " has size " + std::to_string(shape[d]) + ", which " +
                        (whole_dims ? "does not divide by " : "must be ") + std::to_string(n) +
                        (whole_dims ? "" : " (or say `tiled: true`)"));
    c.touched[d] = true;
    if (whole_dims)
      shape[d] /= n, from[d] = -1;
    else
      shape.erase(shape.begin() + static_cast<std::ptrdiff_t>(d)),
          from.erase(from.begin() + static_cast<std::ptrdiff_t>(d));
  }
  if (join) {
    if (whole_dims) {
      std::size_t d = dim_of(x, *join, call.op.name);
      c.touched[d] = true;
      if (__builtin_mul_overflow(shape[d], n, &shape[d]))
        fail("shape", std::string(call.op.name) + ": the result is too large");
      from[d] = -1;
    } else {
      auto rank = static_cast<std::int64_t>(shape.size()) + 1;
      auto d = static_cast<std::ptrdiff_t>(from_end(*join, rank, call.op.name) + rank);
      shape.insert(shape.begin() + d, n);
      from.insert(from.begin() + d, -1);
    }
  }
  c.from = std::move(from);
  c.shape = std::move(shape);
  return c;
}

Change change_of(const OpCall& call) {
  const auto dimension = [&](const char* name) {
    return name ? std::optional(call.attrs.integer(name)) : std::nullopt;
  };
  return change(call, dimension(call.op.comm->split), dimension(call.op.comm->join));
}

// Dimensions that a collective does not work on pass through (axes that the partitioner looks after may split them);
// the others are needed whole.
FactorRule rule(const OpCall& call) {
  RuleBuilder r;
  if (call.in.empty()) {
    r.rule.results.push_back({});
    return r.rule;
  }
  Change c = change_of(call);
  ir::ValueFactors in, out;
  for (std::size_t d = 0; d < call.in[0].shape.size(); ++d)
    in.push_back({r.factor(call.in[0].shape[d], c.touched[d] ? FactorKind::Whole : FactorKind::Pass)});
  for (std::size_t d = 0; d < c.shape.size(); ++d)
    out.push_back(c.from[d] >= 0 ? in[static_cast<std::size_t>(c.from[d])]
                                 : ir::DimFactors{r.factor(c.shape[d], FactorKind::Whole)});
  return r.made({in}, {out});
}

// ---- types

Type moved(const OpCall& call) {
  const Type& x = call.in[0];
  Change c = change_of(call);
  for (std::size_t d = 0; d < c.touched.size(); ++d)
    if (c.touched[d] && is_split(x, static_cast<int>(d)))
      fail("layout", std::string(call.op.name) + " of " + runtime::to_string(x) + ": dimension " + std::to_string(d) +
                         " is split over " + axes_text(x, static_cast<int>(d)) + ", `shard` it first");
  runtime::bytes_of(c.shape, runtime::size_of(x.dtype));
  Type out = x;
  out.shape = c.shape;
  out.sharding.dims.clear();
  for (int d : c.from)
    out.sharding.dims.push_back(d >= 0 ? x.sharding.dims[static_cast<std::size_t>(d)] : runtime::DimSharding{});
  out.mesh = mesh_of(call);
  return out;
}

void check_combined(const OpCall& call) {
  const Type& x = call.in[0];
  if (x.dtype == DType::Key || (x.dtype == DType::Bool && call.op.comm->combine == Reduce::Sum))
    fail("dtype",
         std::string(call.op.name) + " of " + runtime::to_string(x) + ": cast it to a number first, `cast(x, i32)`");
}

std::vector<Type> infer_reduction(const OpCall& call) {
  check_combined(call);
  Type out = moved(call);
  AxisSet axes = call.attrs.axes();
  if (grouped(call.attrs))
    out.varying |= axes;
  else
    out.varying = out.varying - axes;
  out.sharding.unreduced = out.sharding.unreduced - axes;
  return {out};
}

std::vector<Type> infer_move(const OpCall& call) {
  if (call.op.comm->combine) check_combined(call);
  Type out = moved(call);
  AxisSet axes = call.attrs.axes();
  if (call.op.comm->join && !call.op.comm->split && text_or(call.attrs, "to", "varying") == "same")
    out.varying = out.varying - axes;
  else
    out.varying |= axes;
  out.sharding.unreduced = out.sharding.unreduced - axes;
  return {out};
}

std::vector<Type> infer_permute(const OpCall& call) {
  std::int64_t n = devices(call);
  std::vector<bool> sends(static_cast<std::size_t>(n), false), gets(static_cast<std::size_t>(n), false);
  for (auto [from, to] : call.attrs.pairs("pairs")) {
    if (from < 0 || from >= n || to < 0 || to >= n)
      fail("argument", "ppermute over " + axes_named(call) + ": the pair (" + std::to_string(from) + ", " +
                           std::to_string(to) + ") names a device beyond the " + std::to_string(n) + " there are");
    if (sends[static_cast<std::size_t>(from)] || gets[static_cast<std::size_t>(to)])
      fail("argument", "ppermute over " + axes_named(call) + ": in (" + std::to_string(from) + ", " +
                           std::to_string(to) + ") a source or a destination comes a second time; each may occur once");
    sends[static_cast<std::size_t>(from)] = gets[static_cast<std::size_t>(to)] = true;
  }
  return infer_move(call);
}

std::vector<Type> infer_index(const OpCall& call) {
  Type out = Type::of(DType::I32, {});
  out.varying = call.attrs.axes();
  if (call.attrs.has("mesh")) out.mesh = mesh_of(call);
  return {out};
}

std::vector<Type> infer_cast(const OpCall& call) {
  Type out = call.in[0];
  out.mesh = mesh_of(call);
  AxisSet axes = call.attrs.axes();
  std::string to = text_or(call.attrs, "to", "varying");
  if (to == "varying") {
    out.varying |= axes;
    out.sharding.reduced = out.sharding.reduced - axes;
  } else if (to == "same") {  // of what is the same by its making
    out.varying = out.varying - axes;
  } else if (to == "reduced") {
    if (!(out.varying & axes).empty())
      fail("varying", "pcast of " + runtime::to_string(out) + ": a value that varies cannot become reduced");
    out.sharding.reduced |= axes;
  } else if (to == "unreduced") {
    if (!out.varying.contains(axes))
      fail("varying", "pcast of " + runtime::to_string(out) + ": only a value that varies can become an unreduced sum");
    out.varying = out.varying - axes;
    out.sharding.unreduced |= axes;
  } else {
    fail("argument", "pcast: `to` is \"varying\", \"reduced\" or \"unreduced\", got \"" + to + "\"");
  }
  return {out};
}

// ---- derivatives

// One more collective over the same devices, without what belongs to the old one only.
Attrs over(const Attrs& attrs, std::initializer_list<Attrs::Item> more = {}) {
  Attrs out;
  for (const char* name : {"axes", "mesh", "groups", "group_size", "written"})
    if (attrs.has(name)) out.set(name, *attrs.find(name));
  for (const auto& [name, value] : more) out.set(name, value);
  return out;
}

Attrs only(const Attrs& attrs, AxisSet axes) {
  const auto list = axes.list();
  Attrs out{{"axes", Ints(list.begin(), list.end())}};
  if (attrs.has("mesh")) out.set("mesh", *attrs.find("mesh"));
  return out;
}

Var cast_varying(Builder& b, Var x, const Attrs& attrs, AxisSet axes) {
  AxisSet less = axes - b.type(x).varying;
  if (less.empty()) return x;
  Attrs a = only(attrs, less);
  a.set("to", std::string("varying"));
  return b.emit1(*b.core().pcast, {x}, std::move(a));
}

// A value that did not vary counted once a device, so its cotangent is the sum of theirs.
Var sum_missing(Builder& b, Var ct, const Attrs& attrs, const Type& want) {
  AxisSet extra = (b.type(ct).varying - want.varying) & attrs.axes();
  return extra.empty() ? ct : b.emit1(*b.core().psum, {ct}, only(attrs, extra));
}

using TransposeFn = Var (*)(Builder&, const NodeView&, Var ct, const Type& want);
Transposes transposes(TransposeFn of) {
  return linear([of](Builder& b, const NodeView& n, Var ct, const Type& want) {
    return sum_missing(b, of(b, n, ct, want), n.call.attrs, want);
  });
}

Var psum_back(Builder& b, const NodeView& n, Var ct, const Type&) {
  if (grouped(n.call.attrs)) return b.emit1(n.call.op, {ct}, over(n.call.attrs));
  return cast_varying(b, ct, n.call.attrs, n.call.attrs.axes());
}

Var gather_back(Builder& b, const NodeView& n, Var ct, const Type& want) {
  const Attrs& attrs = n.call.attrs;
  if (text_or(attrs, "to", "varying") == "same") {  // every device has all of the cotangent: its own part is enough
    Var part = b.emit1(*b.core().own_slice, {ct}, over(attrs, {{"axis", attrs.integer("axis")}}));
    return tiled(attrs) ? part : ir::reshape(b, part, want.shape);
  }
  return b.emit1(*b.core().psum_scatter, {ct}, over(attrs, {{"axis", attrs.integer("axis")}, {"tiled", tiled(attrs)}}));
}

Var scatter_back(Builder& b, const NodeView& n, Var ct, const Type&) {
  const Attrs& attrs = n.call.attrs;
  return b.emit1(*b.core().all_gather, {ct}, over(attrs, {{"axis", attrs.integer("axis")}, {"tiled", tiled(attrs)}}));
}

Var exchange_back(Builder& b, const NodeView& n, Var ct, const Type&) {
  const Attrs& attrs = n.call.attrs;
  return b.emit1(
      n.call.op, {ct},
      over(attrs, {{"split", attrs.integer("concat")}, {"concat", attrs.integer("split")}, {"tiled", tiled(attrs)}}));
}

Var permute_back(Builder& b, const NodeView& n, Var ct, const Type&) {
  Pairs pairs = n.call.attrs.pairs("pairs");
  for (auto& p : pairs) std::swap(p.first, p.second);
  return b.emit1(n.call.op, {ct}, over(n.call.attrs, {{"pairs", pairs}}));
}

Var cast_back(Builder&, const NodeView&, Var ct, const Type&) { return ct; }  // the sum follows in sum_missing

Var slice_back(Builder& b, const NodeView& n, Var ct, const Type& want) {
  const Attrs& attrs = n.call.attrs;
  if (!(want.varying & attrs.axes()).empty())
    throw std::logic_error("own_slice is for values that all devices have, not for " + runtime::to_string(want));
  return b.emit1(*b.core().all_gather, {ct},
                 over(attrs, {{"axis", attrs.integer("axis")}, {"tiled", true}, {"to", std::string("same")}}));
}

// The gradient of a maximum is shared among ties: each device's share is 1 / how many have the extreme value.
Var share_of_extreme(Builder& b, const NodeView& n) {
  DType dtype = n.call.in[0].dtype;
  Var here = ir::convert(b, b.emit1(*b.core().eq, {n.in[0], n.out[0]}, {}), dtype);
  Var all = b.emit1(*b.core().psum, {here}, over(n.call.attrs));
  return ir::div(b, here, all);
}

ir::Custom extreme() {
  ir::Custom out;
  out.jvp = [](Builder& b, const NodeView& n, std::span<const Var> t) -> Vars {
    if (!t[0].valid()) return {Var{}};
    return {b.emit1(*b.core().psum, {ir::mul(b, t[0], share_of_extreme(b, n))}, over(n.call.attrs))};
  };
  out.vjp = [](Builder& b, const NodeView& n, std::span<const Var> ct) -> Vars {
    if (!ct[0].valid()) return {Var{}};
    Var spread = grouped(n.call.attrs) ? b.emit1(*b.core().psum, {ct[0]}, over(n.call.attrs))
                                       : cast_varying(b, ct[0], n.call.attrs, n.call.attrs.axes());
    return {sum_missing(b, ir::mul(b, spread, share_of_extreme(b, n)), n.call.attrs, n.call.in[0])};
  };
  return out;
}

// ---- batching: attributes count from the end, so a new leading dimension passes through
std::vector<Mapped> batch_leading(Builder& b, const OpCall& call, std::span<const Mapped> in, std::int64_t) {
  const bool mapped = std::any_of(in.begin(), in.end(), [](const Mapped& m) { return m.mapped; });
  return {{b.emit(call.op, vars_of(in), call.attrs).at(0), mapped}};
}

// ---- rows

OpDef row(std::string_view signature, std::string_view doc, Collective comm, ir::Derivative derivative,
          std::vector<Type> (*infer)(const OpCall&)) {
  OpDef r = internal_row(signature, doc);
  r.factors = ir::FactorFn(rule);
  r.derivative = std::move(derivative);
  r.kernel = ir::Structure::Collective;
  r.flops = 0;
  r.comm = comm;
  if (comm.combine == Reduce::Sum) r.of_complex = ir::OnParts{};
  r.batch = batch_leading;
  r.infer = infer;
  return r;
}

}  // namespace

void register_collective(OpTable& table) {
  table.add(row("psum(x, axes: ints)", "The sum of x over the devices along the axes, on each of them.",
                {.combine = Reduce::Sum}, transposes(psum_back), infer_reduction));
  table.add(row("pmax(x, axes: ints)", "The largest x along the axes.", {.combine = Reduce::Max}, extreme(),
                infer_reduction));
  table.add(row("pmin(x, axes: ints)", "The smallest x along the axes.", {.combine = Reduce::Min}, extreme(),
                infer_reduction));
  table.add(row("pprod(x, axes: ints)", "The product of x over the devices along the axes.", {.combine = Reduce::Prod},
                ir::NotDifferentiable{"the partitioner makes it, after derivatives"}, infer_reduction));
  table.add(row("all_gather(x, axes: ints, axis: int = 0, tiled: bool = false, to: str = \"varying\")",
                "The x of all devices along the axes, joined along a dimension (tiled) or stacked as a new one.",
                {.join = "axis"}, transposes(gather_back), infer_move));
  table.add(row("psum_scatter(x, axes: ints, axis: int = 0, tiled: bool = false)",
                "The sum along the axes, split along a dimension.", {.combine = Reduce::Sum, .split = "axis"},
                transposes(scatter_back), infer_move));
  table.add(row("all_to_all(x, axes: ints, split: int = 0, concat: int = 0, tiled: bool = false)",
                "Piece i of the x of every device.", {.split = "split", .join = "concat"}, transposes(exchange_back),
                infer_move));
  table.add(row("ppermute(x, axes: ints, pairs: pairs)", "The x of the source device, zeros without a source.",
                {.pairs = true}, transposes(permute_back), infer_permute));
  table.add(
      row("axis_index(axes: ints)", "Where this device is along the axes.", {.place = true}, ir::Zero{}, infer_index));
  table.add(row("pcast(x, axes: ints, to: str = \"varying\")",
                "The same value, typed as one that may differ between devices.", {}, transposes(cast_back),
                infer_cast));
  table.add(row("own_slice(x, axes: ints, axis: int)", "This device's part of a value that all have.",
                {.split = "axis"}, transposes(slice_back), infer_move));
  table.add(shard_row());
  table.add(follow_row());
}

}  // namespace shard::stdlib
