#include "interpreter/transform/cotangent.h"

#include <utility>

namespace shard::transform {
namespace {

using ir::Builder;
using ir::Type;
using ir::Var;

ir::Ints ids(runtime::AxisSet axes) {
  ir::Ints out;
  for (auto a : axes.list()) out.push_back(a);
  return out;
}

// The sum over the dimensions that broadcasting had made, at once in the layout that is wanted where that leaves a sum
// unreduced.
Var sum_grown(Builder& b, Var x, const Type& want) {
  const Type have = b.type(x);
  const std::size_t rank = have.shape.size(), extra = rank - want.shape.size();
  ir::Ints axes;
  runtime::Sharding left = runtime::Sharding::replicated(0);
  for (std::size_t d = 0; d < rank; ++d) {
    if (d < extra || (want.shape[d - extra] == 1 && have.shape[d] != 1))
      axes.push_back(static_cast<std::int64_t>(d) - static_cast<std::int64_t>(rank));
    else
      left.dims.push_back(want.sharding.dims[d - extra]);
  }
  if (axes.empty()) return x;
  ir::Attrs attrs{{"axes", std::move(axes)}};
  auto unreduced = want.sharding.unreduced - have.sharding.unreduced;
  if (!unreduced.empty() && want.mesh && have.sharding.split_axes().contains(unreduced)) {
    left.unreduced = want.sharding.unreduced;
    attrs.set("out", ir::Layout{want.mesh, std::move(left)});
  }
  return b.emit1(*b.core().reduce_sum, {x}, std::move(attrs));
}

}  // namespace

Type cotangent_type(const Type& primal) {
  Type t = primal;
  std::swap(t.sharding.reduced, t.sharding.unreduced);
  t.sharding.unreduced_kind = runtime::UnreducedKind::Sum;
  return t;
}

Var fit(Builder& b, Var x, const Type& want) {
  if (b.type(x) == want) return x;
  const runtime::Shape have = b.type(x).shape;
  if (have != want.shape) {
    bool smaller = have.size() < want.shape.size();
    for (std::size_t d = 0; !smaller && d < want.shape.size(); ++d)
      smaller = have[have.size() - want.shape.size() + d] < want.shape[d];
    if (smaller) x = ir::broadcast_to(b, x, want.shape);
  }
  x = ir::convert(b, ir::reshape(b, sum_grown(b, x, want), want.shape), want.dtype, want.weak);
  Type now = b.type(x);
  if (!(now.sharding == want.sharding)) {
    ir::Layout layout{want.mesh ? want.mesh : now.mesh, want.sharding};
    if (layout.mesh && !layout.mesh->of_kind(runtime::AxisKind::Auto).empty())
      for (auto& d : layout.sharding.dims) d.open = true;  // automatic axes of the mesh are left to the partitioner
    x = b.emit1(*b.core().shard, {x}, {{"layout", std::move(layout)}});
    now = b.type(x);
  }
  if (auto extra = now.varying - want.varying; !extra.empty()) x = b.emit1(*b.core().psum, {x}, {{"axes", ids(extra)}});
  if (auto less = want.varying - now.varying; !less.empty()) {
    ir::Attrs attrs{{"axes", ids(less)}, {"to", std::string("varying")}};
    if (!now.mesh) attrs.set("mesh", ir::Layout{want.mesh ? want.mesh : b.graph().mesh, {}});
    x = b.emit1(*b.core().pcast, {x}, std::move(attrs));
  }
  return x;
}

Var typed_zeros(Builder& b, const Type& want) { return fit(b, ir::zeros(b, want), want); }

Var sum_of(Builder& b, Var x, Var y) {
  if (!x.valid()) return y;
  if (!y.valid()) return x;
  return ir::add(b, x, y);
}

}  // namespace shard::transform
