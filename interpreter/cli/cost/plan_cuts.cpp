#include "interpreter/cli/cost/plan_cuts.h"

#include <algorithm>
#include <cmath>
#include <numeric>

#include "grammar/stable_sort.h"

namespace shard::cli {
namespace {

struct Halves {
  Pairs layout, settings;
};
Halves halves_of(const Candidate& c) {
  Halves out;
  for (const auto& pair : c.set) (pair.first[0] == '@' ? out.layout : out.settings).push_back(pair);
  return out;
}

std::string settings_text(const Pairs& settings) {
  return grammar::separated(settings, " ", [](const auto& p) { return p.first + "=" + p.second; });
}

}  // namespace

Cuts::Cuts(std::vector<Candidate> all) {
  for (Candidate& c : all) {
    const Halves parts = halves_of(c);
    const std::size_t at = settings_.try_emplace(parts.settings, settings_.size()).first->second;
    groups_[parts.layout].left.push_back(at);
    all_.emplace(std::pair(parts.layout, at), std::move(c));
  }
}

std::vector<Candidate> Cuts::take(const Pairs& layout, Group& group, const std::vector<std::size_t>& which) {
  std::vector<Candidate> out;
  for (const std::size_t s : which) {
    out.push_back(std::move(all_.extract({layout, s}).mapped()));
    std::erase(group.left, s);
  }
  return out;
}

// Pairs of candidates on the same mesh with the same layout.
void Cuts::learn(const std::vector<Candidate>& predicted) {
  more_.assign(settings_.size(), std::vector<Rule>(settings_.size()));
  fails_ = more_;
  std::map<Pairs, std::vector<std::pair<std::size_t, const Candidate*>>> known;
  for (const Candidate& c : predicted) {
    const Halves parts = halves_of(c);
    known[parts.layout].emplace_back(settings_.at(parts.settings), &c);
  }
  for (const auto& [layout, group] : known)
    for (const auto& [a, x] : group)
      for (const auto& [b, y] : group) {
        if (a == b) continue;
        if (x->found && y->found) ++more_[a][b].cases, more_[a][b].against += y->found->peak < x->found->peak;
        if (!x->found) ++fails_[a][b].cases, fails_[a][b].against += y->found.has_value();
      }
}

void Cuts::cut(const Pairs& layout, Group& group, const std::vector<const Candidate*>& known) {
  for (const Candidate* other : known) {
    if (other->fits()) continue;
    const Halves parts = halves_of(*other);
    const std::size_t a = settings_.at(parts.settings);
    const auto& rules = other->found ? more_[a] : fails_[a];
    std::vector<std::size_t> gone;
    std::copy_if(group.left.begin(), group.left.end(), std::back_inserter(gone),
                 [&](std::size_t s) { return rules[s].holds(); });
    for (Candidate& c : take(layout, group, gone)) {
      c.lacks = other->found.has_value();
      c.why = c.lacks ? settings_text(parts.settings) + " lacks memory, and takes no more" : other->why;
      cut_.push_back(std::move(c));
    }
  }
}

std::vector<Candidate> Cuts::next(const std::vector<Candidate>& predicted) {
  std::vector<Candidate> out;
  const auto add = [&](const Pairs& layout, Group& group, const std::vector<std::size_t>& which) {
    for (Candidate& c : take(layout, group, which)) out.push_back(std::move(c));
  };
  if (predicted.empty()) {
    const double share = std::min(1.0, static_cast<double>(kFirst) / static_cast<double>(groups_.size()));
    double at = 0;
    for (auto& [layout, group] : groups_) {
      at += (std::sqrt(5.0) - 1) / 2;  // spread so that no column's values come in step with it
      if (at - std::floor(at) < share) add(layout, group, std::vector(group.left));
    }
    if (!out.empty()) return out;
  }
  learn(predicted);
  std::map<Pairs, std::vector<const Candidate*>> known;
  for (const Candidate& c : predicted) known[halves_of(c).layout].push_back(&c);
  std::vector<std::size_t> order(settings_.size());
  std::iota(order.begin(), order.end(), std::size_t{0});
  const auto below = [&](std::size_t a) {
    return std::count_if(more_[a].begin(), more_[a].end(), [](const Rule& r) { return r.holds(); });
  };
  stable_sort(order.begin(), order.end(), [&](std::size_t a, std::size_t b) { return below(a) > below(b); });
  for (auto& [layout, group] : groups_) {
    if (const auto at = known.find(layout); at != known.end()) cut(layout, group, at->second);
    for (const std::size_t s : order)
      if (std::find(group.left.begin(), group.left.end(), s) != group.left.end()) {
        add(layout, group, {s});
        break;
      }
  }
  return out;
}

}  // namespace shard::cli
