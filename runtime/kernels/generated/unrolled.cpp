#include "runtime/kernels/generated/unrolled.h"

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
      out.stored.push_back({of[static_cast<std::size_t>(v)][static_cast<std::size_t>(s.node)], s.operand, v, s.sum});
  return out;
}

}  // namespace shard::runtime::generated
