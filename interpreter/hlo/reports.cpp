#include "interpreter/hlo/reports.h"

#include "interpreter/ir/region_edges.h"

namespace shard::hlo {
namespace {

Claim claim_of(const ir::Node& n) {
  Claim out{{}, n.span};  // without the values that it would show
  if (const auto* texts = n.attrs.get<std::vector<std::string>>("texts"))
    for (const std::string& t : *texts) out.message += (out.message.empty() ? "" : "...") + t;
  return out;
}

void add_effect(const ir::Graph& g, const ir::Node& n, const transform::Distinct* known, Reports& to) {
  if (!n.attrs.says("shows")) {
    to.claims.push_back(claim_of(n));
    to.values.push_back({true, runtime::DType::Bool, {}});
    return;
  }
  Shown one;
  one.node = &n;
  for (const ir::Var v : n.inputs) {
    one.types.push_back(g.type(v));
    one.differs.push_back(known ? known->of[v.id] : runtime::AxisSet());
    to.values.push_back({false, g.type(v).dtype, g.type(v).shape});
  }
  to.shown.push_back(std::move(one));
}

template <class T>
void append(std::vector<T>& to, std::vector<T>&& more) {
  to.insert(to.end(), std::make_move_iterator(more.begin()), std::make_move_iterator(more.end()));
}

void add_regions(const ir::Node& n, const transform::Distinct::Inside* known, Reports& to) {
  std::vector<Reports> regions;
  for (std::size_t r = 0; r < n.regions.size(); ++r)
    regions.push_back(reports_of(*n.regions[r], known && r < known->regions.size() ? &known->regions[r] : nullptr));
  const bool counted = is(n, ir::Structure::Scan), chosen = is(n, ir::Structure::Branch);
  Shown around;
  bool any = false;
  if (counted) around.turns = ir::region_edges(n).turns;
  for (const Reports& r : regions) any = any || !r.shown.empty();
  if (chosen && any) to.values.push_back({false, runtime::DType::Bool, {}});
  for (Reports& r : regions) {
    for (Told& t : r.values)
      if (counted && !t.claim) t.shape.insert(t.shape.begin(), around.turns);
    append(to.claims, std::move(r.claims));
    append(to.values, std::move(r.values));
    if (counted || chosen)
      around.inside.push_back(std::move(r.shown));
    else
      append(to.shown, std::move(r.shown));
  }
  if ((counted || chosen) && any) to.shown.push_back(std::move(around));
}

}  // namespace

Value Told::nothing(Writer& to) const { return broadcast(to.constant(dtype, {}, claim ? 1 : 0), shape); }

Reports reports_of(const ir::Graph& g, const transform::Distinct* known) {
  Reports out;
  for (std::size_t i = 0; i < g.nodes.size(); ++i) {
    const ir::Node& n = g.nodes[i];
    if (ir::is_effect(*n.op)) add_effect(g, n, known, out);
    add_regions(n, known && i < known->inside.size() ? &known->inside[i] : nullptr, out);
  }
  return out;
}

std::vector<Told> told_in(const ir::Graph& g) { return reports_of(g, nullptr).values; }

std::vector<Told> told_by(const ir::Node& loop) {
  Reports out;
  add_regions(loop, nullptr, out);
  return out.values;
}

}  // namespace shard::hlo
