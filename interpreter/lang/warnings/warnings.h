// Warnings: what a program does that is no error and hardly what was meant. The table is the only list of them: what
// finds one names its code, and `shard help CODE`, the options and the comments that silence it, and the tests read
// the rest. Found before a script runs by names/lint.h, while it runs by whoever sees it (Interpreter::warn).
#pragma once
#include <functional>
#include <set>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "grammar/diagnostic.h"

namespace shard::lang {

struct Warning {
  std::string_view code;
  std::string_view what;     // a sentence: what is wrong
  std::string_view found;    // how it is found, and what is left alone
  std::string_view instead;  // what to write
  std::string_view example;  // a script that is warned of it, and of nothing else
};
std::span<const Warning> all_warnings();
const Warning* find_warning(std::string_view code);  // null where there is none
// The page of one, or a line of each where `topic` is "warnings"; empty where it is no such word.
std::string help_of_warning(std::string_view topic);

// Whether a line of a script ends in `# allow: CODE`, or one that names several.
bool allowed_by_comment(std::string_view line, std::string_view code);

class Warnings {  // of one engine: what becomes of them
 public:
  using Told = std::function<void(const grammar::Diagnostic&, const grammar::SourceMap&)>;
  Warnings(Told told, const std::vector<std::string>& allow, bool deny)
      : told_(std::move(told)), allow_(allow.begin(), allow.end()), deny_(deny) {}

  // Whether it is to be told: not allowed by the options or its line, not told of this place before, not of the
  // library's own text.
  bool wanted(const grammar::Diagnostic& d, const grammar::SourceMap& sources);
  // Tells those that are wanted; where warnings are denied, gives them as errors in place of that.
  std::vector<grammar::Diagnostic> add(std::vector<grammar::Diagnostic> found, const grammar::SourceMap& sources);

 private:
  Told told_;
  std::set<std::string, std::less<>> allow_;
  bool deny_;
  std::set<std::pair<std::string, std::pair<std::uint32_t, std::uint32_t>>> seen_;  // code, source and begin
};

}  // namespace shard::lang
