#include "interpreter/trace/types_only.h"

namespace shard::trace {
namespace {

[[noreturn]] void unknown() {
  throw runtime::RuntimeError("unknown", "nothing is compiled where only types are computed");
}

class TypesOnly : public exec::Executable {
 public:
  TypesOnly(std::vector<runtime::Type> types, runtime::MeshRef mesh)
      : types_(std::move(types)), mesh_(std::move(mesh)) {}

  std::vector<exec::ArrayRef> run(std::vector<exec::ArrayRef>, const std::vector<bool>&,
                                  const exec::Hooks&) const override {
    std::vector<exec::ArrayRef> out;
    for (const runtime::Type& t : types_) out.push_back(without_data(t, mesh_));
    return out;
  }
  const std::vector<exec::CommRecord>& comm() const override { unknown(); }
  const exec::MemoryUse& memory() const override { unknown(); }
  std::int64_t flops() const override { unknown(); }
  const ir::Graph& local() const override { unknown(); }
  std::vector<runtime::Sharding> result_layouts() const override { unknown(); }

 private:
  std::vector<runtime::Type> types_;
  runtime::MeshRef mesh_;
};

}  // namespace

runtime::ArrayRef without_data(runtime::Type type, runtime::MeshRef mesh) {
  auto a = std::make_shared<runtime::DeviceArray>();
  a->type = std::move(type);
  a->type.varying = {};
  if (!a->type.mesh) a->type.mesh = std::move(mesh);
  a->layout = a->type.sharding;
  a->distinct = a->layout.split_axes() | a->layout.unreduced;
  return a;
}

std::shared_ptr<const exec::Executable> types_only_plan(const ir::Graph& graph, runtime::MeshRef mesh) {
  std::vector<runtime::Type> types;
  for (ir::Var v : graph.results) types.push_back(graph.type(v));
  return std::make_shared<const TypesOnly>(std::move(types), std::move(mesh));
}

}  // namespace shard::trace
