#include "interpreter/cost_model/instruction_parts.h"

#include <algorithm>
#include <functional>
#include <queue>

#include "interpreter/cost_model/chip.h"
#include "interpreter/ir/region_edges.h"

namespace shard::cost_model {

using ir::Graph;
using ir::Node;
using ir::Var;

double blocks_of(runtime::AxisSet differ, const runtime::Mesh* mesh, double processes) {
  if (!mesh) return processes;
  double n = 1;
  for (std::size_t i = 0; i < mesh->axes.size(); ++i) {
    const auto a = static_cast<runtime::AxisId>(i);
    n *= static_cast<double>(differ.has(a) ? mesh->size_of(a) : processes_of(processes, *mesh, {&a, 1}));
  }
  return n;
}

bool of_type_alone(const Node& n) {
  return n.op->flops == 0 && n.regions.empty() && std::holds_alternative<ir::KernelFn>(n.op->kernel) &&
         std::holds_alternative<ir::Zero>(n.op->derivative);
}

transform::RuleRef rule_of(const Graph& g, const Node& n) {
  try {
    return transform::rule_of(g, n);
  } catch (const std::exception&) { return nullptr; }  // a rule that only holds for whole values
}

std::optional<Product> product_of(const Graph& g, const Node& n) {
  if (n.inputs.size() < 2 || n.outputs.empty() || ir::structure_of(*n.op) || n.op->flops < 2) return std::nullopt;
  const auto rule = rule_of(g, n);
  if (!rule) return std::nullopt;
  Product p;
  bool sums = false;
  for (std::size_t f = 0; f < rule->factors.size(); ++f) {
    const auto has = [&](const ir::ValueFactors& v) {
      return std::any_of(v.begin(), v.end(), [&](const ir::DimFactors& d) {
        return std::find(d.begin(), d.end(), static_cast<int>(f)) != d.end();
      });
    };
    const bool a = has(rule->operands[0]), b = has(rule->operands[1]), out = has(rule->results[0]);
    const auto size = static_cast<double>(rule->factors[f].size);
    if (!out) {
      p.k *= size;
      sums |= a && b;
    } else if (a && b) {
      p.batch *= size;
    } else {
      (a ? p.m : p.n) *= size;
    }
  }
  if (!sums) return std::nullopt;
  p.again = flag(n, "again");
  return p;
}

namespace {

const Node* maker_in(const Graph& g, Var v) {
  for (const Node& n : g.nodes)
    if (std::find(n.outputs.begin(), n.outputs.end(), v) != n.outputs.end()) return &n;
  return nullptr;
}
// What it gives hangs on all its operands at once (they are joined).
bool jointly(const ir::OpDef& op) {
  const auto* linear = std::get_if<ir::Transposes>(&op.derivative);
  return linear && linear->jointly;
}
// Follows one value that nobody else uses back to what sums it, through views and casts and into loops; small sums that
// the passes joined (transform/small_sums.cpp) are one value of many slices.
void wait(const Graph& g, Instructions& instructions, Var v, std::int64_t turns) {
  const Node* n = maker_in(g, v);
  if (!n) return;
  bool slices = true;
  std::size_t uses = 0;
  for (const Node& user : g.nodes)
    if (const auto here = std::count(user.inputs.begin(), user.inputs.end(), v); here > 0) {
      uses += static_cast<std::size_t>(here);
      const auto* view = std::get_if<ir::ViewOf>(&user.op->kernel);
      slices &= view && view->part;
    }
  if (uses > 1 && !(slices && n->op->comm)) return;
  const auto own = std::find_if(instructions.list.begin(), instructions.list.end(),
                                [&](const Instruction& w) { return w.node == n; });
  if (n->op->comm && n->op->comm->combine) {
    if (own == instructions.list.end() || own->share_once < 1) return;
    own->share_once = 1 / static_cast<double>(turns);
    if (ir::sums_all(*n->op)) own->share = own->share_once;
    wait(g, instructions, n->inputs[0], turns);
  } else if (!n->regions.empty()) {
    for (const ir::RegionEdge& e : ir::region_edges(*n).edges)
      if (e.output && e.rows && n->outputs[*e.output] == v && own != instructions.list.end() && own->body) {
        const auto [region, index] = e.results[0];
        wait(*n->regions[region], *own->body, n->regions[region]->results[index], turns);
      }
  } else if (!n->op->comm && (n->inputs.size() == 1 || jointly(*n->op))) {
    for (Var from : n->inputs) wait(g, instructions, from, turns);
  }
}

}  // namespace

void add_up_later(const Graph& g, Instructions& body, const Instructions::Carried& c, std::int64_t turns) {
  const Node* sum = maker_in(g, g.results[c.result]);
  const auto* code = sum ? std::get_if<runtime::Code>(&sum->op->kernel) : nullptr;
  if (!code || *code != runtime::Code::Add || turns < 2) return;
  for (std::size_t i = 0; i < 2; ++i)
    if (sum->inputs[1 - i] == g.params[c.param]) wait(g, body, sum->inputs[i], turns);
}

std::vector<int> put_in_order(Instructions& instructions, const std::vector<std::vector<int>>& members) {
  const std::size_t n = instructions.list.size();
  std::vector<int> waits(n, 0);
  std::vector<std::vector<int>> next(n);
  for (std::size_t w = 0; w < n; ++w)
    for (int a : instructions.list[w].after)
      if (a >= 0) ++waits[w], next[static_cast<std::size_t>(a)].push_back(static_cast<int>(w));
  std::priority_queue<std::pair<int, int>, std::vector<std::pair<int, int>>, std::greater<>> ready;
  const auto offer = [&](std::size_t w) { ready.emplace(members[w].back(), static_cast<int>(w)); };
  for (std::size_t w = 0; w < n; ++w)
    if (!waits[w]) offer(w);
  std::vector<int> place(n, -1);
  std::vector<Instruction> sorted;
  while (!ready.empty()) {
    const auto w = static_cast<std::size_t>(ready.top().second);
    ready.pop();
    place[w] = static_cast<int>(sorted.size());
    sorted.push_back(std::move(instructions.list[w]));
    for (int u : next[w])
      if (--waits[static_cast<std::size_t>(u)] == 0) offer(static_cast<std::size_t>(u));
  }
  for (Instruction& w : sorted)
    for (int& a : w.after)
      if (a >= 0) a = place[static_cast<std::size_t>(a)];
  instructions.list = std::move(sorted);
  return place;
}

void settle_early(Instructions& instructions) {
  std::vector<char> light(instructions.list.size(), 0);
  for (std::size_t w = 0; w < instructions.list.size(); ++w) {
    Instruction& instruction = instructions.list[w];
    for (int a : instruction.after) instruction.early &= a < 0 || light[static_cast<std::size_t>(a)];
    light[w] = instruction.early && instruction.kind == Instruction::Kind::Stretch;
  }
}

void settle_copies(Instructions& instructions) {
  int before = -1;
  for (std::size_t w = 0; w < instructions.list.size(); ++w) {
    if (instructions.list[w].kind != Instruction::Kind::FromHost) continue;
    for (std::size_t u = before < 0 ? w : 0; u < w && instructions.list[w].beside < 0; ++u) {
      const std::vector<int>& after = instructions.list[u].after;
      if (std::find(after.begin(), after.end(), before) != after.end())
        instructions.list[w].beside = static_cast<int>(u);
    }
    if (before >= 0 && instructions.list[w].beside < 0)  // one instruction reads both
      instructions.list[w].beside = instructions.list[static_cast<std::size_t>(before)].beside;
    before = static_cast<int>(w);
  }
}

}  // namespace shard::cost_model
