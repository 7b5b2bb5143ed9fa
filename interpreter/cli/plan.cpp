// shard plan: the same script predicted for every way to divide the devices, every value of some settings, and with
// --rules every axis that a logical name may lie on. Candidates are partitioned and played like any other script; those
// that fail or do not fit stay in the table with the reason. All that is chosen is a setting, `--set @data=32`,
// `--set @embed=@data`, so that the command that runs a candidate is its settings.
#include <unistd.h>

#include <algorithm>
#include <cctype>
#include <cmath>
#include <cstdio>

#include "interpreter/cli/cost/plan_search.h"
#include "interpreter/cli/terminal.h"
#include "interpreter/lang/report/report.h"

namespace shard::cli {
namespace {

std::string command_of(const Search& s, const Arguments& a, const Candidate& c) {
  std::string out = "shard run " + shell_word(s.path) + " --devices " + std::to_string(a.settings.devices);
  for (const auto& [name, value] : attempt_of(s, a, c).settings.set) out += " --set " + shell_word(name + "=" + value);
  return out;
}

const std::string& value_in(const Candidate& c, const std::string& column) {
  static const std::string as_written = "-";  // in the script
  for (const auto& [name, value] : c.set)
    if (name == column) return value;
  return as_written;
}

std::string count_text(double n) { return n < 1e18 ? lang::in_thousands(std::llround(n)) : "very many"; }

// How many there were, and which were not predicted.
std::string summary(const Search& s) {
  const auto fit = std::count_if(s.candidates.begin(), s.candidates.end(), [](const Candidate& c) { return c.fits(); });
  const auto fail =
      std::count_if(s.candidates.begin(), s.candidates.end(), [](const Candidate& c) { return !c.found && !c.lacks; });
  std::string out = std::to_string(s.candidates.size()) + " candidates: " + std::to_string(fit) + " fit, " +
                    std::to_string(s.candidates.size() - static_cast<std::size_t>(fit + fail)) + " lack memory, " +
                    std::to_string(fail) + " cannot be\n";
  if (s.cut > 0)
    out += count_text(static_cast<double>(s.cut)) +
           " of these were not predicted: their layout lacked memory, or could not be, with settings that\n"
           "  never took more\n";
  if (s.same > 0) out += count_text(s.same) + " more are as another: a name on an axis of size 1 is on none\n";
  if (s.left_out > 0)
    out += count_text(s.left_out) + " left out (--most " + std::to_string(s.most) +
           "): every mesh and setting was tried with the rules as written, and\n  from the best " +
           std::to_string(kClimbed) + " one name at a time was moved\n";
  return out;
}

std::string table(const Search& s, const Arguments& a, const cost_model::Chip& chip, std::size_t top) {
  std::vector<std::vector<std::string>> rows{{"#"}};
  for (const std::string& column : s.columns) rows[0].push_back(column);
  for (const char* name : {"step", "TF/s", "memory", ""}) rows[0].emplace_back(name);
  for (std::size_t i = 0; i < std::min(top, s.candidates.size()); ++i) {
    const Candidate& c = s.candidates[i];
    std::vector<std::string> row{std::to_string(i + 1)};
    for (const std::string& column : s.columns) row.push_back(value_in(c, column));
    char rate[32] = "";
    if (c.found) std::snprintf(rate, sizeof rate, c.price() > 1e-15 ? "%.3g" : "%.0f", 1e-12 / c.price());
    row.push_back(c.found ? time_text(c.found->seconds) : "-");
    row.push_back(c.found && c.found->flops > 0 ? rate : "-");
    row.push_back(c.found ? bytes_text(static_cast<double>(c.found->peak)) : "-");
    row.push_back(c.why);
    rows.push_back(std::move(row));
  }
  std::vector<std::size_t> widths(rows[0].size(), 0);
  for (const auto& row : rows)
    for (std::size_t k = 0; k + 1 < row.size(); ++k) widths[k] = std::max(widths[k], row[k].size());
  std::string out;
  for (const auto& row : rows) {
    std::string line;
    for (std::size_t k = 0; k + 1 < row.size(); ++k) line += std::string(widths[k] - row[k].size() + 2, ' ') + row[k];
    const std::size_t width = std::max<std::size_t>(80, line.size() + 24);  // many columns: reasons keep their room
    line += "  " + row.back();
    if (is_terminal(STDOUT_FILENO) && line.size() > width) line = line.substr(0, width - 3) + "...";
    out += line.substr(0, line.find_last_not_of(' ') + 1) + "\n";
  }
  out += "\n" + summary(s);
  if (const Candidate& first = s.candidates[0]; first.found) {
    const auto [low, high] = chip.range(first.found->seconds);
    out += "1 takes between " + time_text(low) + " and " + time_text(high) + ": " + chip.basis + "\n";
  }
  if (s.candidates[0].fits()) out += "best: " + command_of(s, a, s.candidates[0]) + "\n";
  return out;
}

std::string json(const Search& s, const Arguments& a, const cost_model::Chip& chip, std::size_t top) {
  std::string out = "[";
  for (std::size_t i = 0; i < std::min(top, s.candidates.size()); ++i) {
    const Candidate& c = s.candidates[i];
    std::string axes, set, rules;  // of a column: a mesh axis, a logical name, a variable of the script
    const auto field = [](std::string& to, const std::string& name, const std::string& value) {
      to += (to.empty() ? "" : ", ") + lang::json_string(name) + ": " + value;
    };
    for (const auto& [name, value] : c.set)
      if (name[0] != '@')
        field(set, name, lang::json_string(value));
      else if (std::isdigit(static_cast<unsigned char>(value[0])))
        field(axes, name.substr(1), value);
      else
        field(rules, name.substr(1), lang::json_string(value));
    out += std::string(i ? "," : "") + "\n {\"axes\": {" + axes + "}, \"set\": {" + set + "}, \"rules\": {" + rules +
           "}, ";
    if (c.found)
      out += "\"step_seconds\": " + number(c.found->seconds) + range_json(chip, c.found->seconds) +
             ", \"exposed_communication_seconds\": " + number(c.found->waits) +
             ", \"peak_bytes_per_device\": " + std::to_string(c.found->peak) +
             ", \"model_flops_per_device\": " + number(c.found->flops) + ", ";
    out += std::string("\"fits\": ") + (c.fits() ? "true" : "false") + ", \"why\": " + lang::json_string(c.why) +
           ", \"command\": " + lang::json_string(command_of(s, a, c)) + "}";
  }
  return out + "\n]\n";
}

int plan(const Arguments& a) {
  Search s;
  if (!read_search(a, s)) return 2;
  const std::string top = a.value("--top");
  const auto shown = number_of(top.empty() ? (a.has("--json") ? "20000" : "10") : top, 1, 20000);
  if (!shown) return misused("--top takes a number from 1 on, not '" + top + "'");
  const std::vector<cost_model::Chip> chips = read_chips(a.value("--chip"), a.settings.devices, a.value("--stack"));
  if (chips.empty()) return 1;
  if (!search(s, a, chips[0])) return 130;
  write_out(a.has("--json") ? json(s, a, chips[0], static_cast<std::size_t>(*shown))
                            : table(s, a, chips[0], static_cast<std::size_t>(*shown)));
  if (a.has("--json")) std::fputs(summary(s).c_str(), stderr);
  flush_out();
  return s.candidates[0].found ? 0 : 1;
}

}  // namespace

Command plan_command() {
  return {
      "plan",
      "Predict a script for every way to divide the devices and every value of settings; the best first",
      {{"file", "The script", Option::Word, true},
       {"--chip", "Its name in the module `chips`, or a script that ends with a record", Option::Value, true},
       {"--stack", "The software that runs there, as for estimate: xla (without this), nemo-2025, ...", Option::Value},
       {"--axes", "Mesh axes whose sizes are open: data,model", Option::Value},
       {"--over", "A setting with the values to try: micro=1,2,4; may stand several times", Option::Values},
       {"--rules", "Which axis each name of the script's `rules` lies on is open"},
       {"--most", "With --rules: how many candidates are predicted at most: 1000", Option::Value},
       {"--top", "How many lines: 10", Option::Value},
       {"--json", "A JSON array of all candidates, the best first"}},
      true,
      plan};
}

}  // namespace shard::cli
