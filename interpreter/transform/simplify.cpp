// One forward walk that finds equal nodes and nodes that change nothing, then dead code. Every node that is merged has
// equal attributes: a `barrier` (recomputation on purpose) therefore keeps its nodes apart from those outside.
#include <algorithm>
#include <unordered_map>

#include "interpreter/ir/builder.h"
#include "interpreter/transform/passes.h"
#include "interpreter/transform/regions.h"

namespace shard::transform {
namespace {

using ir::Graph;
using ir::GraphRef;
using ir::Node;
using ir::Var;
using ir::Vars;

class Simplifier {
 public:
  Simplifier(const ir::OpTable& table, const Graph& g)
      : table_(table), core_(table.core()), g_(g), b_(builder_like(table, g)), now_(b_, g) {}

  Graph run() {
    now_.params();
    for (const Node& n : g_.nodes) node(n);
    return now_.finish();
  }

 private:
  void node(const Node& n) {
    Vars inputs = now_(n.inputs);
    std::size_t hash = ir::mix(std::hash<const void*>{}(n.op), ir::hash(n.attrs));
    for (Var v : inputs) hash = ir::mix(hash, at(v));
    std::vector<GraphRef> regions;
    for (const auto& r : n.regions) {
      regions.push_back(share(simplify(table_, *r)));
      hash = ir::mix(hash, ir::hash(*regions.back()));
    }
    if (Var same = unchanged(n, inputs); same.valid()) {
      now_[n.outputs[0]] = same;
      return;
    }
    bool effects = has_effects(n);
    if (!effects) {
      auto [from, to] = known_.equal_range(hash);
      for (auto it = from; it != to; ++it)
        if (const Node& old = b_.graph().nodes[it->second]; equals(old, n, inputs, regions))
          return now_.become(n.outputs, old.outputs);
    }
    now_.node(n, std::move(inputs), n.attrs, std::move(regions));
    if (n.op == core_.complex_pair) pairs_.emplace(now_[n.outputs[0]].id, b_.size() - 1);
    if (!effects) known_.emplace(hash, b_.size() - 1);
  }

  bool equals(const Node& old, const Node& n, const Vars& inputs, const std::vector<GraphRef>& regions) const {
    if (old.op != n.op || old.inputs != inputs || !(old.attrs == n.attrs) || old.outputs.size() != n.outputs.size() ||
        old.regions.size() != regions.size())
      return false;
    for (std::size_t i = 0; i < n.outputs.size(); ++i)
      if (!(b_.type(old.outputs[i]) == g_.type(n.outputs[i]))) return false;
    for (std::size_t i = 0; i < regions.size(); ++i)
      if (!ir::equal(*old.regions[i], *regions[i])) return false;
    return true;
  }

  // The operand that the node's result is equal to; invalid where there is none.
  Var unchanged(const Node& n, const Vars& inputs) const {
    if (n.outputs.size() != 1 || inputs.empty() || n.attrs.has("barrier")) return {};
    const ir::Type& out = g_.type(n.outputs[0]);
    auto same_type = [&](Var v) { return b_.type(v) == out; };
    if (n.op == core_.convert || n.op == core_.broadcast_to || n.op == core_.reshape || n.op == core_.slice)
      return same_type(inputs[0]) ? inputs[0] : Var{};
    if (n.op == core_.real_part || n.op == core_.imag_part) {
      const auto it = pairs_.find(inputs[0].id);
      if (it == pairs_.end()) return {};
      const Var part = b_.graph().nodes[it->second].inputs[n.op == core_.real_part ? 0 : 1];
      return same_type(part) ? part : Var{};
    }
    if (n.op == core_.pad && same_type(inputs[0])) {
      const ir::Pairs& widths = n.attrs.pairs("widths");
      return std::all_of(widths.begin(), widths.end(), [](auto w) { return w.first == 0 && w.second == 0; }) ? inputs[0]
                                                                                                             : Var{};
    }
    if (n.op == core_.transpose && same_type(inputs[0])) {
      const ir::Ints& perm = n.attrs.ints("perm");
      for (std::size_t i = 0; i < perm.size(); ++i)
        if (perm[i] != static_cast<std::int64_t>(i) - static_cast<std::int64_t>(perm.size())) return {};
      return inputs[0];
    }
    if (n.op == core_.mul && inputs.size() == 2) {
      if (same_type(inputs[0]) && is_one(inputs[1])) return inputs[0];
      if (same_type(inputs[1]) && is_one(inputs[0])) return inputs[1];
    }
    if (n.op == core_.div && inputs.size() == 2 && same_type(inputs[0]) && is_one(inputs[1])) return inputs[0];
    return {};
  }

  // A constant one, or one spread from it.
  bool is_one(Var v) const {
    const auto& nodes = b_.graph().nodes;
    for (int depth = 0; depth < 3; ++depth) {
      const Node* made = nullptr;
      for (std::size_t i = nodes.size(); i-- > 0 && !made;) {
        if (nodes[i].outputs.size() == 1 && nodes[i].outputs[0] == v) made = &nodes[i];
        if (nodes.size() - i > 64) break;  // constants stand near their uses
      }
      if (!made) return false;
      if (made->op == core_.broadcast_to || made->op == core_.reshape) {
        v = made->inputs[0];
        continue;
      }
      if (made->op != core_.constant) return false;
      if (auto* d = made->attrs.get<double>("value")) return *d == 1.0;
      auto* i = made->attrs.get<std::int64_t>("value");
      return i && *i == 1;
    }
    return false;
  }

  const ir::OpTable& table_;
  const ir::CoreOps& core_;
  const Graph& g_;
  ir::Builder b_;
  ir::GraphCopy now_;
  std::unordered_map<std::int32_t, std::size_t> pairs_;      // complex numbers that are made of parts: the node
  std::unordered_multimap<std::size_t, std::size_t> known_;  // hash -> node of the new graph
};

}  // namespace

Graph simplify(const ir::OpTable& table, const Graph& graph) {
  return without_dead_code(table, Simplifier(table, graph).run());
}

}  // namespace shard::transform
