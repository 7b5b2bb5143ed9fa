// `offload` is a copy between a device's memory and the host's (interpreter/ir/host_copy.h): the value itself. A policy
// of `remat` puts one behind what makes a value and one before what reads it first in the backward part, so that
// between them, and nowhere else, the device does without it.
#include "stdlib/ops/control/control.h"

#include <utility>

#include "stdlib/ops/elementwise.h"

namespace shard::stdlib {
namespace {

// A graph that is copied node by node, with more nodes between.
class Copy {
 public:
  Copy(const ir::OpTable& table, const Graph& g)
      : g_(g), op_(table.at("offload")), b_(transform::builder_like(table, g)), now_(g.types.size()) {
    for (Var p : g.params) now_[at(p)] = b_.param(g.type(p));
  }
  Var now(Var v) const { return now_[at(v)]; }
  void becomes(Var v, Var w) { now_[at(v)] = w; }
  Var moved(Var v, const char* memory) {
    return b_.append(op_, {now_[at(v)]}, {{"memory", std::string(memory)}}, {}, {g_.type(v)})[0];
  }
  void add(const ir::Node& n) {
    ir::SpanScope scope(b_, n.span);
    Vars inputs;
    std::vector<Type> types;
    for (Var v : n.inputs) inputs.push_back(now_[at(v)]);
    for (Var v : n.outputs) types.push_back(g_.type(v));
    const Vars made = b_.append(*n.op, std::move(inputs), n.attrs, n.regions, std::move(types));
    for (std::size_t i = 0; i < made.size(); ++i) now_[at(n.outputs[i])] = made[i];
  }
  ir::SpanScope at_span(grammar::Span s) { return {b_, s}; }
  Graph finish(Vars results) { return b_.finish(std::move(results)); }

 private:
  const Graph& g_;
  const OpDef& op_;
  Builder b_;
  Vars now_;
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
    copy.add(n);
    const auto scope = copy.at_span(n.span);
    for (Var v : n.outputs) leave(v);
  }
  for (std::size_t r = 0; r < out.size(); ++r)
    if (!out[r].valid()) out[r] = copy.now(forward.results[r]);
  return copy.finish(std::move(out));
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
    if (std::exchange(away[at(v)], 0)) copy.becomes(v, copy.moved(v, "device"));
    const ir::Node* n = maker[at(v)];
    if (!n) return;
    for (Var w : n->outputs) maker[at(w)] = nullptr;
    const auto scope = copy.at_span(n->span);
    for (Var w : n->inputs) self(self, w);
    copy.add(*n);
  };
  for (const ir::Node& n : backward.nodes)
    if (!n.outputs.empty() && late[at(n.outputs[0])]) make(make, n.outputs[0]);
  Vars results;
  for (Var v : backward.results) {
    make(make, v);
    results.push_back(copy.now(v));
  }
  return copy.finish(std::move(results));
}

OpDef offload_row() {
  OpDef row = internal_row(
      "offload(x, memory: str)",
      "The value itself, copied to the memory \"host\", or back to the \"device\": what `remat` offloads.");
  row.factors = broadcast_factors;
  row.derivative = ir::Custom{[](Builder&, const ir::NodeView&, std::span<const Var> t) -> Vars { return {t[0]}; },
                              [](Builder&, const ir::NodeView&, std::span<const Var> ct) -> Vars { return {ct[0]}; }};
  row.kernel = runtime::Code::Identity;
  row.flops = 0;
  row.samples = "[4, 6] memory='host'; i32[4] memory='device'";
  return row;
}

}  // namespace shard::stdlib
