// Loops on a condition whose bodies are few elements ask at the end of a turn: what the condition found goes round with
// the rest, so that a turn and the question are one program, and the first question is one with what stands before.
#include <algorithm>

#include "interpreter/ir/builder.h"
#include "interpreter/ir/region_edges.h"
#include "interpreter/transform/passes.h"
#include "interpreter/transform/regions.h"
#include "runtime/kernels/element_program.h"

namespace shard::transform {
namespace {

using ir::Graph;
using ir::GraphRef;
using ir::Node;
using ir::Var;
using ir::Vars;

bool rotates(const Node& n) {
  const auto few = [](const ir::Type& t) { return runtime::numel(t.shape) <= runtime::kFewElements; };
  return !n.regions.empty() && ir::region_edges(n).verdict && !n.regions[0]->nodes.empty() &&
         std::all_of(n.regions.begin(), n.regions.end(), [&](const GraphRef& g) {
           return !has_effects(*g) && std::all_of(g->types.begin(), g->types.end(), few);
         });
}

// Operands: what the condition and then what the body took, what goes round, and what the condition found.
Vars rotated(ir::Builder& b, const Node& n, const Vars& in) {
  const ir::WhileWiring wiring = ir::while_wiring(n.attrs);
  const Graph &condition = *n.regions[0], &body = *n.regions[1];
  const std::size_t consts = wiring.cond_consts + wiring.body_consts;
  const auto asked = [&](ir::Builder& to, const Vars& known, const Vars& round) {
    Vars operands(known.begin(), known.begin() + static_cast<std::ptrdiff_t>(wiring.cond_consts));
    operands.insert(operands.end(), round.begin(), round.end());
    return to.inline_graph(condition, operands).at(0);
  };
  ir::Builder turn = builder_like(b.table(), body), look = builder_like(b.table(), condition);
  Vars known, round;
  for (std::size_t i = 0; i < in.size(); ++i) (i < consts ? known : round).push_back(turn.param(b.type(in[i])));
  const ir::Type truth = condition.type(condition.results[0]);
  turn.param(truth);  // unread: there is this turn
  Vars operands(known.begin() + static_cast<std::ptrdiff_t>(wiring.cond_consts), known.end());
  operands.insert(operands.end(), round.begin(), round.end());
  Vars results = turn.inline_graph(body, operands);
  results.push_back(asked(turn, known, results));
  for (std::size_t i = consts; i < in.size(); ++i) look.param(b.type(in[i]));
  const Var verdict = look.param(truth);

  Vars now = in;
  now.push_back(asked(b, in, Vars(in.begin() + static_cast<std::ptrdiff_t>(consts), in.end())));
  Vars out = b.emit(*n.op, now, ir::with_wiring(n.attrs, ir::WhileWiring{0, consts}),
                    {share(look.finish({verdict})), share(turn.finish(std::move(results)))});
  out.pop_back();
  return out;
}

}  // namespace

std::optional<Graph> with_rotated_loops(const ir::OpTable& table, const Graph& graph) {
  auto out = with_regions(graph, [&](const Graph& region) { return with_rotated_loops(table, region); });
  const Graph& now = out ? *out : graph;
  if (std::any_of(now.nodes.begin(), now.nodes.end(), rotates)) out = with_nodes_made(table, now, rotates, rotated);
  return out;
}

}  // namespace shard::transform
