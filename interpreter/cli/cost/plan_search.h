// What `shard plan` searches: candidates, each a value of every column (a mesh axis's size, a setting, the axis of a
// logical name), predicted; and what was left out.
#pragma once
#include "interpreter/cli/cost/attempts.h"

namespace shard::cli {

using Pairs = std::vector<std::pair<std::string, std::string>>;

struct Candidate {
  Pairs set;  // settings: a value of each column, in their order
  std::optional<Attempt::Figures> found = {};
  std::string why = {};   // it cannot be, or is no better
  bool lacks = false;     // memory, as others say; it was not predicted (plan_cuts.h)
  std::size_t place = 0;  // in which it was listed: of those that are alike the first stays the first
  // What is to be done, flops on a device: of all candidates with the same settings that are not layouts the least, as
  // a layout may do a part of it on several devices.
  double work = 1;
  bool fits() const { return found && found->fits; }
  double price() const { return found->seconds / work; }  // settings such as the batch change how much a step does
};

struct Search {
  std::string path;
  std::shared_ptr<const std::string> text;
  std::vector<std::string> columns;  // what is chosen: "@data", "micro", "@embed"
  std::vector<Pairs> plain;          // meshes and settings, all of them
  Pairs rules;                       // with --rules: logical names and the axes that are written
  std::vector<std::string> axes;     // that they may lie on
  std::size_t most = 1000;           // candidates that are predicted, with --rules
  double left_out = 0, same = 0;     // candidates that were not, and that are as another
  std::size_t cut = 0;               // of `candidates`, not predicted, as others say what becomes of them
  std::vector<Candidate> candidates = {};
};
constexpr std::size_t kClimbed = 4;  // meshes and settings from which names are moved

// What was asked for; a sentence on standard error, and false, where it makes no sense.
bool read_search(const Arguments& a, Search& s);
// Predicts the candidates, the best first. False where somebody interrupted.
bool search(Search& s, const Arguments& a, const cost_model::Chip& chip);
// What a candidate is: the settings asked for, with its own in their place.
Attempt attempt_of(const Search& s, const Arguments& a, const Candidate& c);

}  // namespace shard::cli
