// `offload` is a copy between a device's memory and the host's (interpreter/ir/region_edges.h): the value itself. A
// policy of `remat` puts one behind what makes a value and one before what reads it first in the backward part, so that
// between them, and nowhere else, the device does without it.
#include "stdlib/ops/control/control.h"

#include <utility>

#include "stdlib/ops/elementwise.h"

namespace shard::stdlib {
namespace {

// A graph that is copied node by node, with copies to the other memory between.
struct Copy {
  Copy(const ir::OpTable& table, const Graph& g)
      : graph(g), op(table.at("offload")), b(transform::builder_like(table, g)), now(b, g) {
    now.params();
  }
  Var moved(Var v, const char* memory) {
    return b.append(op, {now[v]}, {{"memory", std::string(memory)}}, {}, {graph.type(v)})[0];
  }
  const Graph& graph;
  const OpDef& op;
  Builder b;
  ir::GraphCopy now;
};

}  // namespace

Graph copied_out(const ir::OpTable& table, const Graph& forward, std::span<const std::size_t> results) {
  Copy copy(table, forward);
  std::vector<Var> out(forward.results.size());  // by result: the copy
  const auto leave = [&](Var v) {
    Var one;  // of the same value one copy
    for (std::size_t r : results) {
      if (forward.results[r] != v) continue;
      if (!one.valid()) one = copy.moved(v, "host");
      out[r] = one;
    }
  };
  for (Var p : forward.params) leave(p);
  for (const ir::Node& n : forward.nodes) {
    copy.now.node(n);
    const ir::SpanScope scope(copy.b, n.span);
    for (Var v : n.outputs) leave(v);
  }
  for (std::size_t r = 0; r < out.size(); ++r)
    if (!out[r].valid()) out[r] = copy.now[forward.results[r]];
  return copy.b.finish(std::move(out));
}

Graph copied_back(const ir::OpTable& table, const Graph& backward, std::span<const std::size_t> params,
                  std::size_t cotangents) {
  Copy copy(table, backward);
  const Marks late =
      transform::reached(backward, part(backward.params, cotangents, backward.params.size() - cotangents));
  std::vector<const ir::Node*> maker(backward.types.size(), nullptr);  // of values that are not there yet
  std::vector<char> away(backward.types.size(), 0);
  for (std::size_t p : params) away[at(backward.params[p])] = 1;
  for (const ir::Node& n : backward.nodes)
    for (Var v : n.outputs) maker[at(v)] = &n;
  const auto make = [&](const auto& self, Var v) -> void {
    if (std::exchange(away[at(v)], 0)) copy.now[v] = copy.moved(v, "device");
    const ir::Node* n = maker[at(v)];
    if (!n) return;
    for (Var w : n->outputs) maker[at(w)] = nullptr;
    const ir::SpanScope scope(copy.b, n->span);
    for (Var w : n->inputs) self(self, w);
    copy.now.node(*n);
  };
  for (const ir::Node& n : backward.nodes)
    if (!n.outputs.empty() && late[at(n.outputs[0])]) make(make, n.outputs[0]);
  Vars results;
  for (Var v : backward.results) {
    make(make, v);
    results.push_back(copy.now[v]);
  }
  return copy.b.finish(std::move(results));
}

OpDef offload_row() {
  OpDef row =
      passing_row("offload(x, memory: str)",
                  "The value itself, copied to the memory \"host\", or back to the \"device\": what `remat` offloads.");
  row.flops = 0;
  row.samples = "[4, 6] memory='host'; i32[4] memory='device'";
  return row;
}

}  // namespace shard::stdlib
