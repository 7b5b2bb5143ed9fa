// Targets that hold no elements and compute nothing. `abstract` partitions a program, so that results have layouts,
// and what a call communicates and holds is known; `apart` gives the program that devices of their own run, for
// StableHLO and the cost model. `types` wants the types of results alone: it is what checks a
// script, where sizes may be made up that nothing divides.

#include "interpreter/exec/lowering.h"
#include "interpreter/exec/target.h"

namespace shard::exec {
namespace {

// What a type shows of a layout: automatic axes are a property of the value.
runtime::Sharding without_auto(runtime::Sharding layout, const runtime::Mesh& mesh) {
  const runtime::AxisSet hidden = mesh.of_kind(runtime::AxisKind::Auto);
  for (auto& d : layout.dims) std::erase_if(d.axes, [&](runtime::AxisId a) { return hidden.has(a); });
  layout.unreduced = layout.unreduced - hidden;
  layout.reduced = layout.reduced - hidden;
  return layout;
}

class NoElements final : public Measured {
 public:
  using Measured::Measured;
  std::vector<ArrayRef> compute(std::vector<ArrayRef>&, const std::vector<bool>&, const Hooks&) const override {
    std::vector<ArrayRef> out;
    for (const ArrayInfo& r : program().results) out.push_back(without_elements(r));
    return out;
  }
};

class Abstract final : public Target {
 public:
  Abstract(const ir::OpTable& table, runtime::Pool& pool, transform::Passes passes)
      : table_(table), pool_(pool), passes_(passes) {}
  transform::Passes passes() const override { return passes_; }
  bool holds_elements() const override { return false; }
  std::shared_ptr<const Executable> compile(std::shared_ptr<const Program> program,
                                            std::span<const ArrayInfo> arguments) const override {
    return std::make_shared<NoElements>(std::move(program), arguments, table_, pool_);
  }

 private:
  const ir::OpTable& table_;
  runtime::Pool& pool_;
  transform::Passes passes_;
};

}  // namespace

ArrayRef without_elements(const ArrayInfo& info) {
  auto a = std::make_shared<runtime::DeviceArray>();
  a->type = info.type;
  a->layout = info.layout;
  a->distinct = info.distinct;
  return a;
}

ArrayRef without_elements(runtime::Type type, const runtime::MeshRef& mesh) {
  ArrayInfo info{std::move(type), {}, {}, nullptr};
  info.type.varying = {};
  if (!info.type.mesh) info.type.mesh = mesh;
  info.mesh = info.type.mesh;
  info.layout = info.type.sharding;
  info.distinct = info.layout.split_axes() | info.layout.unreduced;
  if (info.mesh) info.type.sharding = without_auto(info.layout, *info.mesh);
  return without_elements(info);
}

std::unique_ptr<const Target> make_abstract(const ir::OpTable& table, runtime::Pool& pool, transform::Passes passes) {
  return std::make_unique<Abstract>(table, pool, passes);
}

}  // namespace shard::exec
