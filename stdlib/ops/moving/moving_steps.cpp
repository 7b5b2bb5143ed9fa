#include "stdlib/ops/moving/moving_steps.h"

namespace shard::stdlib {

Expr part_of(Builder& b, Var x, std::int64_t axis, std::int64_t from, std::int64_t to, std::int64_t step) {
  const Shape& shape = b.type(x).shape;
  if (from == 0 && step == 1 && to == shape[shape.size() - static_cast<std::size_t>(-axis)]) return {b, x};
  const auto count = static_cast<std::size_t>(-axis);
  Ints start(count, 0), limit(count, ir::kWhole), steps(count, 1);
  start[0] = from;
  limit[0] = to;
  steps[0] = step;
  return {b, b.call("slice", {x}, {{"start", start}, {"limit", limit}, {"step", steps}})};
}

Expr element_of(Builder& b, Var x, std::int64_t axis, std::int64_t at) {
  const Shape shape = erase_axes(b.type(x).shape, {axis});
  return {b, expand(b, part_of(b, x, axis, at, at + 1), shape)};
}

Vars scalars_of(Builder& b, std::span<const Var> given) {
  Vars made(given.begin(), given.end());
  if (given.size() != 1 || b.type(given[0]).shape.size() != 1) return made;
  const std::int64_t n = b.type(given[0]).shape[0];
  made.clear();
  for (std::int64_t i = 0; i < n; ++i) made.push_back(element_of(b, given[0], -1, i));
  return made;
}

Var join_parts(Builder& b, const Vars& xs, std::int64_t axis) {
  return xs.size() == 1 ? xs[0] : b.emit(*b.core().concat, xs, {{"axis", axis}}).at(0);
}

Var move_axis(Builder& b, Var x, std::int64_t from, std::int64_t to) {
  if (from == to) return x;
  const auto rank = static_cast<std::int64_t>(b.type(x).shape.size());
  Ints perm;
  for (std::int64_t d = 0; d < rank; ++d)
    if (d != from + rank) perm.push_back(d);
  perm.insert(perm.begin() + to + rank, from + rank);
  return ir::transpose(b, x, perm);
}

Expr positions_along(Builder& b, std::int64_t n, std::size_t rank, std::int64_t axis, DType dtype) {
  Shape line(rank, 1);
  line[rank - static_cast<std::size_t>(-axis)] = n;
  return {b, b.emit1(*b.core().iota, {}, {{"shape", line}, {"axis", axis}, {"dtype", dtype}})};
}

Attrs out_as(const Builder& b, Attrs attrs, Var like) {
  const Type& t = b.type(like);
  if (laid_out(t)) attrs.set("out", Layout{t.mesh, t.sharding});
  return attrs;
}

Expr elements_at(Builder& b, Var vector, Var index) {
  return {b, b.call("take", {vector, index}, out_as(b, rows_along(-1), index))};
}

Expr chosen(const Expr& c, const Expr& x, const Expr& y) { return call("where", {c, x, y}); }

Var flat(Builder& b, Var x) { return expand(b, x, {runtime::numel(b.type(x).shape)}); }

Expr as_inexact(Builder& b, Var x) {
  const Type& t = b.type(x);
  return {b, ir::convert(b, x, runtime::to_inexact(t.dtype), t.weak)};
}

Expr summed_in(const Expr& x) { return runtime::is_narrow(x.type().dtype) ? cast_to(x, DType::F32) : x; }

std::pair<Expr, Expr> inexact_pair(Builder& b, std::span<const Var> two) {
  Kind kind = promoted(b, two.first(2));
  kind.dtype = runtime::to_inexact(kind.dtype);
  return {Expr{b, promote_to(b, two[0], kind)}, Expr{b, promote_to(b, two[1], kind)}};
}

namespace {

Vars laid_out_as(Builder& b, Vars made, const Layout& out) {
  for (Var& v : made) {
    Layout asked = out;
    asked.sharding.dims.resize(b.type(v).shape.size());  // `shard` reads shorter ones from the end
    v = b.emit1(*b.core().shard, {v}, {{"layout", std::move(asked)}});
  }
  return made;
}

}  // namespace

ir::Compose placed_last(ir::Compose inner) {
  return [inner = std::move(inner)](Builder& b, std::span<const Var> in, const Attrs& attrs) -> Vars {
    if (!attrs.has("out") || attrs.layout("out").sharding.unreduced.empty()) return inner(b, in, attrs);
    Layout whole = attrs.layout("out");
    whole.sharding.unreduced = {};
    whole.sharding.unreduced_kind = runtime::UnreducedKind::Sum;
    Attrs less = attrs;
    less.set("out", whole);
    return laid_out_as(b, inner(b, in, less), attrs.layout("out"));
  };
}

ir::Compose laid_out_last(ir::Compose inner) {
  return [inner = std::move(inner)](Builder& b, std::span<const Var> in, const Attrs& attrs) -> Vars {
    Attrs less = attrs;
    less.erase("out");
    Vars made = inner(b, in, less);
    if (!attrs.has("out")) return made;
    return laid_out_as(b, std::move(made), attrs.layout("out"));
  };
}

Attrs with_mapped_out(const Builder& b, const Attrs& attrs, std::span<const Mapped> in) {
  Attrs made = with_leading_out(attrs);
  if (!made.has("out")) return made;
  Layout out = made.layout("out");
  for (const Mapped& m : in)
    if (m.mapped) {
      out.sharding.dims[0].axes = b.type(m.var).sharding.dims[0].axes;
      break;
    }
  out.sharding.dims[0].open = out.mesh && !out.mesh->of_kind(runtime::AxisKind::Auto).empty();
  made.set("out", out);
  return made;
}

DType float_asked(const Attrs& attrs, std::string_view op, DType otherwise) {
  DType t = dtype_if(attrs, "dtype").value_or(otherwise);
  if (!runtime::is_float(t))
    fail("type", std::string(op) + " gives a float type, not " + std::string(runtime::name(t)));
  return t;
}

Shape under_keys(const Builder& b, Var key, const Shape& shape) {
  Shape made = b.type(key).shape;
  made.insert(made.end(), shape.begin(), shape.end());
  return made;
}

std::pair<Var, Var> two_keys(Builder& b, Var key) {
  const Shape shape = b.type(key).shape;
  Var keys = b.call("split_keys", {key}, {{"shape", under_keys(b, key, {2})}});
  return {expand(b, part_of(b, keys, -1, 0, 1), shape), expand(b, part_of(b, keys, -1, 1, 2), shape)};
}

Attrs rows_along(std::int64_t axis, std::string bounds, std::int64_t batch) {
  return {{"axis", axis}, {"batch", batch}, {"bounds", std::move(bounds)}};
}

Attrs written_along(std::int64_t axis, std::string op, std::int64_t batch) {
  return {{"axis", axis}, {"batch", batch}, {"op", std::move(op)}};
}

}  // namespace shard::stdlib
