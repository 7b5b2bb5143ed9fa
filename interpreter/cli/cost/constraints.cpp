// Constraints that would remove or shrink the collectives that the partitioner inserted: where a value was made, or
// used, that met another layout, `(shard VALUE as P(...))` in the script's own text, each predicted like any other
// script before it is shown.
#include <algorithm>

#include "grammar/stable_sort.h"
#include "interpreter/cli/cost/attempts.h"
#include "interpreter/ir/why.h"
#include "interpreter/lang/staging/advice.h"

namespace shard::cli {
namespace {

constexpr std::size_t kGroups = 4, kAttempts = 96;
constexpr double kBetter = 0.99;  // of the time as it is

struct Trials {
  const Basis& b;
  std::vector<Attempt> attempts = {};             // with words: "line 7: (shard x @ w as P(@X, @Y))"
  std::vector<std::vector<std::size_t>> of = {};  // of each, the groups of collectives that it was tried for

  void add(std::size_t group, const ir::Why& why) {
    const runtime::Type wanted = why.wanted;
    at(group, why.value.made, wanted);
    at(group, why.value.made, why.value.type);
    for (const auto& v : why.terms) at(group, v.made, v.type);
    for (const auto& v : why.beside) at(group, v.made, v.type);
    at(group, why.where, wanted);
  }

 private:
  void at(std::size_t group, grammar::Span where, const runtime::Type& type) {
    if (!b.sources.has(where.source) || where.source != b.base.call.where.source) return;
    const std::string code = b.text.substr(where.begin, where.end - where.begin);
    if (code.empty() || code.find('\n') != std::string::npos || code.starts_with("shard ") ||
        code.starts_with("let ") || code.starts_with("return "))
      return;
    for (const runtime::Sharding& layout : lang::candidate_layouts(type, *b.base.call.mesh)) {
      const std::string spec = runtime::to_string(*b.base.call.mesh, layout);
      const std::string pasted = "(shard " + code + " as " + spec + ")";
      std::string words = "line " + std::to_string(source_line(b.sources, where)) + ": " + pasted;
      std::size_t same = 0;
      while (same < attempts.size() && attempts[same].words != words) ++same;
      if (same < attempts.size()) {
        if (of[same].back() != group) of[same].push_back(group);
      } else if (same < kAttempts) {
        attempts.push_back(
            {b.settings,
             std::make_shared<const std::string>(b.text.substr(0, where.begin) + pasted + b.text.substr(where.end)),
             std::move(words)});
        of.push_back({group});
      }
    }
  }
};

}  // namespace

std::optional<std::string> constraints_text(const Basis& b) {
  if (!b.base.call.mesh || !b.is_here()) return "";
  std::vector<cost_model::CommGroup> groups = cost_model::groups_of(b.chip, *b.base.call.plan, b.sources, true);
  stable_sort(groups, [](const auto& x, const auto& y) { return x.seconds > y.seconds; });
  if (groups.size() > kGroups) groups.resize(kGroups);
  Trials trials{b};
  for (std::size_t i = 0; i < groups.size(); ++i)  // each record has its own values; the attempts are shared out evenly
    for (const exec::CommRecord* r : groups[i].records)
      if (trials.attempts.size() < (i + 1) * kAttempts / groups.size()) trials.add(i, *r->why);
  if (!predict_all(b.path, trials.attempts, b.chip)) return std::nullopt;
  const cost_model::Estimate& now = b.base.of;
  std::string out = groups.empty() ? "" : "\n  constraints, predicted like the rest\n";
  for (std::size_t i = 0; i < groups.size(); ++i) {
    const Attempt* best = nullptr;
    std::size_t tried = 0;
    for (std::size_t k = 0; k < trials.attempts.size(); ++k) {
      const Attempt& a = trials.attempts[k];
      const std::vector<std::size_t>& of = trials.of[k];
      const bool tried_here = std::find(of.begin(), of.end(), i) != of.end();
      if (!tried_here || !a.found || a.found->given != given_to(b.base)) continue;
      ++tried;
      if (now.fits && !a.found->fits) continue;
      if (!best || a.found->seconds < best->found->seconds) best = &a;
    }
    const exec::CommRecord& record = *groups[i].records[0];
    out += "    " + cost_model::words_of(record) + " of line " + std::to_string(source_line(b.sources, record.span)) +
           ", " + time_text(groups[i].seconds) + ": ";
    if (best && best->found->seconds < kBetter * now.time.seconds)
      out += time_text(best->found->seconds) + " instead of " + time_text(now.time.seconds) + " with\n      " +
             best->words + "\n";
    else
      out += "none of " + std::to_string(tried) + " that were tried is better by 1 %\n";
  }
  return out;
}

}  // namespace shard::cli
