#include "interpreter/exec/turns.h"

namespace shard::exec {

void* located(const Plan& p, const Loc& loc, const Run& r, void* base) {
  std::int64_t offset = loc.offset;
  if (loc.terms != Loc::kNoTerms)
    for (auto [axis, step] : p.terms[static_cast<std::size_t>(loc.terms)]) offset += step * r.coordinates[axis];
  return moved(base, offset);
}

void Turns::begin(const Run& r) {
  const std::size_t n = plan_.locs.size();
  for (std::size_t i = 0; i < n; ++i) {
    const Loc& loc = plan_.locs[i];
    const auto slot = static_cast<std::size_t>(loc.slot);
    at_[i] = located(plan_, loc, r, base_[slot]), at_[n + i] = located(plan_, loc, r, base_[slots_ + slot]);
    if (step_[slot]) moving_.emplace_back(i, 2 * step_[slot]);
  }
}

void Turns::one(Run& r, std::int64_t turn) {
  void** const at = at_.at(turn % 2 ? plan_.locs.size() : 0);
  for (const Step& s : plan_.steps) {
    r.ask();
    run_step(s, r, at + s.first);
  }
  for (const auto& [i, step] : moving_) at[i] = moved(at[i], step);
}

runtime::ElementTurns* Turns::alone(std::int64_t turn) {
  if (alone_) return &*alone_;
  if (turn < next_look_ || plan_.steps.size() != 1) return nullptr;
  next_look_ = 2 * turn + 64;  // code is made when there has been enough to do
  const Step& s = plan_.steps[0];
  if (const auto* const elements = s.kernel.target<RunElements>()) {
    std::vector<runtime::ElementTurns::Moving> moving;
    for (const auto& [i, bytes] : moving_) moving.emplace_back(i - s.first, bytes);
    alone_ = elements->kernel->turns({at_.at(s.first), at_.at(plan_.locs.size() + s.first)}, moving);
  }
  return alone_ ? &*alone_ : nullptr;
}

void Turns::pass(std::int64_t turns) {
  for (const auto& [i, step] : moving_)
    for (const std::size_t odd : {std::size_t{0}, plan_.locs.size()})
      at_[odd + i] = moved(at_[odd + i], turns / 2 * step);
}

}  // namespace shard::exec
