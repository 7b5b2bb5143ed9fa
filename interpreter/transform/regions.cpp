#include "interpreter/transform/regions.h"
#include "interpreter/transform/nodes.h"

#include <stdexcept>

#include "interpreter/transform/cotangent.h"

namespace shard::transform {
namespace {

using ir::Graph;
using ir::Node;
using ir::Var;
using ir::Vars;

Marks marks_of(const Graph& g, std::span<const Var> vars) {
  Marks m(g.types.size(), 0);
  for (Var v : vars) m[at(v)] = 1;
  return m;
}

// Cheap to do again: elementwise codes of little work, rearrangements, values made of nothing.
bool cheap(const Node& n) {
  if (n.outputs.size() != 1 || !n.regions.empty()) return false;
  const ir::OpDef& op = *n.op;
  if (n.inputs.empty()) return !op.comm;
  if (std::holds_alternative<runtime::Code>(op.kernel)) return op.flops <= 8;
  return ir::shows_all(op);
}

}  // namespace

bool has_effects(const Node& node) {
  if (ir::is_effect(*node.op)) return true;
  for (const auto& r : node.regions)
    if (has_effects(*r)) return true;
  return false;
}

bool has_effects(const Graph& graph) {
  for (const Node& n : graph.nodes)
    if (has_effects(n)) return true;
  return false;
}

Marks reached(const Graph& g, std::span<const Var> from) {
  Marks m = marks_of(g, from);
  for (const Node& n : g.nodes) {
    bool any = false;
    for (Var v : n.inputs) any |= m[at(v)] != 0;
    if (any)
      for (Var v : n.outputs) m[at(v)] = 1;
  }
  return m;
}

Marks active(const Graph& g, std::span<const Var> from) {
  Marks m = marks_of(g, from);
  for (Var v : from) m[at(v)] = differentiable(g.type(v));
  for (const Node& n : g.nodes) {
    bool any = false;
    for (Var v : n.inputs) any |= m[at(v)] != 0;
    if (!any || std::holds_alternative<ir::Zero>(n.op->derivative)) continue;
    for (Var v : n.outputs) m[at(v)] = differentiable(g.type(v));
  }
  return m;
}

Marks useful(const Graph& g, std::span<const Var> results) {
  Marks m = marks_of(g, results);
  for (std::size_t i = g.nodes.size(); i-- > 0;) {
    const Node& n = g.nodes[i];
    bool any = false;
    for (Var v : n.outputs) any |= m[at(v)] && differentiable(g.type(v));
    if (!any || std::holds_alternative<ir::Zero>(n.op->derivative)) continue;
    for (Var v : n.inputs)
      if (differentiable(g.type(v))) m[at(v)] = 1;
  }
  return m;
}

ir::Builder builder_like(const ir::OpTable& table, const Graph& like) {
  ir::Builder b(table);
  if (like.local) b.set_local(like.mesh);
  return b;
}

Graph extract(const ir::OpTable& table, const Graph& g, std::span<const Var> params, std::span<const Var> results,
              bool effects) {
  Marks given = marks_of(g, params), there = given, need = marks_of(g, results);
  for (const Node& n : g.nodes) {
    bool all = true;
    for (Var v : n.inputs) all &= there[at(v)] != 0;
    if (all)
      for (Var v : n.outputs) there[at(v)] = 1;
  }
  Marks take(g.nodes.size(), 0);
  for (std::size_t i = g.nodes.size(); i-- > 0;) {
    const Node& n = g.nodes[i];
    bool wanted = false, computable = true;
    for (Var v : n.inputs) computable &= there[at(v)] != 0;
    for (Var v : n.outputs) wanted |= need[at(v)] && !given[at(v)];
    if (!wanted && !(effects && computable && has_effects(n))) continue;
    take[i] = 1;
    for (Var v : n.inputs) need[at(v)] = 1;
  }
  ir::Builder b = builder_like(table, g);
  Vars now(g.types.size());
  for (Var p : params) now[at(p)] = b.param(g.type(p));
  for (std::size_t i = 0; i < g.nodes.size(); ++i) {
    if (!take[i]) continue;
    const Node& n = g.nodes[i];
    ir::SpanScope scope(b, n.span);
    Vars inputs;
    for (Var v : n.inputs) {
      if (!now[at(v)].valid()) throw std::logic_error("extract: a value does not follow from the parameters");
      inputs.push_back(now[at(v)]);
    }
    std::vector<ir::Type> types;
    for (Var v : n.outputs) types.push_back(g.type(v));
    Vars outputs = b.append(*n.op, std::move(inputs), n.attrs, n.regions, std::move(types));
    for (std::size_t k = 0; k < outputs.size(); ++k)
      if (!given[at(n.outputs[k])]) now[at(n.outputs[k])] = outputs[k];
  }
  Vars out;
  for (Var r : results) {
    if (!now[at(r)].valid()) throw std::logic_error("extract: a result does not follow from the parameters");
    out.push_back(now[at(r)]);
  }
  return b.finish(std::move(out));
}

Graph without_dead_code(const ir::OpTable& table, const Graph& g) {
  return extract(table, g, g.params, g.results, true);
}

Residuals keep(const Graph& g, const Marks& late, std::span<const Var> results, const Marks& free,
               const Marks& steady) {
  Marks asked(g.types.size(), 0);
  for (const Node& n : g.nodes) {
    bool is_late = false;
    for (Var v : n.outputs) is_late |= late[at(v)] != 0;
    if (!is_late) continue;
    for (Var v : n.inputs)
      if (!late[at(v)]) asked[at(v)] = 1;
  }
  for (Var v : results)
    if (!late[at(v)]) asked[at(v)] = 1;
  // A value larger than what it is cheaply made of gives way to that.
  for (std::size_t i = g.nodes.size(); i-- > 0;) {
    const Node& n = g.nodes[i];
    if (n.outputs.size() != 1 || !asked[at(n.outputs[0])] || !cheap(n)) continue;
    std::int64_t more = 0;
    for (Var v : n.inputs)
      if (!free[at(v)] && !asked[at(v)]) more += bytes(g.type(v));
    if (more >= bytes(g.type(n.outputs[0]))) continue;
    asked[at(n.outputs[0])] = 0;
    for (Var v : n.inputs) asked[at(v)] = 1;
  }
  Residuals kept;
  Marks there = free;
  auto hand_over = [&](Var v) {
    if (!asked[at(v)] || there[at(v)]) return;
    (!steady.empty() && steady[at(v)] ? kept.hoisted : kept.stored).push_back(v);
    there[at(v)] = 1;
  };
  for (Var p : g.params) hand_over(p);
  for (const Node& n : g.nodes) {
    if (n.outputs.empty() || late[at(n.outputs[0])]) continue;
    bool all = cheap(n);
    for (Var v : n.inputs) all &= there[at(v)] != 0;
    for (Var v : n.outputs)
      if (all)
        there[at(v)] = 1;
      else
        hand_over(v);
  }
  return kept;
}

Halves cut(const ir::OpTable& table, const Graph& g, std::size_t params, std::size_t results) {
  std::span<const Var> early(g.params.data(), params), others(g.params.data() + params, g.params.size() - params);
  std::span<const Var> first_results(g.results.data(), results),
      second_results(g.results.data() + results, g.results.size() - results);
  Residuals kept = keep(g, reached(g, others), second_results, Marks(g.types.size(), 0), {});
  Vars out(first_results.begin(), first_results.end()), in(kept.stored);
  out.insert(out.end(), kept.stored.begin(), kept.stored.end());
  in.insert(in.end(), others.begin(), others.end());
  Halves h;
  h.first = extract(table, g, early, out, true);
  h.second = extract(table, g, in, second_results, false);
  h.residuals = kept.stored.size();
  return h;
}

}  // namespace shard::transform
