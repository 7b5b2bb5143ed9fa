// Many runs of a script without data, each with its own settings, mesh or text, predicted on one chip: by as many
// processes as there are processors. What `shard plan` searches with, and what advice is tried with before it is given.
#pragma once
#include "interpreter/cli/cost/prediction.h"

namespace shard::cli {

struct Attempt {
  Settings settings;
  std::shared_ptr<const std::string> text = {};  // the script
  struct Figures {
    double seconds = 0, compute = 0, waits = 0, flops = 0;
    std::int64_t peak = 0;
    std::int64_t given = 0;  // bytes of the arguments, whole: of the same work the same
    bool fits = false;
  };
  std::optional<Figures> found = {};
  std::string why = "it was not predicted";  // it cannot be, does not fit, or waits: a sentence
};

std::int64_t given_to(const Prediction& call);
// Fills in `found` and `why` of all. False where somebody interrupted.
bool predict_all(const std::string& path, std::vector<Attempt>& attempts, const cost_model::Chip& chip);

// A change that makes a call better; of mesh or script, found by trying (recommend.cpp). Nothing where somebody
// interrupted.
struct Advice {
  std::string words;
  double seconds = 0;
  std::int64_t peak = 0;
  bool fits = false;
};
std::optional<std::vector<Advice>> advice(const std::string& path, const std::string& text, const Settings& settings,
                                          const Prediction& base, const cost_model::Chip& chip,
                                          const grammar::SourceMap& sources);
// What would remove or shrink the collectives that take longest (constraints.cpp). Nothing where somebody interrupted.
std::optional<std::string> constraints_text(const std::string& path, const std::string& text, const Settings& settings,
                                            const Prediction& base, const cost_model::Chip& chip,
                                            const grammar::SourceMap& sources);
std::string advice_text(const std::vector<Advice>& given, const Prediction& base);

}  // namespace shard::cli
