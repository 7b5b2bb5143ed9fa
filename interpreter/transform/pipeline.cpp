#include "interpreter/transform/pipeline.h"

#include <algorithm>

#include "interpreter/ir/op.h"
#include "interpreter/transform/passes.h"
#include "interpreter/transform/unmerge.h"

namespace shard::transform {
namespace {

using runtime::AxisSet;

void after(std::string_view pass, const ir::Graph& g, const LowerOptions& options) {
#ifndef NDEBUG
  ir::verify(g);
#endif
  if (options.dump) options.dump(pass, g);
}

bool lays_out(const ir::Node& n) {
  return (is(n, ir::Structure::Shard) && n.attrs.has("layout")) || is(n, ir::Structure::Manual);
}
bool places(const ir::Graph& g) {
  return std::any_of(g.nodes.begin(), g.nodes.end(), [](const ir::Node& n) {
    return lays_out(n) || std::any_of(n.regions.begin(), n.regions.end(), [](const auto& r) { return places(*r); });
  });
}

// The results as the caller sees them. Those that live on the mesh were laid out by a constraint, or computed from such
// values; the others stay on no mesh.
std::vector<ArrayInfo> results_of(const ir::Graph& g, const runtime::MeshRef& mesh,
                                  std::span<const ArrayInfo> arguments) {
  std::vector<char> placed(g.types.size(), 0);
  for (std::size_t i = 0; i < arguments.size(); ++i) placed[at(g.params[i])] = arguments[i].mesh != nullptr;
  for (const ir::Node& n : g.nodes) {
    bool here = lays_out(n);
    for (ir::Var v : n.inputs) here |= placed[at(v)] != 0;
    for (const auto& r : n.regions) here |= places(*r);
    for (ir::Var v : n.outputs) placed[at(v)] = here;
  }
  std::vector<ArrayInfo> out;
  for (ir::Var r : g.results) {
    const ir::Type& t = g.type(r);
    out.push_back({t, t.sharding, {}, placed[at(r)] ? mesh : nullptr});
  }
  return out;
}

// Calls are inlined, what is not needed goes: also of a graph that is never laid out.
ir::Graph before_layouts(const ir::OpTable& table, const ir::Graph& graph, const LowerOptions& options) {
  ir::Graph whole = inline_calls(table, graph);
  after("inline calls", whole, options);
  whole = simplify(table, whole);
  after("simplify", whole, options);
  if (auto pairs = with_makers(table, whole)) {
    whole = std::move(*pairs);
    after("with makers", whole, options);
  }
  if (auto cut = without_cut_pads(table, whole)) {
    whole = simplify(table, *cut);
    after("cut pads", whole, options);
  }
  whole = hoist_invariants(table, trim_loops(table, std::move(whole)));
  after("loops", whole, options);
  return whole;
}

// Where a result lives is settled when its layout and distinct axes are known: what differs anywhere is on the mesh.
void settle_result(ArrayInfo& r, AxisSet own, const runtime::MeshRef& mesh) {
  r.type.varying = {};
  for (auto& d : r.layout.dims) d.open = false;
  r.distinct = own | r.layout.split_axes() | r.layout.unreduced;
  if (!r.distinct.empty() || !r.layout.reduced.empty()) r.mesh = mesh;
  r.type.mesh = r.mesh;
}

}  // namespace

Program settle(const ir::OpTable& table, ir::Graph local, const runtime::MeshRef& mesh,
               std::span<const ArrayInfo> arguments, std::vector<ArrayInfo> results, const LowerOptions& options) {
  if (arguments.size() != local.params.size())
    throw std::logic_error("a graph of " + std::to_string(local.params.size()) + " parameters was given " +
                           std::to_string(arguments.size()));
  Program out;
  out.local = std::move(local);
  out.mesh = mesh;
  Account said = account(out.local, mesh.get());
  out.communication = std::move(said.comm);
  out.flops = said.flops;
  std::vector<AxisSet> differ;
  for (const ArrayInfo& a : arguments) differ.push_back(a.distinct);
  auto analyse = [&] {
    out.distinct = distinct_axes(out.local, differ, mesh.get());
#ifndef NDEBUG
    verify(out.distinct, out.local, mesh.get());
#endif
  };
  analyse();
  const auto becomes = [&](std::optional<ir::Graph> rewritten, std::string_view pass) {
    if (!rewritten) return;
    out.local = std::move(*rewritten);
    after(pass, out.local, options);
    analyse();
  };
  if (options.passes.join_sums && mesh) becomes(with_small_sums_joined(table, out.local), "small sums");
  becomes(with_makers(table, out.local), "with makers");
  if (options.passes.both_ways) becomes(without_small_branches(table, out.local), "small branches");
  if (options.passes.both_ways && !mesh) becomes(with_rotated_loops(table, out.local), "rotated loops");
  becomes(without_small_joins(table, out.local), "few elements");
  becomes(with_small_products_by_elements(table, out.local), "small products");
  becomes(with_passed_on(table, out.local), "passed on");
  if (options.passes.early_sums && mesh) becomes(with_early_sums(table, out.local, out.distinct, *mesh), "early sums");
  becomes(with_early_shrinks(out.local), "early shrinks");
  out.results = std::move(results);
  for (std::size_t i = 0; i < out.results.size(); ++i)
    settle_result(out.results[i], out.distinct.of[at(out.local.results[i])], mesh);
  return out;
}

ir::Graph whole_graph(const ir::OpTable& table, const ir::Graph& graph) {
  return split_constants(table, before_layouts(table, graph, {}));
}

Program lower(const ir::OpTable& table, const ir::Graph& graph, const runtime::MeshRef& mesh,
              std::span<const ArrayInfo> arguments, const LowerOptions& options) {
  std::vector<ArrayInfo> results = results_of(graph, mesh, arguments);
  if (!options.passes.partition) {
    Program out;
    out.partitioned = false;
    out.mesh = mesh;
    for (ArrayInfo& r : results) {
      r.mesh = r.type.mesh ? r.type.mesh : mesh;
      settle_result(r, {}, r.mesh);
    }
    out.results = std::move(results);
    return out;
  }
  ir::Graph whole = before_layouts(table, graph, options);
  if (!mesh) {
    whole = on_one_device(table, whole);
    after("on one device", whole, options);
    for (ArrayInfo& r : results) r.layout = runtime::Sharding::replicated(r.type.shape.size());
    return settle(table, std::move(whole), mesh, arguments, std::move(results), options);
  }
  whole = split_constants(table, without_merges(table, whole));
  after("split constants", whole, options);
  std::vector<runtime::Sharding> layouts;
  for (const ArrayInfo& a : arguments) layouts.push_back(a.layout);
  const bool uneven = options.passes.uneven;
  const Layouts wanted = propagate(whole, mesh, layouts, uneven);
  Partitioned parts = partition(table, whole, mesh, wanted, uneven);
  after("partition", parts.local, options);
  parts.local = simplify(table, parts.local);
  after("simplify", parts.local, options);
  runtime::MeshRef laid = mesh;
  if (auto finer = on_parts_of_axes(table, whole, mesh, wanted, parts, uneven)) {
    laid = std::move(finer->mesh);
    parts = std::move(finer->program);
    after("parts of axes", parts.local, options);
  }
  for (std::size_t i = 0; i < results.size(); ++i) results[i].layout = std::move(parts.results[i]);
  Program out = settle(table, std::move(parts.local), laid, laid_on(laid, arguments), std::move(results), options);
  for (ArrayInfo& r : out.results) r = as_seen(laid, std::move(r));
  out.ideal = work_of_one(whole, *mesh);
  return out;
}

}  // namespace shard::transform
