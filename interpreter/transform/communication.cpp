// Accounting of local graphs: a reader of the `comm` and `flops` columns.
#include <algorithm>

#include "interpreter/ir/region_edges.h"
#include "interpreter/transform/factor_layout.h"
#include "interpreter/transform/passes.h"

namespace shard::transform {
namespace {

using ir::Node;

// What one device gives. Several operands of one collective go one after another.
std::int64_t given(const ir::Graph& g, const Node& n) {
  std::int64_t bytes = 0;
  for (ir::Var v : n.inputs) bytes += bytes_of(g.type(v));
  return bytes;
}

double points_of(const ir::Graph& g, const Node& n) {
  if (ir::structure_of(*n.op)) return 0;
  const auto rule = local_rule(*n.op, types_of(g, n.inputs), n.attrs, n.rule);
  if (!rule) return 0;
  double points = 1;
  for (const ir::Factor& f : rule->factors) points *= static_cast<double>(f.size);
  return points * n.op->flops;
}

std::int64_t total(const Account& a) {
  std::int64_t bytes = 0;
  for (const CommRecord& r : a.comm) bytes += r.bytes;
  return bytes;
}

void add(Account& to, Account part, std::int64_t times) {
  for (CommRecord& r : part.comm) {
    r.bytes *= times;
    r.sent *= times;
    r.count *= times;
    if (r.count > 0) to.comm.push_back(std::move(r));
  }
  to.flops += part.flops * static_cast<double>(times);
}

}  // namespace

Account account(const ir::Graph& g, const runtime::Mesh* mesh) {
  Account out;
  double devices = mesh ? static_cast<double>(mesh->size()) : 1;
  for (const Node& n : g.nodes) {
    if (n.op->comm && n.op->comm->communicates() && mesh) {
      CommRecord r;
      r.kind = n.op->name;
      r.written = !n.attrs.has("written") || n.attrs.flag("written");
      const std::vector<runtime::AxisId> axes = axes_of(n, *mesh);
      r.axes = runtime::names_of(*mesh, axes);
      const std::int64_t taking_part = mesh->size_of(axes);
      std::int64_t together = n.attrs.has("groups") ? n.attrs.integer("group_size") : taking_part;
      r.op = n.op;
      r.given = given(g, n);
      const ir::CommCost cost = ir::comm_cost(*n.op->comm, r.given, together);
      r.bytes = cost.bytes;
      r.sent = cost.sent;
      if (const auto* note = n.attrs.get<ir::Note>("why")) r.why = note->why;
      r.span = n.span;
      if (taking_part > 1 || r.written) out.comm.push_back(std::move(r));
    } else if (const ir::RegionEdges wiring = ir::region_edges(n); wiring.chooser) {
      Account a = account(*n.regions[0], mesh), b = account(*n.regions[1], mesh);
      double flops = std::max(a.flops, b.flops);
      Account& costlier = total(b) > total(a) ? b : a;
      costlier.flops = flops;
      add(out, std::move(costlier), 1);
    } else {
      for (const auto& region : n.regions) add(out, account(*region, mesh), wiring.turns);
    }
    out.flops += points_of(g, n) * devices;
  }
  return out;
}

double work_of_one(const ir::Graph& global, const runtime::Mesh& mesh) {
  double out = 0;
  for (const Node& n : global.nodes) {
    out += points_of(global, n);
    const ir::RegionEdges wiring = ir::region_edges(n);
    const bool per_device = is(n, ir::Structure::Manual);
    const double times = static_cast<double>(per_device ? mesh.size_of(n.attrs.axes()) : wiring.turns);
    double once = 0;
    for (const auto& region : n.regions) {
      const double own = work_of_one(*region, mesh);
      once = wiring.chooser ? std::max(once, own) : once + own;
    }
    out += once * (wiring.chooser ? 1 : times);
  }
  return out;
}

}  // namespace shard::transform
