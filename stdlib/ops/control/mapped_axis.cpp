// Collectives over the dimension that `vmap(f, axis: @i)` maps over. While f is traced, an element sees one value, and
// its place as a number that is mapped: operand 1 of these rows. Batching over that number (the `batch` column) turns
// them into sums, transposes and slices of the mapped dimension; batching over any other passes them by. So nothing of
// them is left in a graph that runs.
//   mapped_sum       the sum over the elements, the same for all
//   mapped_gather    attrs axis, size: the values of all elements along a new dimension, the same for all
//   mapped_part      attrs axis: slice i of the sum for element i; the dual of mapped_gather
//   mapped_exchange  attrs axis: slice i of every element for element i, along the same dimension
//   mapped_permute   attrs pairs: the value of the source element, zeros where there is none
// Dimensions count from the end (`axis` of mapped_gather: in the result). Values and gradients are jax.vmap's with an
// axis name.
#include "interpreter/transform/batch.h"
#include "stdlib/ops/control/control.h"

namespace shard::stdlib {
namespace {

std::size_t dim_of(const Type& t, std::int64_t from_end, int more = 0) {
  return static_cast<std::size_t>(t.rank() + more + from_end);
}

// ---- types

std::vector<Type> infer_same(const OpCall& call) { return {call.in[0]}; }

std::vector<Type> infer_gather(const OpCall& call) {
  Type out = call.in[0];
  auto d = static_cast<std::ptrdiff_t>(dim_of(out, call.attrs.integer("axis"), 1));
  out.shape.insert(out.shape.begin() + d, call.attrs.integer("size"));
  out.sharding.dims.insert(out.sharding.dims.begin() + d, runtime::DimSharding{});
  return {out};
}

std::vector<Type> infer_part(const OpCall& call) {
  Type out = call.in[0];
  auto d = static_cast<std::ptrdiff_t>(dim_of(out, call.attrs.integer("axis")));
  out.shape.erase(out.shape.begin() + d);
  out.sharding.dims.erase(out.sharding.dims.begin() + d);
  return {out};
}

// ---- over the mapped dimension: x has it in front

using OverFn = Mapped (*)(Builder&, const OpCall&, Var x, std::int64_t size);

// x with dimension `from` moved to `to`.
Var moved(Builder& b, Var x, std::size_t from, std::size_t to) {
  std::vector<std::int64_t> perm;
  for (std::size_t d = 0; d < b.type(x).shape.size(); ++d)
    if (d != from) perm.push_back(static_cast<std::int64_t>(d));
  perm.insert(perm.begin() + static_cast<std::ptrdiff_t>(to), static_cast<std::int64_t>(from));
  return ir::transpose(b, x, std::move(perm));
}

Mapped sum(Builder& b, const OpCall&, Var x, std::int64_t) { return {ir::reduce_sum(b, x, {0}), false}; }

Mapped gather(Builder& b, const OpCall& call, Var x, std::int64_t) {
  return {moved(b, x, 0, dim_of(call.in[0], call.attrs.integer("axis"), 1)), false};
}

Mapped own_part(Builder& b, const OpCall& call, Var x, std::int64_t) {
  return {moved(b, ir::reduce_sum(b, x, {0}), dim_of(call.in[0], call.attrs.integer("axis")), 0), true};
}

Mapped exchange(Builder& b, const OpCall& call, Var x, std::int64_t) {
  std::vector<std::int64_t> perm;
  for (std::int64_t d = 0; d <= call.in[0].rank(); ++d) perm.push_back(d);
  std::swap(perm[0], perm[dim_of(call.in[0], call.attrs.integer("axis")) + 1]);
  return {ir::transpose(b, x, std::move(perm)), true};
}

// Runs of neighbours that stay neighbours are one slice: a shift is two.
Mapped permute(Builder& b, const OpCall& call, Var x, std::int64_t size) {
  std::vector<std::int64_t> source(static_cast<std::size_t>(size), -1);
  for (auto [from, to] : call.attrs.pairs("pairs")) source[static_cast<std::size_t>(to)] = from;
  Vars parts;
  const Type& whole = b.type(x);
  const std::int64_t dim = -static_cast<std::int64_t>(whole.shape.size());
  for (std::size_t first = 0, next = 0; first < source.size(); first = next) {
    next = first + 1;
    auto run = [&] { return static_cast<std::int64_t>(next - first); };
    while (next < source.size() && source[next] == (source[first] < 0 ? -1 : source[first] + run())) ++next;
    if (source[first] < 0) {
      Type none = b.type(x);
      none.shape[0] = run();
      parts.push_back(ir::zeros(b, none));
      continue;
    }
    Ints start(b.type(x).shape.size(), 0), limit = b.type(x).shape, step(start.size(), 1);
    start[0] = source[first];
    limit[0] = source[first] + run();
    parts.push_back(b.emit1(*b.core().slice, {x}, {{"start", start}, {"limit", limit}, {"step", step}}));
  }
  if (parts.size() == 1) return {parts[0], true};
  return {b.emit(*b.core().concat, std::span<const Var>(parts), {{"axis", dim}}).at(0), true};
}

template <OverFn over>
std::vector<Mapped> batch(Builder& b, const OpCall& call, std::span<const Mapped> in, std::int64_t size) {
  if (!in[1].mapped) return {{b.emit1(call.op, {in[0].var, in[1].var}, call.attrs), in[0].mapped}};
  Var x = transform::front_mapped(b, in[0], size, transform::front_of(b, in));
  return {over(b, call, x, size)};
}

// ---- transposes, in operand 0

using BackFn = Var (*)(Builder&, const NodeView&, Var ct);

ir::Transposes transposes(BackFn back) {
  return {{0}, false, [back](Builder& b, const NodeView& n, int, std::span<const Var> ct, const Type&) {
            return back(b, n, ct[0]);
          }};
}

Var same_back(Builder& b, const NodeView& n, Var ct) { return b.emit1(n.call.op, {ct, n.in[1]}, n.call.attrs); }

Var gather_back(Builder& b, const NodeView& n, Var ct) {
  return b.emit1(b.table().at("mapped_part"), {ct, n.in[1]}, {{"axis", n.call.attrs.integer("axis")}});
}

Var part_back(Builder& b, const NodeView& n, Var ct) {
  std::int64_t axis = n.call.attrs.integer("axis"), size = n.call.in[0].shape[dim_of(n.call.in[0], axis)];
  return b.emit1(b.table().at("mapped_gather"), {ct, n.in[1]}, {{"axis", axis}, {"size", size}});
}

Var permute_back(Builder& b, const NodeView& n, Var ct) {
  Pairs pairs = n.call.attrs.pairs("pairs");
  for (auto& p : pairs) std::swap(p.first, p.second);
  return b.emit1(n.call.op, {ct, n.in[1]}, {{"pairs", pairs}});
}

OpDef row(std::string_view signature, std::string_view doc, std::vector<Type> (*infer)(const OpCall&),
          ir::BatchFn batch, BackFn back) {
  OpDef r = internal_row(signature, doc);
  r.derivative = transposes(back);
  r.kernel = ir::Structure::Collective;
  r.flops = 0;
  r.batch = std::move(batch);
  r.infer = infer;
  return r;
}

}  // namespace

void register_mapped_axis(OpTable& table) {
  table.add(row("mapped_sum(x, place)", "The sum of x over the mapped elements.", infer_same, batch<sum>, same_back));
  table.add(row("mapped_gather(x, place, axis: int, size: int)", "The x of all mapped elements along a new dimension.",
                infer_gather, batch<gather>, gather_back));
  table.add(row("mapped_part(x, place, axis: int)", "Of the sum over the mapped elements, a slice for each.",
                infer_part, batch<own_part>, part_back));
  table.add(row("mapped_exchange(x, place, axis: int)", "Slice i of every mapped element, for element i.", infer_same,
                batch<exchange>, same_back));
  table.add(row("mapped_permute(x, place, pairs: pairs)", "The x of the source element, zeros without a source.",
                infer_same, batch<permute>, permute_back));
}

}  // namespace shard::stdlib
