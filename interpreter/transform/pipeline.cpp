#include "interpreter/transform/pipeline.h"

#include "interpreter/transform/loops.h"
#include "interpreter/transform/prepare.h"
#include "interpreter/transform/simplify.h"

namespace shard::transform {

Partitioned lower(const ir::OpTable& table, const ir::Graph& graph, const runtime::MeshRef& mesh,
                  std::span<const runtime::Sharding> params, const LowerOptions& options) {
  auto after = [&](std::string_view pass, const ir::Graph& g) -> const ir::Graph& {
#ifndef NDEBUG
    ir::verify(g);
#endif
    if (options.dump) options.dump(pass, g);
    return g;
  };
  ir::Graph whole = inline_calls(table, graph);
  after("inline calls", whole);
  whole = simplify(table, whole);
  after("simplify", whole);
  whole = hoist_invariants(table, trim_loops(table, whole));
  after("loops", whole);
  Partitioned out;
  if (!mesh) {
    out.local = on_one_device(table, whole);
    after("on one device", out.local);
    for (ir::Var r : out.local.results)
      out.results.push_back(runtime::Sharding::replicated(out.local.type(r).shape.size()));
    return out;
  }
  whole = split_constants(table, whole);
  after("split constants", whole);
  Layouts layouts = propagate(whole, mesh, params);
  out = partition(table, whole, mesh, layouts);
  after("partition", out.local);
  out.local = simplify(table, out.local);
  after("simplify", out.local);
  return out;
}

}  // namespace shard::transform
