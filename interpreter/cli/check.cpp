// shard check: what is wrong with a script, without running it (checker.h): text, JSON, types of variables, fixes.
#include <algorithm>
#include <cstdio>
#include <map>

#include "grammar/stable_sort.h"
#include "interpreter/cli/checker.h"
#include "interpreter/cli/command.h"
#include "interpreter/cost_model/quantities.h"
#include "interpreter/lang/report/report.h"

namespace shard::cli {
namespace {

using grammar::Diagnostic;
using grammar::SourceMap;

// Each line that declares something, and beside it what.
std::string types_text(const std::vector<lang::Check::Let>& lets, const SourceMap& sources, bool several_files) {
  struct Line {
    std::string text;
    std::vector<const lang::Check::Let*> lets;
  };
  std::map<std::pair<std::uint32_t, int>, Line> lines;
  std::size_t widest = 0;
  for (const lang::Check::Let& l : lets) {
    const grammar::Source& source = sources.at(l.span.source);
    const int number = sources.line_of(l.span);
    Line& line = lines[{l.span.source, number}];
    line.text = std::string(source.line(number));
    line.lets.push_back(&l);
    if (line.text.size() <= 80) widest = std::max(widest, line.text.size());
  }
  std::string out;
  for (auto& [place, line] : lines) {
    stable_sort(line.lets, [](auto* a, auto* b) { return a->span.begin < b->span.begin; });
    std::string number = std::to_string(place.second);
    if (several_files) number = sources.at(place.first).name() + ":" + number;
    out += cost_model::right(number, 4) + " | " + cost_model::left(line.text, widest) + "   # ";
    out += grammar::separated(line.lets, ", ", [](auto* l) { return l->name + ": " + l->type(); }) + "\n";
  }
  return out;
}

std::string types_json(const std::vector<lang::Check::Let>& lets, const SourceMap& sources) {
  std::string out = "[";
  for (const lang::Check::Let& l : lets) {
    out += (out.size() > 1 ? ",\n " : "\n ");
    out += "{\"file\": " + lang::json_string(sources.at(l.span.source).name());
    out += ", \"line\": " + std::to_string(sources.line_of(l.span)) + ", \"name\": " + lang::json_string(l.name) +
           ", \"type\": " + lang::json_string(l.type()) + "}";
  }
  return out + (lets.empty() ? "]" : "\n]");
}

// The safe fixes of one script, until a check finds no more of them, are written into its file. False where it cannot
// be written.
bool fix(const Settings& settings, bool names_only, const std::string& path, std::string& text) {
  constexpr int kRounds = 10;  // a fix may uncover another error
  std::vector<std::string> lines;
  for (int round = 0; round < kRounds; ++round) {
    Checker checker(settings, names_only);
    checker.check(path, text);
    const auto in_file = [&](const grammar::Fix& f) {
      return f.safe && checker.sources.has(f.span.source) && checker.sources.at(f.span.source).name() == path;
    };
    const grammar::Fix* first = nullptr;
    for (const Diagnostic& d : checker.found)
      for (const grammar::Fix& f : d.fixes)
        if (!first && in_file(f)) first = &f;
    if (!first) break;
    Fixed fixed = with_safe_fixes(checker.sources, first->span.source, checker.found);
    text = std::move(fixed.text);
    lines.insert(lines.end(), fixed.lines.begin(), fixed.lines.end());
  }
  if (lines.empty()) return true;
  if (!write_file(path, text)) return false;
  for (const std::string& line : lines) std::fprintf(stderr, "%s\n", line.c_str());
  return true;
}

int check(const Arguments& a) {
  const bool json = a.has("--json"), types = a.has("--types");
  Checker checker(a.settings, a.has("--names"));
  int status = 0;
  if (a.has("--fix") && std::count(a.words.begin(), a.words.end(), "-"))
    return misused("--fix writes into files, and standard input is not a file");
  const std::vector<std::string> paths = scripts_of(a.words);
  for (const std::string& path : paths) {
    std::string text;
    if (!read_script(path, text) || (a.has("--fix") && !fix(a.settings, a.has("--names"), path, text)))
      status = 1;
    else
      checker.check(path, text);
  }
  const auto by_place = [](const Diagnostic& x, const Diagnostic& y) {
    return std::pair(x.span.source, x.span.begin) < std::pair(y.span.source, y.span.begin);
  };
  stable_sort(checker.found, by_place);
  if (json) {
    const std::string told = lang::report_json(checker.found, checker.sources);
    const std::string lets = types_json(checker.lets, checker.sources);
    print_out(types ? "{\"errors\": " + told + ", \"types\": " + lets + "}\n" : told);
  } else {
    if (types) print_out(types_text(checker.lets, checker.sources, paths.size() > 1));
    for (const Diagnostic& d : checker.found) tell(d, checker.sources);
  }
  for (const Diagnostic& d : checker.notes) {
    std::string place;
    if (checker.sources.has(d.span.source))
      place = checker.sources.at(d.span.source).name() + ":" + std::to_string(checker.sources.line_of(d.span)) + ": ";
    std::fprintf(stderr, "%s%s; what comes from it is not checked\n", place.c_str(), d.message.c_str());
  }
  const auto is_error = [](const Diagnostic& d) { return !d.warning; };
  return std::any_of(checker.found.begin(), checker.found.end(), is_error) ? 1 : status;
}

}  // namespace

Command check_command() {
  return {"check",
          "Look for errors and warnings without running: syntax, names, types, shapes and layouts",
          {{"paths", "Scripts, folders of them, or - for standard input", Option::Words, true},
           {"--json", "Errors and warnings as a JSON array on standard output"},
           {"--fix", "First write the fixes that are certainly what was meant into the files"},
           {"--names", "Syntax and names only"},
           {"--types", "Print the type of each `let` next to its line"}},
          true,
          check};
}

}  // namespace shard::cli
