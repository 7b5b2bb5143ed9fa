// Rows that show elements otherwise: a view of where the operand lies, or of a copy of it between zeros.
#include <algorithm>
#include <optional>
#include <utility>

#include "interpreter/exec/draft.h"
#include "interpreter/exec/lowering.h"
#include "interpreter/ir/op.h"
#include "runtime/kernels/element_lines.h"
#include "runtime/kernels/frame.h"
#include "runtime/kernels/kernels.h"

namespace shard::exec {

using ir::Node;

void Lowering::emit_view(const Node& n, const ir::ViewOf& view) {
  const StridedView x =
      view.frame ? framed(place(n.inputs[0]), view.frame(n.attrs, type(n.inputs[0]).shape.size())) : place(n.inputs[0]);
  const Shape& shape = type(n.outputs[0]).shape;
  if (x.splat) return put(n.outputs[0], broadcast(constant(x.dtype, *x.splat), shape));
  StridedView p = x;
  auto seen = view.strides(strided(p), n.attrs, shape);
  if (!seen) {
    p = fresh(x.dtype, x.distinct, x.shape);
    copy_into(x, p);
    seen = view.strides(strided(p), n.attrs, shape);
  }
  StridedView out = seen_as(p, *std::move(seen));
  // Small parts of what is not small itself are copied: they would keep all of it alive.
  constexpr std::int64_t kSmall = 4096;  // bytes
  if (view.part && 4 * runtime::numel(shape) < runtime::numel(p.shape) && draft_.at(p.storage).bytes > kSmall) {
    StridedView copy = fresh(out.dtype, out.distinct, shape);
    copy_into(out, copy);
    out = std::move(copy);
  }
  put(n.outputs[0], std::move(out));
}

// `p` between elements of 0.
StridedView Lowering::framed(const StridedView& p, const ir::Pairs& frame) {
  const bool none = std::all_of(frame.begin(), frame.end(), [](auto& f) { return f.first == 0 && f.second == 0; });
  if (none) return p;
  const Anchors order = anchors_of(p, mesh_).value_or(anchored(p.distinct, 0));
  const StridedView out = fresh(p.dtype, order, ir::framed(p.shape, frame));
  StridedView inner = out;
  inner.shape = p.shape;
  const View whole = view_of(out, out.distinct.list(), mesh_);
  const std::size_t lead = whole.shape.size() - frame.size();
  Shape begin(whole.shape.size(), 0), within = whole.shape;
  for (std::size_t d = 0; d < frame.size(); ++d) {
    inner.offset += frame[d].first * inner.strides[d];
    begin[lead + d] = frame[d].first, within[lead + d] = p.shape[d];
  }
  step(
      [whole, begin, within](void* const*, void* const* o) {
        alignas(16) unsigned char zero[16] = {};
        View all = whole;
        all.data = *o;
        runtime::copy_around(View{all.dtype, all.shape, runtime::Strides(all.shape.size(), 0), zero}, all, begin,
                             within);
      },
      {}, {out});
  copy_into(p, inner);
  return out;
}

// ---- joins
namespace {

std::size_t joined_along(const Node& n, std::size_t rank) {
  const std::int64_t axis = n.attrs.integer("axis");
  return static_cast<std::size_t>(axis < 0 ? axis + static_cast<std::int64_t>(rank) : axis);
}

}  // namespace

std::optional<std::size_t> Lowering::padded_along(const Node& n) const {
  if (n.op != around_.table.core().pad || n.attrs.has("interior")) return {};
  std::optional<std::size_t> out;
  const ir::Pairs& widths = n.attrs.pairs("widths");
  for (std::size_t i = 0; i < widths.size(); ++i) {
    if (widths[i].first == 0 && widths[i].second == 0) continue;
    if (out || widths[i].first < 0 || widths[i].second < 0) return {};
    out = type(n.outputs[0]).shape.size() - widths.size() + i;
  }
  return out;
}

Lowering::Pieces Lowering::pieces(const Node& n) const {
  const std::size_t rank = type(n.outputs[0]).shape.size();
  Pieces out;
  if (const auto d = padded_along(n)) {
    const auto [low, high] = n.attrs.pairs("widths")[*d - (rank - n.attrs.pairs("widths").size())];
    const auto filled = [&, d = *d](std::int64_t size) {
      Shape shape = type(n.outputs[0]).shape;
      shape[d] = size;
      if (size > 0) out.places.push_back(broadcast(place(n.inputs[1]), shape));
    };
    out.along = *d;
    filled(low);
    out.places.push_back(place(n.inputs[0]));
    filled(high);
  } else {
    out.along = joined_along(n, rank);
    for (ir::Var v : n.inputs) out.places.push_back(place(v));
  }
  return out;
}

namespace {

// Operand i where it lies in the whole.
StridedView part_of(const StridedView& whole, const Node& n, std::size_t i, const ir::Graph& g) {
  const std::size_t d = joined_along(n, whole.shape.size());
  StridedView part = whole;
  for (std::size_t k = 0; k < i; ++k) part.offset += g.type(n.inputs[k]).shape[d] * whole.strides[d];
  part.shape = g.type(n.inputs[i]).shape;
  return part;
}

}  // namespace

// Arrays that are joined, or padded along one dimension, for elementwise programs alone are read by these where they
// are: a block with its neighbours' edges is no copy. Not where pieces are short: each takes some 10 ns to find, as
// long as copying a hundred elements.
void Lowering::find_pieces(const std::vector<Unit>& units) {
  if (around_.nan_check) return;
  constexpr std::int64_t kLeast = 128;  // elements of a piece, one with another
  std::map<std::int32_t, const Node*> joins;
  for (const Unit& u : units) {
    const Node& n = node(u.nodes[0]);
    if (u.nodes.size() != 1) continue;
    const auto padded = padded_along(n);
    if (n.op != around_.table.core().concat && !padded) continue;
    const ir::Var v = n.outputs[0];
    const Shape& shape = type(v).shape;
    const std::size_t along = padded ? *padded : joined_along(n, shape.size());
    const auto pieces = padded ? 2 : static_cast<std::int64_t>(n.inputs.size());
    const std::int64_t line = runtime::numel(Shape(shape.begin() + static_cast<std::ptrdiff_t>(along), shape.end()));
    if (!result_[at(v)] && !wanted_places_.contains(v.id) && !runtime::is_complex(type(v).dtype) &&
        line >= kLeast * pieces)
      joins.emplace(v.id, &n);
  }
  for (const Unit& u : units)
    for (int i : joins.empty() ? std::vector<int>() : u.all())
      for (ir::Var v : node(i).inputs)
        if (!u.elementwise || changes_nothing(*this, u) || u.points.of(type(v).shape) != Points::Class::Each ||
            u.points.shape.size() != type(v).shape.size())
          joins.erase(v.id);
  in_pieces_ = std::move(joins);
}

// Arrays that are joined are written where they then lie, by a program that makes them for this alone and where they
// lie in one piece, or in lines.
void Lowering::lay_out_joins(const std::vector<Unit>& units) {
  const auto joins = [&](const Unit& u) {
    return u.nodes.size() == 1 && node(u.nodes[0]).op == around_.table.core().concat;
  };
  if (around_.exact || std::none_of(units.begin(), units.end(), joins)) return;
  std::vector<int> uses(g_.types.size(), 0);
  std::vector<char> made_by_program(g_.types.size(), 0);
  std::vector<const Node*> reshapes(g_.types.size(), nullptr);
  for (const Unit& u : units)
    for (int i : u.all()) {
      const Node& n = node(i);
      for (ir::Var v : n.inputs) ++uses[at(v)];
      for (ir::Var v : n.outputs) made_by_program[at(v)] = u.elementwise;
      if (n.op == around_.table.core().reshape && !u.elementwise) reshapes[at(n.outputs[0])] = &n;
    }
  // What a program writes for `x`, and where, if it can.
  const auto written = [&](ir::Var x, StridedView part) -> std::optional<std::pair<ir::Var, StridedView>> {
    while (true) {
      if (uses[at(x)] != 1 || result_[at(x)] || axes(x) != part.distinct || wanted_places_.contains(x.id)) return {};
      const Node* n = reshapes[at(x)];
      if (!n) break;
      auto before = reshaped(part, type(n->inputs[0]).shape);
      if (!before) return {};
      part = *std::move(before);
      x = n->inputs[0];
    }
    if (!made_by_program[at(x)] || !runtime::lines_of(view_of(part, part.distinct.list(), mesh_))) return {};
    return std::pair(x, std::move(part));
  };
  for (const Unit& u : units) {
    const Node& n = node(u.nodes.front());
    if (!joins(u) || wanted_places_.contains(n.outputs[0].id) || in_pieces(n.outputs[0])) continue;
    const ir::Var v = n.outputs[0];
    StridedView whole = dense_place(kNoStorage, type(v).dtype, axes(v), type(v).shape, mesh_);
    const auto each = [&](auto f) {
      for (std::size_t i = 0; i < n.inputs.size(); ++i)
        if (auto w = written(n.inputs[i], part_of(whole, n, i, g_))) f(*w);
    };
    bool any = false;
    each([&](const auto&) { any = true; });
    if (!any) continue;
    whole = fresh(type(v).dtype, axes(v), type(v).shape);
    draft_.at(whole.storage).value = v;
    each([&](auto& w) { write_to(w.first, std::move(w.second)); });
    joins_.emplace(v.id, std::move(whole));
  }
}

void Lowering::emit_join(const Node& n) {
  const StridedView& whole = joins_.at(n.outputs[0].id);
  for (std::size_t i = 0; i < n.inputs.size(); ++i)
    if (place(n.inputs[i]).storage != whole.storage) copy_into(place(n.inputs[i]), part_of(whole, n, i, g_));
  put(n.outputs[0], whole);
}

}  // namespace shard::exec
