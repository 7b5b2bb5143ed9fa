// The nodes that bring a value from one layout to another, made of a plan (moves.h). The way into a unreduced sum,
// which explicit layouts can ask for, moves nothing: a value that is split is placed in zeros, one that is whole is
// kept by the first device of the axis only.
#include "interpreter/ir/collective.h"
#include "interpreter/transform/moves.h"
#include "interpreter/transform/passes.h"

namespace shard::transform {
namespace {

using ir::Var;

// Makes nodes of a plan of moves.
class Emitter {
 public:
  Emitter(ir::Builder& b, const ir::Type& global, const Mesh& mesh, runtime::UnreducedKind kind)
      : b_(b), core_(b.core()), global_(global), rank_(static_cast<std::int64_t>(global.shape.size())), kind_(kind) {
    mesh_ref_ =
        global.mesh && runtime::same_devices(*global.mesh, mesh) ? global.mesh : std::make_shared<const Mesh>(mesh);
    if (b.graph().mesh) mesh_ref_ = b.graph().mesh;
  }

  Var move(Var x, const Move& m) {
    switch (m.kind) {
      case Move::Kind::Slice: return b_.emit1(*core_.own_slice, {x}, along(m.axes, m.dim));
      case Move::Kind::Gather: {
        ir::Attrs attrs = along(m.axes, m.dim);
        attrs.set("tiled", true);
        attrs.set("to", std::string("same"));
        return b_.emit1(*core_.all_gather, {x}, std::move(attrs));
      }
      case Move::Kind::ScatterReduce: {
        ir::Attrs attrs = along(m.axes, m.dim);
        attrs.set("tiled", true);
        return b_.emit1(*core_.psum_scatter, {x}, std::move(attrs));
      }
      case Move::Kind::Exchange: {
        ir::Attrs attrs = over(m.axes);
        attrs.set("split", m.to - rank_);
        attrs.set("concat", m.dim - rank_);
        attrs.set("tiled", true);
        return b_.emit1(*core_.all_to_all, {x}, std::move(attrs));
      }
      case Move::Kind::Permute: {
        ir::Attrs attrs = over(m.axes);
        attrs.set("pairs", m.pairs);
        return b_.emit1(*core_.ppermute, {x}, std::move(attrs));
      }
      case Move::Kind::Reduce: {
        const ir::OpDef* row = kind_ == runtime::UnreducedKind::Sum   ? core_.psum
                               : kind_ == runtime::UnreducedKind::Max ? core_.pmax
                                                                      : core_.pmin;
        return b_.emit1(*row, {x}, over(m.axes));
      }
    }
    return x;
  }

  // The first device along the axes keeps x, the others have zeros.
  Var keep_first(Var x, const Axes& axes) {
    Var here =
        ir::broadcast_to(b_, b_.emit1(*core_.eq, {position(axes), ir::constant_int(b_, 0)}, {}), b_.type(x).shape);
    return ir::select(b_, here, x, zeros(b_.type(x).shape));
  }

  // A block of dimension `dim` that was split by `axis` (its last one), in its place among zeros.
  Var place(Var x, int dim, AxisId axis, std::int64_t n) {
    runtime::Shape shape = b_.type(x).shape, more = shape, out = shape;
    auto d = static_cast<std::size_t>(dim);
    more.insert(more.begin() + dim, 1);
    out[d] *= n;
    Var block = ir::reshape(b_, x, more);
    more[d] = n;
    block = ir::broadcast_to(b_, block, more);
    ir::Attrs attrs{{"shape", ir::Ints{n}}, {"axis", std::int64_t{-1}}, {"dtype", runtime::DType::I32}};
    Var which = b_.emit1(*core_.iota, {}, std::move(attrs));
    Var here = b_.emit1(*core_.eq, {which, ir::broadcast_to(b_, position({axis}), {n})}, {});
    runtime::Shape column(more.size(), 1);
    column[d] = n;
    here = ir::broadcast_to(b_, ir::reshape(b_, here, column), more);
    return ir::reshape(b_, ir::select(b_, here, block, zeros(more)), out);
  }

 private:
  ir::Attrs over(const Axes& axes) const {
    return {{"axes", ir::Ints(axes.begin(), axes.end())}, {"mesh", ir::Layout{mesh_ref_, {}}}, {"written", false}};
  }
  ir::Attrs along(const Axes& axes, int dim) const {
    ir::Attrs attrs = over(axes);
    attrs.set("axis", dim - rank_);
    return attrs;
  }
  Var position(const Axes& axes) { return b_.emit(*core_.axis_index, std::span<const Var>{}, over(axes)).at(0); }
  Var zeros(const runtime::Shape& shape) {
    return ir::broadcast_to(b_, ir::constant(b_, 0, global_.dtype, global_.weak), shape);
  }

  ir::Builder& b_;
  const ir::CoreOps& core_;
  const ir::Type& global_;
  std::int64_t rank_;
  runtime::UnreducedKind kind_;
  runtime::MeshRef mesh_ref_;
};

}  // namespace

std::int64_t bytes_moved(const ir::Type& global, const Mesh& mesh, const Sharding& from, const Sharding& to) {
  const auto item = static_cast<std::int64_t>(runtime::size_of(global.dtype));
  std::int64_t block = bytes_of(global) / mesh.size_of(from.split_axes()), sent = 0;
  for (const Move& m : plan_moves(mesh, global.shape, item, from, to)) {
    const std::int64_t n = mesh.size_of(m.axes);
    const auto costs = [&](const ir::Collective& c) { sent += ir::comm_cost(c, block, n).sent; };
    switch (m.kind) {
      case Move::Kind::Slice: block /= n; break;
      case Move::Kind::Permute: costs({.pairs = true}); break;
      case Move::Kind::Exchange: costs({.split = "split", .join = "concat"}); break;
      case Move::Kind::Gather: costs({.join = "axis"}), block *= n; break;
      case Move::Kind::Reduce: costs({.combine = runtime::Reduce::Sum}); break;
      case Move::Kind::ScatterReduce: costs({.combine = runtime::Reduce::Sum, .split = "axis"}), block /= n; break;
    }
  }
  return sent;
}

Var reshard(ir::Builder& b, Var x, const ir::Type& global, const Mesh& mesh, const Sharding& from, const Sharding& to) {
  Emitter emit(b, global, mesh, from.unreduced_kind);
  Sharding now = from;
  Axes fresh;  // axes that become unreduced and are not split: masked at the end
  for (AxisId a : (to.unreduced - from.unreduced).list()) {
    if (mesh.size_of(a) == 1) continue;
    bool placed = false;
    for (std::size_t d = 0; d < now.dims.size(); ++d) {
      Axes& axes = now.dims[d].axes;
      if (axes.empty() || axes.back() != a) continue;
      x = emit.place(x, static_cast<int>(d), a, mesh.size_of(a));
      axes.pop_back();
      now.unreduced.add(a);
      placed = true;
    }
    if (!placed) fresh.push_back(a);
  }
  auto item = static_cast<std::int64_t>(runtime::size_of(global.dtype));
  for (const Move& m : plan_moves(mesh, global.shape, item, now, to)) x = emit.move(x, m);
  return fresh.empty() ? x : emit.keep_first(x, fresh);
}

}  // namespace shard::transform
