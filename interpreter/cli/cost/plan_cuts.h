// What a search need not predict: candidates of which others say that they lack memory, or cannot be.
#pragma once
#include "interpreter/cli/cost/plan_search.h"

namespace shard::cli {

// On each mesh and with each layout, the settings that have taken least memory elsewhere are predicted first. Where
// these lack memory, those that took no less wherever both were predicted lack it too; where they cannot be, so cannot
// those that never could be where they could not. That is a rule where kEvidence cases say so and none says otherwise.
class Cuts {
 public:
  explicit Cuts(std::vector<Candidate> all);
  // What to predict next, by what was found of those before; nothing when all are known.
  std::vector<Candidate> next(const std::vector<Candidate>& predicted);
  std::vector<Candidate>& cut() { return cut_; }  // with why

 private:
  using Known = std::vector<std::pair<std::size_t, const Candidate*>>;  // settings, and what was found with them
  struct Rule {
    int cases = 0, against = 0;
    bool holds() const { return cases >= kEvidence && against == 0; }
  };
  static constexpr int kEvidence = 4;
  static constexpr std::size_t kFirst = 16;  // meshes and layouts that are predicted with all settings

  void take(const Pairs& layout, const std::vector<std::size_t>& which, std::vector<Candidate>& to);
  void learn(const std::map<Pairs, Known>& known);
  void cut(const Pairs& layout, const Known& known);

  std::map<Pairs, std::size_t> settings_;
  std::map<std::pair<Pairs, std::size_t>, Candidate> all_;
  std::map<Pairs, std::vector<std::size_t>> left_;  // of a mesh and layout: settings neither predicted nor cut
  std::vector<std::vector<Rule>> more_, fails_;     // [a][b]: b takes no less memory than a; b cannot be where a cannot
  std::vector<Candidate> cut_;
};

}  // namespace shard::cli
