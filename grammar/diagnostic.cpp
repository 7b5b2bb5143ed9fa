// "did you mean": the edit distance between words, where swapping two neighbours counts as one edit.
#include "grammar/diagnostic.h"

#include <algorithm>
#include <cctype>

namespace shard::grammar {
namespace {

// Optimal string alignment distance; case counts half as little as a wrong letter, so distances are in half edits.
std::size_t distance(std::string_view a, std::string_view b) {
  std::vector<std::size_t> before(b.size() + 1), last(b.size() + 1), row(b.size() + 1);
  for (std::size_t j = 0; j <= b.size(); ++j) last[j] = 2 * j;
  auto lower = [](char c) { return std::tolower(static_cast<unsigned char>(c)); };
  for (std::size_t i = 1; i <= a.size(); ++i) {
    row[0] = 2 * i;
    for (std::size_t j = 1; j <= b.size(); ++j) {
      const std::size_t change = a[i - 1] == b[j - 1] ? 0 : lower(a[i - 1]) == lower(b[j - 1]) ? 1 : 2;
      row[j] = std::min({last[j] + 2, row[j - 1] + 2, last[j - 1] + change});
      if (i > 1 && j > 1 && a[i - 1] == b[j - 2] && a[i - 2] == b[j - 1]) row[j] = std::min(row[j], before[j - 2] + 2);
    }
    before.swap(last);
    last.swap(row);
  }
  return last[b.size()];
}

}  // namespace

std::optional<std::string> near_miss(std::string_view name, const std::vector<std::string>& candidates) {
  if (name.empty() || name.size() > 64) return std::nullopt;
  // One edit in up to four letters, two in up to eight, three beyond; a name of one letter only ever differs in case.
  const std::size_t allowed = name.size() == 1 ? 1 : name.size() <= 4 ? 2 : name.size() <= 8 ? 4 : 6;
  std::optional<std::string> best;
  std::size_t least = allowed + 1;
  for (const std::string& c : candidates) {
    const std::size_t shorter = std::min(c.size(), name.size()), longer = std::max(c.size(), name.size());
    if (c == name || 2 * (longer - shorter) >= least) continue;
    const std::size_t d = distance(name, c);
    if (d < least && d < 2 * longer) {  // no letter in common is no near miss
      least = d;
      best = c;
    }
  }
  return best;
}

}  // namespace shard::grammar
