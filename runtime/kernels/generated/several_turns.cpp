#include "runtime/kernels/generated/several_turns.h"

#include <algorithm>
#include <bit>

namespace shard::runtime::generated {

const ElementTurns::Several* SeveralTurns::find(const std::vector<Way>& ways) const {
  const std::scoped_lock lock(mutex_);
  const auto [it, fresh] = made_.try_emplace(ways);
  if (fresh) it->second = make(ways);
  return it->second.turns.code ? &it->second.turns : nullptr;
}

SeveralTurns::Made SeveralTurns::make(const std::vector<Way>& ways) const {
  constexpr std::size_t kMostNodes = 256, kMostTurns = 16;  // a longer body has little else to do
  std::size_t turns = kMostTurns;
  while (turns > 1 && turns * formula_.nodes.size() > kMostNodes) turns /= 2;
  Made made;
  if (turns == 1) return made;
  Formula whole;
  std::vector<Operand> operands;
  std::vector<Stored> stored;
  std::vector<std::size_t> place(operands_.size());
  std::vector<NodeId> written(operands_.size(), -1);  // by the turn before
  const auto see = [&](std::size_t operand, std::size_t turn) {
    made.turns.operands.emplace_back(operand, turn);
    operands.push_back(operands_[operand]);
    return operands.size() - 1;
  };
  for (std::size_t i = 0; i < operands_.size(); ++i) place[i] = see(i, 0);
  for (std::size_t t = 0; t < turns; ++t) {
    if (t > 0)
      for (std::size_t i = 0; i < operands_.size(); ++i)
        if (ways[i].moves) place[i] = see(i, t);
    std::vector<NodeId> of;
    const auto from = [&](NodeId id) { return id < 0 ? id : of[static_cast<std::size_t>(id)]; };
    for (const Node& n : formula_.nodes) {
      if (n.op == Op::Load && t > 0 && ways[n.value].from >= 0) {
        of.push_back(written[static_cast<std::size_t>(ways[n.value].from)]);
        continue;
      }
      Node copy = n;
      copy.a = from(n.a), copy.b = from(n.b), copy.c = from(n.c);
      if (n.op == Op::Load) copy.value = place[n.value];
      of.push_back(whole.add(copy));
    }
    for (const Stored& s : stored_) {
      written[s.operand] = from(s.node);
      const bool last = t + 1 == turns;
      if (last && !ways[s.operand].moves) place[s.operand] = see(s.operand, t);
      if (last || ways[s.operand].moves) stored.push_back({written[s.operand], place[s.operand], 0, false, s.first});
    }
  }
  // Turns wait for one another: vectors side by side are worth more than lanes that have nothing to do.
  constexpr std::int64_t kVector = 16, kTogether = 64;
  const bool filled = turn_ == Turn::Ragged && elements_ > kVector;
  const std::int64_t part =
      std::min(kTogether, static_cast<std::int64_t>(std::bit_ceil(static_cast<std::uint64_t>(elements_))));
  made.code = encode(whole, operands, stored, turn_, filled ? (elements_ + part - 1) / part * part : elements_);
  made.turns.code = made.code.run, made.turns.turns = static_cast<std::int64_t>(turns);
  return made;
}

}  // namespace shard::runtime::generated
