#include "runtime/kernels/generated/unrolled.h"

#include <algorithm>

namespace shard::runtime::generated {

Unrolled side_by_side(const Formula& given, std::span<const Operand> operands, std::span<const Stored> stored,
                      int vectors) {
  Unrolled out;
  std::vector<std::vector<NodeId>> of(static_cast<std::size_t>(vectors));
  for (const Node& n : given.nodes)
    for (int v = 0; v < vectors; ++v) {
      auto& mine = of[static_cast<std::size_t>(v)];
      const auto from = [&](NodeId id) { return id < 0 ? id : mine[static_cast<std::size_t>(id)]; };
      Node copy = n;
      copy.a = from(n.a), copy.b = from(n.b), copy.c = from(n.c);
      if (n.op == Op::Load && !operands[n.value].spread) copy.vector = v;
      mine.push_back(out.formula.add(copy));
    }
  for (const Stored& s : stored)
    for (int v = 0; v < vectors; ++v)
      out.stored.push_back(
          {of[static_cast<std::size_t>(v)][static_cast<std::size_t>(s.node)], s.operand, v, s.sum, s.first});
  return out;
}

int held_at_most(const Unrolled& formula, std::span<const Operand> operands) {
  const auto& nodes = formula.formula.nodes;
  const std::size_t n = nodes.size(), never = n + 1;
  std::vector<std::size_t> first(n, never), last(n, 0);
  const auto read = [&](NodeId id, std::size_t at) {
    const auto i = static_cast<std::size_t>(id);
    first[i] = std::min(first[i], at), last[i] = std::max(last[i], at);
  };
  for (std::size_t i = 0; i < n; ++i)
    for (const NodeId from : {nodes[i].a, nodes[i].b, nodes[i].c})
      if (from >= 0) read(from, i);
  for (const Stored& s : formula.stored) read(s.node, n);
  std::vector<int> change(n + 1, 0);
  for (std::size_t i = 0; i < n; ++i) {
    const bool load = nodes[i].op == Op::Load;
    if (first[i] == never || nodes[i].op == Op::Constant || (load && operands[nodes[i].value].spread)) continue;
    ++change[load ? first[i] : i], --change[last[i]];
  }
  int now = 0, most = 0;
  for (const int c : change) most = std::max(most, now += c);
  return most;
}

}  // namespace shard::runtime::generated
