#include "interpreter/transform/regions.h"

#include <algorithm>
#include <stdexcept>

#include "interpreter/transform/differentiate.h"
#include "interpreter/transform/factor_layout.h"

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

bool any(const Marks& m, const Vars& vars) {
  return std::any_of(vars.begin(), vars.end(), [&](Var v) { return m[at(v)] != 0; });
}
bool all(const Marks& m, const Vars& vars) {
  return std::all_of(vars.begin(), vars.end(), [&](Var v) { return m[at(v)] != 0; });
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
  return std::any_of(node.regions.begin(), node.regions.end(), [](const auto& r) { return has_effects(*r); });
}

bool has_effects(const Graph& graph) {
  return std::any_of(graph.nodes.begin(), graph.nodes.end(), [](const Node& n) { return has_effects(n); });
}

Marks reached(const Graph& g, std::span<const Var> from) {
  Marks m = marks_of(g, from);
  for (const Node& n : g.nodes)
    if (any(m, n.inputs))
      for (Var v : n.outputs) m[at(v)] = 1;
  return m;
}

Marks active(const Graph& g, std::span<const Var> from) {
  Marks m = marks_of(g, from);
  for (Var v : from) m[at(v)] = differentiable(g.type(v));
  for (const Node& n : g.nodes) {
    if (!any(m, n.inputs) || std::holds_alternative<ir::Zero>(n.op->derivative)) continue;
    for (Var v : n.outputs) m[at(v)] = differentiable(g.type(v));
  }
  return m;
}

Marks useful(const Graph& g, std::span<const Var> results) {
  Marks m = marks_of(g, results);
  for (std::size_t i = g.nodes.size(); i-- > 0;) {
    const Node& n = g.nodes[i];
    const bool used =
        std::any_of(n.outputs.begin(), n.outputs.end(), [&](Var v) { return m[at(v)] && differentiable(g.type(v)); });
    if (!used || std::holds_alternative<ir::Zero>(n.op->derivative)) continue;
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

namespace {

// The nodes that `extract` takes.
Marks taken(const Graph& g, const Marks& given, std::span<const Var> results, bool effects) {
  Marks there = given, need = marks_of(g, results);
  for (const Node& n : g.nodes)
    if (all(there, n.inputs))
      for (Var v : n.outputs) there[at(v)] = 1;
  Marks take(g.nodes.size(), 0);
  for (std::size_t i = g.nodes.size(); i-- > 0;) {
    const Node& n = g.nodes[i];
    bool wanted = false;
    for (Var v : n.outputs) wanted |= need[at(v)] && !given[at(v)];
    if (!wanted && !(effects && all(there, n.inputs) && has_effects(n))) continue;
    take[i] = 1;
    for (Var v : n.inputs) need[at(v)] = 1;
  }
  return take;
}

}  // namespace

Graph extract(const ir::OpTable& table, const Graph& g, std::span<const Var> params, std::span<const Var> results,
              bool effects) {
  const Marks given = marks_of(g, params), take = taken(g, given, results, effects);
  ir::Builder b = builder_like(table, g);
  ir::GraphCopy now(b, g);
  for (Var p : params) now[p] = b.param(g.type(p));
  const auto known = [&](std::span<const Var> vars, const char* what) {
    Vars out = now({vars.begin(), vars.end()});
    if (std::any_of(out.begin(), out.end(), [](Var v) { return !v.valid(); }))
      throw std::logic_error(std::string("extract: ") + what + " does not follow from the parameters");
    return out;
  };
  for (std::size_t i = 0; i < g.nodes.size(); ++i) {
    if (!take[i]) continue;
    const Node& n = g.nodes[i];
    const Vars before = now(n.outputs);
    now.node(n, known(n.inputs, "a value"), n.attrs, n.regions);
    for (std::size_t k = 0; k < before.size(); ++k)
      if (given[at(n.outputs[k])]) now[n.outputs[k]] = before[k];
  }
  return b.finish(known(results, "a result"));
}

std::optional<Graph> with_regions(const Graph& g, const std::function<std::optional<Graph>(const Graph&)>& change) {
  std::optional<Graph> out;
  for (std::size_t i = 0; i < g.nodes.size(); ++i)
    for (std::size_t k = 0; k < g.nodes[i].regions.size(); ++k) {
      std::optional<Graph> region = change(*g.nodes[i].regions[k]);
      if (!region) continue;
      if (!out) out = g;
      out->nodes[i].regions[k] = share(std::move(*region));
    }
  return out;
}

Graph with_nodes_made(const ir::OpTable& table, const Graph& g, const std::function<bool(const Node&)>& chosen,
                      const std::function<Vars(ir::Builder&, const Node&, const Vars&)>& make) {
  ir::Builder b = builder_like(table, g);
  ir::GraphCopy now(b, g);
  now.params();
  for (const Node& n : g.nodes) {
    if (!chosen(n)) {
      now.node(n);
      continue;
    }
    const ir::SpanScope scope(b, n.span);
    now.become(n.outputs, make(b, n, now(n.inputs)));
  }
  return now.finish();
}

bool has_regions(const Graph& g) {
  return std::any_of(g.nodes.begin(), g.nodes.end(), [](const Node& n) { return !n.regions.empty(); });
}

Graph without_dead_code(const ir::OpTable& table, Graph g) {
  const Marks take = taken(g, marks_of(g, g.params), g.results, true);
  if (std::find(take.begin(), take.end(), 0) == take.end()) return g;
  return extract(table, g, g.params, g.results, true);
}

Residuals keep(const Graph& g, const Marks& late, std::span<const Var> results, const Marks& free,
               const Marks& steady) {
  Marks asked(g.types.size(), 0);
  for (const Node& n : g.nodes)
    if (any(late, n.outputs))
      for (Var v : n.inputs)
        if (!late[at(v)]) asked[at(v)] = 1;
  for (Var v : results)
    if (!late[at(v)]) asked[at(v)] = 1;
  // A value larger than what it is cheaply made of gives way to that.
  for (std::size_t i = g.nodes.size(); i-- > 0;) {
    const Node& n = g.nodes[i];
    if (n.outputs.size() != 1 || !asked[at(n.outputs[0])] || !cheap(n)) continue;
    std::int64_t more = 0;
    for (Var v : n.inputs)
      if (!free[at(v)] && !asked[at(v)]) more += bytes_of(g.type(v));
    if (more >= bytes_of(g.type(n.outputs[0]))) continue;
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
    const bool made_again = cheap(n) && all(there, n.inputs);
    for (Var v : n.outputs)
      if (made_again)
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
