// shard plan: the same script foretold for every way to divide the devices and every value of some settings. Candidates
// are partitioned and played like any other script; those that fail or do not fit stay in the table with the reason.
#include <algorithm>
#include <cstdio>

#include "interpreter/lang/report/report.h"
#include "interpreter/repl/attempts.h"

namespace shard::repl {
namespace {

constexpr std::size_t kMost = 20000;  // candidates of one search

using Pairs = std::vector<std::pair<std::string, std::string>>;

struct Candidate {
  std::vector<std::int64_t> sizes;  // of the axes
  Pairs set;
  std::optional<Attempt::Figures> found = {};
  std::string why = {};  // it cannot be, or is no better
  bool fits() const { return found && found->fits; }
  // Seconds for a piece of work: settings such as the batch change how much a step does.
  double price() const { return found->seconds / (found->flops > 0 ? found->flops : 1); }
};

// All ways to write n as an ordered product of `axes` numbers.
void factorise(std::int64_t n, std::size_t axes, std::vector<std::int64_t>& now,
               std::vector<std::vector<std::int64_t>>& out) {
  if (axes == 1) {
    out.push_back(now);
    out.back().push_back(n);
    return;
  }
  for (std::int64_t d = 1; d <= n; ++d) {
    if (n % d) continue;
    now.push_back(d);
    factorise(n / d, axes - 1, now, out);
    now.pop_back();
  }
}

struct Search {
  std::string path;
  std::shared_ptr<const std::string> text;
  std::vector<std::string> axes;
  std::vector<std::pair<std::string, std::vector<std::string>>> over;
  std::vector<Candidate> candidates;
};

// What was asked for; a sentence on standard error, and false, where it makes no sense.
bool read_search(const Arguments& a, Search& s) {
  const auto refuse = [](const std::string& why) {
    std::fprintf(stderr, "error: %s\n", why.c_str());
    return false;
  };
  s.path = a.words[0];
  s.axes = parts_of(a.value("--axes"), ',');
  for (const std::string& one : parts_of(a.value("--over"), '\n')) {
    const std::size_t at = one.find('=');
    if (at == 0 || at == std::string::npos || at + 1 == one.size())
      return refuse("--over takes name=value,value,..., not '" + one + "'");
    s.over.emplace_back(one.substr(0, at), parts_of(one.substr(at + 1), ','));
  }
  if (s.axes.empty() && s.over.empty())
    return refuse(
        "nothing to plan: say which axes are open, `--axes data,model`, or which settings, `--over micro=1,2,4`");
  std::vector<std::vector<std::int64_t>> sizes{{}};
  if (!s.axes.empty()) {
    sizes.clear();
    std::vector<std::int64_t> now;
    factorise(a.settings.devices, s.axes.size(), now, sizes);
  }
  std::vector<Pairs> sets{{}};
  for (const auto& [name, values] : s.over) {
    std::vector<Pairs> longer;
    for (const Pairs& p : sets)
      for (const std::string& v : values) {
        longer.push_back(p);
        longer.back().emplace_back(name, v);
      }
    sets = std::move(longer);
    if (sets.size() * sizes.size() > kMost) return refuse("more than " + std::to_string(kMost) + " candidates");
  }
  for (const auto& z : sizes)
    for (const Pairs& p : sets) s.candidates.push_back({z, p});
  std::string text;
  if (!read_script(s.path, text)) return false;
  s.text = std::make_shared<const std::string>(std::move(text));
  return true;
}

// What a candidate is for the search: the settings asked for, with its own in their place.
Attempt attempt_of(const Search& s, const Arguments& a, const Candidate& c) {
  Attempt out{a.settings};
  for (const auto& [name, value] : c.set) {
    std::erase_if(out.settings.set, [&](const auto& old) { return old.first == name; });
    out.settings.set.emplace_back(name, value);
  }
  for (std::size_t i = 0; i < s.axes.size(); ++i) out.axes.emplace_back(s.axes[i], c.sizes[i]);
  out.text = s.text;
  return out;
}

bool better(const Candidate& a, const Candidate& b) {
  const auto rank = [](const Candidate& c) { return !c.found ? 2 : c.fits() ? 0 : 1; };
  if (rank(a) != rank(b)) return rank(a) < rank(b);
  return a.found && a.price() < b.price();
}

std::string command_of(const Search& s, const Arguments& a, const Candidate& c) {
  std::string out = "shard run " + s.path + " --devices " + std::to_string(a.settings.devices);
  for (const auto& [name, value] : a.settings.set)
    if (std::none_of(c.set.begin(), c.set.end(), [&](const auto& own) { return own.first == name; }))
      out += " --set " + name + "=" + value;
  for (const auto& [name, value] : c.set) out += " --set " + name + "=" + value;
  return out;
}

std::string sizes_of(const Search& s, const Candidate& c) {
  std::string out;
  for (std::size_t i = 0; i < s.axes.size(); ++i)
    out += (i ? ", @" : "@") + s.axes[i] + ": " + std::to_string(c.sizes[i]);
  return out;
}

std::string table(const Search& s, const Arguments& a, std::size_t top) {
  std::vector<std::vector<std::string>> rows{{"#"}};
  for (const std::string& axis : s.axes) rows[0].push_back("@" + axis);
  for (const auto& [name, values] : s.over) rows[0].push_back(name);
  for (const char* name : {"step", "TF/s", "memory", ""}) rows[0].emplace_back(name);
  for (std::size_t i = 0; i < std::min(top, s.candidates.size()); ++i) {
    const Candidate& c = s.candidates[i];
    std::vector<std::string> row{std::to_string(i + 1)};
    for (const std::int64_t n : c.sizes) row.push_back(std::to_string(n));
    for (const auto& [name, value] : c.set) row.push_back(value);
    char rate[32] = "";
    if (c.found) std::snprintf(rate, sizeof rate, "%.3g", 1e-12 / c.price());
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
    line += "  " + row.back();
    if (line.size() > 80) line = line.substr(0, 77) + "...";
    out += line.substr(0, line.find_last_not_of(' ') + 1) + "\n";
  }
  const auto fit = std::count_if(s.candidates.begin(), s.candidates.end(), [](const Candidate& c) { return c.fits(); });
  const auto fail =
      std::count_if(s.candidates.begin(), s.candidates.end(), [](const Candidate& c) { return !c.found; });
  out += "\n" + std::to_string(s.candidates.size()) + " candidates: " + std::to_string(fit) + " fit, " +
         std::to_string(s.candidates.size() - static_cast<std::size_t>(fit + fail)) + " lack memory, " +
         std::to_string(fail) + " cannot be\n";
  if (fit > 0) {
    out += "best: " + command_of(s, a, s.candidates[0]) + "\n";
    if (!s.axes.empty()) out += "      with (" + sizes_of(s, s.candidates[0]) + ")\n";
  }
  return out;
}

std::string json(const Search& s, const Arguments& a, std::size_t top) {
  std::string out = "[";
  for (std::size_t i = 0; i < std::min(top, s.candidates.size()); ++i) {
    const Candidate& c = s.candidates[i];
    out += i ? ",\n {" : "\n {";
    out += "\"axes\": {";
    for (std::size_t k = 0; k < s.axes.size(); ++k)
      out += (k ? ", " : "") + lang::json_string(s.axes[k]) + ": " + std::to_string(c.sizes[k]);
    out += "}, \"set\": {";
    for (std::size_t k = 0; k < c.set.size(); ++k)
      out += (k ? ", " : "") + lang::json_string(c.set[k].first) + ": " + lang::json_string(c.set[k].second);
    out += "}, ";
    if (c.found)
      out += "\"step_seconds\": " + number(c.found->seconds) +
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
  if (!shown) {
    std::fprintf(stderr, "error: --top takes a number from 1 on, not '%s'\n", top.c_str());
    return 2;
  }
  const std::vector<foresight::Chip> chips = read_chips(a.value("--chip"));
  if (chips.empty()) return 1;
  std::vector<Attempt> attempts;
  for (const Candidate& c : s.candidates) attempts.push_back(attempt_of(s, a, c));
  if (!foretell_all(s.path, attempts, chips[0])) return 130;
  for (std::size_t i = 0; i < attempts.size(); ++i) {
    s.candidates[i].found = attempts[i].found;
    s.candidates[i].why = std::move(attempts[i].why);
  }
  std::stable_sort(s.candidates.begin(), s.candidates.end(), better);
  write_out(a.has("--json") ? json(s, a, static_cast<std::size_t>(*shown))
                            : table(s, a, static_cast<std::size_t>(*shown)));
  flush_out();
  return s.candidates[0].found ? 0 : 1;
}

}  // namespace

Command plan_command() {
  return {"plan",
          "Foretell a script for every way to divide the devices and every value of settings; the best first",
          {{"file", "The script", Option::Word, true},
           {"--chip", "Its name in the module `chips`, or a script that ends with a record", Option::Value, true},
           {"--axes", "Mesh axes whose sizes are open: data,model", Option::Value},
           {"--over", "A setting with the values to try: micro=1,2,4; may stand several times", Option::Values},
           {"--top", "How many lines: 10", Option::Value},
           {"--json", "A JSON array of all candidates, the best first"}},
          true,
          plan};
}

}  // namespace shard::repl
