// Accounting of local graphs: a reader of the `comm` and `flops` columns.
#include "interpreter/transform/communication.h"

#include <algorithm>

#include "interpreter/ir/region_edges.h"
#include "interpreter/transform/factor_layout.h"

namespace shard::transform {
namespace {

using ir::Node;
using ir::Structure;

// What one device gives. Several operands of one collective go one after another.
std::int64_t given(const ir::Graph& g, const Node& n) {
  std::int64_t bytes = 0;
  for (ir::Var v : n.inputs) bytes += bytes_of(g.type(v));
  return bytes;
}

double points_of(const ir::Graph& g, const Node& n) {
  if (ir::structure_of(*n.op)) return 0;
  std::vector<ir::Type> in;
  for (ir::Var v : n.inputs) in.push_back(g.type(v));
  try {
    double points = 1;
    for (const ir::Factor& f : ir::factors_of({*n.op, in, n.attrs, n.regions}).factors)
      points *= static_cast<double>(f.size);
    return points * n.op->flops;
  } catch (const std::exception&) {  // a rule that only holds for whole values
    return 0;
  }
}

std::int64_t total(const Account& a) {
  std::int64_t bytes = 0;
  for (const CommRecord& r : a.comm) bytes += r.bytes;
  return bytes;
}

void add(Account& to, Account part, std::int64_t times) {
  for (CommRecord& r : part.comm) {
    r.bytes *= times;
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
    const Structure* s = ir::structure_of(*n.op);
    if (n.op->comm && n.op->comm->communicates() && mesh) {
      CommRecord r;
      r.kind = n.op->name;
      r.written = !n.attrs.has("written") || n.attrs.flag("written");
      std::int64_t taking_part = 1;
      for (auto a : axes_of(n, *mesh)) {
        r.axes.push_back(mesh->axes[a].name);
        taking_part *= mesh->size_of(a);
      }
      std::int64_t together = n.attrs.has("groups") ? n.attrs.integer("group_size") : taking_part;
      r.op = n.op;
      r.given = given(g, n);
      r.bytes = ir::comm_cost(*n.op->comm, r.given, together).bytes;
      if (const ir::AttrValue* note = n.attrs.find("why")) r.why = std::get<ir::Note>(*note).why;
      r.span = n.span;
      if (taking_part > 1 || r.written) out.comm.push_back(std::move(r));
    } else if (s && *s == Structure::Scan) {
      add(out, account(*n.regions[0], mesh), ir::scan_wiring(n.attrs).length);
    } else if (s && *s == Structure::Branch) {
      Account a = account(*n.regions[0], mesh), b = account(*n.regions[1], mesh);
      double flops = std::max(a.flops, b.flops);
      Account& costlier = total(b) > total(a) ? b : a;
      costlier.flops = flops;
      add(out, std::move(costlier), 1);
    } else {
      for (const auto& region : n.regions) add(out, account(*region, mesh), 1);
    }
    out.flops += points_of(g, n) * devices;
  }
  return out;
}

}  // namespace shard::transform
