#include "interpreter/exec/target.h"

#include <stdexcept>
#include <string>

namespace shard::exec {

std::span<const TargetRow> targets() {
  using Table = const ir::OpTable&;
  using Pool = runtime::Pool&;
  static constexpr TargetRow kTargets[] = {
      {"lockstep", "All devices in this process, one instruction after another for all of them.",
       [](Table t, Pool p) { return make_lockstep(t, p); }},
      {"exact", "As lockstep, and every sum over devices in the one order of runtime::reduce_blocks.",
       [](Table t, Pool p) { return make_lockstep(t, p, true); }},
      {"nan_check", "As exact, operation by operation; the first that makes a nan or an infinity is an error.",
       [](Table t, Pool p) { return make_lockstep(t, p, true, true); }},
      {"abstract", "Computes nothing: results are types with layouts.",
       [](Table t, Pool p) { return make_abstract(t, p); }},
      {"apart", "As abstract, for devices of their own: what StableHLO and the cost model say.",
       [](Table t, Pool p) { return make_abstract(t, p, {}); }},
      {"types", "Computes nothing and lays nothing out: results are types.",
       [](Table t, Pool p) { return make_abstract(t, p, {.partition = false}); }},
  };
  return kTargets;
}

std::unique_ptr<const Target> make_target(std::string_view name, const ir::OpTable& table, runtime::Pool& pool) {
  for (const TargetRow& row : targets())
    if (row.name == name) return row.make(table, pool);
  throw std::logic_error("there is no target `" + std::string(name) + "`");
}

std::shared_ptr<const Executable> compile(const Target& target, const ir::OpTable& table, const ir::Graph& graph,
                                          std::span<const ArrayInfo> arguments, const runtime::MeshRef& mesh) {
  auto program = std::make_shared<Program>(
      transform::lower(table, graph, mesh, arguments, transform::LowerOptions{{}, target.passes()}));
  const std::vector<ArrayInfo> laid = transform::laid_on(program->mesh, arguments);
  return target.compile(std::move(program), laid);
}

}  // namespace shard::exec
