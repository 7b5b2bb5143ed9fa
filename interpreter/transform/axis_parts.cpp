// Parts of axes: 2 groups of heads on an axis of 4 are split over half of the axis, and what is in a group over the
// other half. Where a dimension of several factors is laid out over an axis that its factors do not divide by, the
// graph is partitioned once more on a mesh that has the axis in two parts (runtime/mesh/axis_parts.h), with results
// over whole axes, and the cheaper one is taken.
#include <algorithm>
#include <numeric>

#include "interpreter/ir/op.h"
#include "interpreter/transform/passes.h"
#include "interpreter/transform/regions.h"
#include "interpreter/transform/uneven.h"
#include "runtime/mesh/axis_parts.h"

namespace shard::transform {
namespace {

using ir::Graph;
using ir::Node;
using ir::Var;
using runtime::MeshRef;

using Wishes = std::vector<std::int64_t>;  // by axis: the size of the first part; 1: the axis stays whole

// Where an axis does not divide what is left of a factor, but both divide by something: the first wish of an axis.
void wish(const ir::FactorRule& rule, const ir::ValueFactors& value, const Sharding& layout, const Mesh& mesh,
          Wishes& wishes) {
  for (std::size_t d = 0; d < value.size() && d < layout.dims.size(); ++d) {
    const auto& factors = value[d];
    if (factors.size() < 2) continue;
    std::size_t k = 0;
    std::int64_t done = 1;
    for (AxisId a : layout.dims[d].axes) {
      const std::int64_t n = mesh.size_of(a);
      while (n > 1 && k + 1 < factors.size() && done == rule.factor(factors[k]).size) ++k, done = 1;
      const std::int64_t size = rule.factor(factors[k]).size;
      if (size % (done * n) == 0) {
        done *= n;
        continue;
      }
      const std::int64_t first = size % done == 0 ? std::gcd(size / done, n) : 1;
      if (first > 1 && first < n && wishes[a] == 1) wishes[a] = first;
      break;
    }
  }
}

void wish(const Graph& g, const Layouts& layouts, const Mesh& mesh, Wishes& wishes) {
  for (std::size_t i = 0; i < g.nodes.size(); ++i) {
    const Node& n = g.nodes[i];
    for (std::size_t r = 0; r < n.regions.size() && i < layouts.regions.size() && r < layouts.regions[i].size(); ++r)
      wish(*n.regions[r], layouts.regions[i][r], mesh, wishes);
    const RuleRef rule = n.regions.empty() ? rule_of(g, n) : nullptr;
    if (!rule) continue;
    for (std::size_t k = 0; k < n.inputs.size(); ++k)
      wish(*rule, rule->operands[k], layouts.of[at(n.inputs[k])], mesh, wishes);
    for (std::size_t k = 0; k < n.outputs.size(); ++k)
      wish(*rule, rule->results[k], layouts.of[at(n.outputs[k])], mesh, wishes);
  }
}

// Whether nothing in it names the mesh but constraints: per-device code, collectives and what is shown do.
bool lays_out_only(const Graph& g, const Mesh& mesh) {
  return std::all_of(g.nodes.begin(), g.nodes.end(), [&](const Node& n) {
    if (n.op->comm || is(n, ir::Structure::Manual) || is(n, ir::Structure::Effect)) return false;
    for (const auto& [name, value] : n.attrs)
      if (const auto* layout = std::get_if<ir::Layout>(&value); layout && !(layout->mesh && *layout->mesh == mesh))
        return false;
    return std::all_of(n.regions.begin(), n.regions.end(), [&](const auto& r) { return lays_out_only(*r, mesh); });
  });
}

// The graph on the mesh of parts.
Graph on(const MeshRef& parts, Graph g) {
  const auto type = [&](runtime::Type& t) {
    if (t.mesh) t.mesh = parts;
    t.sharding = runtime::to_parts(std::move(t.sharding), *parts);
  };
  for (runtime::Type& t : g.types) type(t);
  for (Node& n : g.nodes) {
    ir::Attrs attrs;
    for (const auto& [name, value] : n.attrs) {
      const auto* layout = std::get_if<ir::Layout>(&value);
      attrs.set(name, layout ? ir::AttrValue(ir::Layout{parts, runtime::to_parts(layout->sharding, *parts)}) : value);
    }
    n.attrs = std::move(attrs);
    for (ir::GraphRef& r : n.regions) r = share(on(parts, *r));
  }
  return g;
}

// With results laid out so.
Graph with_results(const ir::OpTable& table, const Graph& g, const MeshRef& mesh, std::span<const Sharding> layouts) {
  ir::Builder b = builder_like(table, g);
  ir::GraphCopy now(b, g);
  now.params();
  for (const Node& n : g.nodes) now.node(n);
  ir::Vars results = now(g.results);
  for (std::size_t i = 0; i < results.size(); ++i)
    results[i] = b.emit1(*table.core().shard, {results[i]}, {{"layout", ir::Layout{mesh, layouts[i]}}});
  return b.finish(std::move(results));
}

// A byte between devices takes as long as this many operations that read what they work on once, as those of one token
// on its cache do: an accelerator's memory is some 16 times as fast as its links, and two operations have 4 bytes.
// Those that devices repeat are most often such.
constexpr double kReadingPerByte = 8;

// In bytes that a device sends.
double price(const Graph& local, const Mesh& mesh) {
  const Account said = account(local, &mesh);
  double sent = 0;
  for (const CommRecord& r : said.comm) sent += static_cast<double>(r.sent);
  return sent + said.flops / static_cast<double>(mesh.size()) / kReadingPerByte;
}

}  // namespace

std::vector<ArrayInfo> laid_on(const MeshRef& mesh, std::span<const ArrayInfo> arrays) {
  std::vector<ArrayInfo> out(arrays.begin(), arrays.end());
  if (!mesh || !mesh->whole) return out;
  for (ArrayInfo& a : out) {
    if (!a.mesh) continue;
    a.mesh = a.type.mesh = mesh;
    a.layout = runtime::to_parts(std::move(a.layout), *mesh);
    a.distinct = runtime::to_parts(a.distinct, *mesh);
  }
  return out;
}

ArrayInfo as_seen(const MeshRef& mesh, ArrayInfo a) {
  if (!a.mesh || !mesh || !mesh->whole) return a;
  a.mesh = a.type.mesh = mesh->whole;
  a.layout = runtime::to_wholes(std::move(a.layout), *mesh);
  a.distinct = runtime::to_wholes(a.distinct, *mesh);
  return a;
}

std::optional<OnParts> on_parts_of_axes(const ir::OpTable& table, const Graph& graph, const MeshRef& mesh,
                                        const Layouts& layouts, const Partitioned& plain, bool uneven) {
  if (mesh->of_kind(runtime::AxisKind::Auto) != mesh->all()) return std::nullopt;
  Wishes wishes(mesh->axes.size(), 1);
  wish(graph, layouts, *mesh, wishes);
  MeshRef parts = mesh;
  for (std::size_t a = wishes.size(); a-- > 0 && parts;)
    if (wishes[a] > 1) parts = with_parts(parts, static_cast<AxisId>(a), wishes[a]);
  if (!parts || parts == mesh || parts->axes.size() > runtime::kMaxAxes || !lays_out_only(graph, *mesh))
    return std::nullopt;
  std::vector<Sharding> arguments, results;
  for (Var p : graph.params) arguments.push_back(runtime::to_parts(layouts.of[at(p)], *parts));
  const Graph same = on(parts, graph);
  const Layouts wanted = propagate(same, parts, arguments, uneven);
  for (Var r : graph.results)
    results.push_back(closed(
        runtime::to_parts(runtime::to_wholes(evened(*parts, graph.type(r).shape, wanted.of[at(r)]), *parts), *parts)));
  const Graph finer = with_results(table, same, parts, results);
  OnParts out{parts, partition(table, finer, parts, propagate(finer, parts, arguments, uneven), uneven)};
  out.program.local = simplify(table, out.program.local);
  if (price(out.program.local, *parts) >= price(plain.local, *mesh)) return std::nullopt;
  return out;
}

}  // namespace shard::transform
