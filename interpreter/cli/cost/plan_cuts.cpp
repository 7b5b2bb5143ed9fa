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
    left_[parts.layout].push_back(at);
    all_.emplace(std::pair(parts.layout, at), std::move(c));
  }
}

void Cuts::take(const Pairs& layout, const std::vector<std::size_t>& which, std::vector<Candidate>& to) {
  for (const std::size_t s : which) {
    to.push_back(std::move(all_.extract({layout, s}).mapped()));
    std::erase(left_.at(layout), s);
  }
}

// Pairs of candidates on the same mesh with the same layout.
void Cuts::learn(const std::map<Pairs, Known>& known) {
  more_.assign(settings_.size(), std::vector<Rule>(settings_.size()));
  fails_ = more_;
  for (const auto& [layout, group] : known)
    for (const auto& [a, x] : group)
      for (const auto& [b, y] : group) {
        if (a == b) continue;
        if (x->found && y->found) ++more_[a][b].cases, more_[a][b].against += y->found->peak < x->found->peak;
        if (!x->found) ++fails_[a][b].cases, fails_[a][b].against += y->found.has_value();
      }
}

void Cuts::cut(const Pairs& layout, const Known& known) {
  for (const auto& [a, other] : known) {
    if (other->fits()) continue;
    const auto& rules = other->found ? more_[a] : fails_[a];
    std::vector<std::size_t> gone;
    std::copy_if(left_.at(layout).begin(), left_.at(layout).end(), std::back_inserter(gone),
                 [&](std::size_t s) { return rules[s].holds(); });
    const std::size_t before = cut_.size();
    take(layout, gone, cut_);
    for (std::size_t i = before; i < cut_.size(); ++i) {
      cut_[i].lacks = other->found.has_value();
      cut_[i].why =
          cut_[i].lacks ? settings_text(halves_of(*other).settings) + " lacks memory, and takes no more" : other->why;
    }
  }
}

std::vector<Candidate> Cuts::next(const std::vector<Candidate>& predicted) {
  std::vector<Candidate> out;
  if (predicted.empty()) {
    const double share = std::min(1.0, static_cast<double>(kFirst) / static_cast<double>(left_.size()));
    double at = 0;
    for (const auto& [layout, left] : left_) {
      at += (std::sqrt(5.0) - 1) / 2;  // spread so that no column's values come in step with it
      if (at - std::floor(at) < share) take(layout, std::vector(left), out);
    }
    if (!out.empty()) return out;
  }
  std::map<Pairs, Known> known;
  for (const Candidate& c : predicted) {
    const Halves parts = halves_of(c);
    known[parts.layout].emplace_back(settings_.at(parts.settings), &c);
  }
  learn(known);
  std::vector<std::size_t> order(settings_.size());
  std::iota(order.begin(), order.end(), std::size_t{0});
  const auto below = [&](std::size_t a) {
    return std::count_if(more_[a].begin(), more_[a].end(), [](const Rule& r) { return r.holds(); });
  };
  stable_sort(order.begin(), order.end(), [&](std::size_t a, std::size_t b) { return below(a) > below(b); });
  for (const auto& [layout, left] : left_) {
    if (const auto at = known.find(layout); at != known.end()) cut(layout, at->second);
    const auto least = std::find_if(order.begin(), order.end(), [&](std::size_t s) {
      return std::find(left.begin(), left.end(), s) != left.end();
    });
    if (least != order.end()) take(layout, {*least}, out);
  }
  return out;
}

}  // namespace shard::cli
