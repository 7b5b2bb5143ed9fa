// Turns of a loop whose body is one program of few elements, which has machine code.
#include "runtime/kernels/element_program.h"

namespace shard::runtime {

// Of an even turn.
void ElementTurns::begin_several() {
  std::vector<std::int64_t> step(at_[0].size(), 0);
  for (const auto& [i, bytes] : moving_) step[i] = bytes;
  several_moving_.clear();
  for (const auto& [i, turn] : several_->operands) {
    if (step[i]) several_moving_.emplace_back(several_at_.size(), several_->turns / 2 * step[i]);
    several_at_.push_back(at_[static_cast<std::size_t>(turn & 1)][i] + turn / 2 * step[i]);
  }
}

void ElementTurns::run(std::int64_t turn, std::int64_t many) {
  const std::int64_t end = turn + many;
  if (several_ && turn & 1) run(turn++);
  for (; several_ && turn + several_->turns <= end; turn += several_->turns) {
    if (several_at_.empty()) begin_several();
    several_->code(several_at_.data(), elements_);
    for (const auto& [i, bytes] : several_moving_) several_at_[i] += bytes;
    for (const auto& [i, bytes] : moving_)
      for (auto& kind : at_) kind[i] += several_->turns / 2 * bytes;
  }
  for (; turn < end; ++turn) run(turn);
}

}  // namespace shard::runtime
