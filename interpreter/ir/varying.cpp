#include "interpreter/ir/varying.h"

#include "interpreter/ir/explicit_law.h"

namespace shard::ir {

using runtime::AxisSet;

AxisSet undeclared_axes(const Type& local, const Layout& spec, AxisSet taken) {
  return (local.varying & taken) - spec.sharding.split_axes() - spec.sharding.unreduced;
}

std::string undeclared_message(const std::string& subject, const Type& local, const Layout& spec, AxisSet undeclared,
                               const std::string& value) {
  const std::string axes = axes_text(*spec.mesh, undeclared.list());
  return subject + " is " + runtime::to_string(local) + ", which may differ between devices along " + axes +
         ", but its spec " + runtime::to_string(*spec.mesh, spec.sharding) + " does not name " + axes +
         ": sum it with `psum(" + value + ", " + axes + ")`, or name the axis in the spec";
}

Attrs to_varying(AxisSet axes, runtime::MeshRef mesh) {
  Ints ids;
  for (runtime::AxisId a : axes.list()) ids.push_back(a);
  return {{"axes", std::move(ids)}, {"to", std::string("varying")}, {"mesh", Layout{std::move(mesh), {}}}};
}

}  // namespace shard::ir
