#include "interpreter/transform/cotangent.h"

#include <utility>

namespace shard::transform {
namespace {

using ir::Builder;
using ir::Type;
using ir::Var;

std::vector<std::string> names(const runtime::Mesh& mesh, runtime::AxisSet axes) {
  std::vector<std::string> out;
  for (auto a : axes.list()) out.push_back(mesh.axes[a].name);
  return out;
}

}  // namespace

Type cotangent_type(const Type& primal) {
  Type t = primal;
  std::swap(t.sharding.reduced, t.sharding.unreduced);
  t.sharding.pending = runtime::Pending::Sum;
  return t;
}

Var fit(Builder& b, Var x, const Type& want) {
  if (b.type(x) == want) return x;
  const runtime::Shape have = b.type(x).shape;
  if (have != want.shape) {
    bool smaller = have.size() < want.shape.size();
    for (std::size_t d = 0; !smaller && d < want.shape.size(); ++d) smaller = have[have.size() - want.shape.size() + d] < want.shape[d];
    if (smaller) x = ir::broadcast_to(b, x, want.shape);
  }
  x = ir::unbroadcast(b, x, want);
  Type now = b.type(x);
  if (!(now.sharding == want.sharding)) {
    auto mesh = want.mesh ? want.mesh : now.mesh;
    x = b.emit1(*b.core().shard, {x}, {{"layout", ir::Layout{mesh, want.sharding}}});
    now = b.type(x);
  }
  const auto& mesh = want.mesh ? want.mesh : now.mesh ? now.mesh : b.graph().mesh;
  if (auto extra = now.varying - want.varying; !extra.empty() && mesh) x = b.emit1(*b.core().psum, {x}, {{"axes", names(*mesh, extra)}});
  if (auto less = want.varying - now.varying; !less.empty() && mesh)
    x = b.emit1(*b.core().pcast, {x}, {{"axes", names(*mesh, less)}, {"to", std::string("varying")}});
  return x;
}

Var typed_zeros(Builder& b, const Type& want) { return fit(b, ir::zeros(b, want), want); }

Var sum_of(Builder& b, Var x, Var y) {
  if (!x.valid()) return y;
  if (!y.valid()) return x;
  return ir::add(b, x, y);
}

}  // namespace shard::transform
