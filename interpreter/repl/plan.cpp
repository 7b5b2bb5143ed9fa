// shard plan: the same script foretold for every way to divide the devices and every value of some settings. Candidates
// are partitioned and played like any other script; those that fail or do not fit stay in the table with the reason.
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <thread>

#include "interpreter/lang/report/report.h"
#include "interpreter/repl/foretold.h"
#include "interpreter/repl/signals.h"

namespace shard::repl {
namespace {

constexpr std::size_t kMost = 20000;  // candidates of one search

using Pairs = std::vector<std::pair<std::string, std::string>>;

struct Figures {
  double seconds = 0, waits = 0, flops = 0;
  std::int64_t peak = 0;
  bool fits = false;
};

struct Candidate {
  std::vector<std::int64_t> sizes;  // of the axes
  Pairs set;
  std::optional<Figures> found = {};
  std::string why = "it was not foretold";  // it cannot be, or is no better
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
  std::string path, text;
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
  return read_script(s.path, s.text);
}

// One candidate, foretold; the script's error is why it cannot be.
void foretell(const Search& s, const Arguments& a, const foresight::Chip& chip, Candidate& c) {
  Settings settings = a.settings;
  for (const auto& [name, value] : c.set) {
    std::erase_if(settings.set, [&](const auto& old) { return old.first == name; });
    settings.set.emplace_back(name, value);
  }
  std::vector<std::pair<std::string, std::int64_t>> axes;
  for (std::size_t i = 0; i < s.axes.size(); ++i) axes.emplace_back(s.axes[i], c.sizes[i]);
  Foresight script(settings, true, "abstract", std::move(axes));
  c.why.clear();
  const int status = script.run(s.path, s.text, [&](const grammar::Diagnostic& d, const grammar::SourceMap& sources) {
    if (c.why.empty()) c.why = "line " + std::to_string(source_line(sources, d.span)) + ": " + d.message;
  });
  if (status) return;
  const foresight::Estimate& e = script.on(chip).of;
  c.found = {e.time.seconds, e.time.waits(), e.time.flops, e.memory.peak, e.fits};
  if (!e.fits) {
    c.why = "lacks " + bytes_text(static_cast<double>(e.memory.peak) - chip.memory);
    return;
  }
  const std::pair<const grammar::Span, foresight::LineCost>* worst = nullptr;
  for (const auto& line : e.time.lines)
    if (!worst || line.second.exposed > worst->second.exposed) worst = &line;
  if (worst && worst->second.exposed > 0.01 * e.time.seconds)
    c.why = "waits " + percent_text(e.time.waits(), e.time.seconds) + ", most at line " +
            std::to_string(source_line(script.sources(), worst->first));
}

// What a worker says of a candidate: a line, numbers to the last bit.
void write_found(std::FILE* to, std::size_t i, const Candidate& c) {
  const Figures f = c.found.value_or(Figures{});
  std::string why = c.why;
  std::replace(why.begin(), why.end(), '\n', ' ');
  std::fprintf(to, "%zu %d %a %a %a %lld %d %s\n", i, c.found ? 1 : 0, f.seconds, f.waits, f.flops,
               static_cast<long long>(f.peak), f.fits ? 1 : 0, why.c_str());
}
void read_found(std::FILE* from, std::vector<Candidate>& candidates) {
  char* line = nullptr;
  std::size_t room = 0;
  std::rewind(from);
  while (getline(&line, &room, from) > 0) {
    std::size_t i = 0;
    int found = 0, fits = 0, text = 0;
    long long peak = 0;
    Figures f;
    if (std::sscanf(line, "%zu %d %la %la %la %lld %d%n", &i, &found, &f.seconds, &f.waits, &f.flops, &peak, &fits,
                    &text) < 7 ||
        i >= candidates.size())
      continue;
    f.peak = peak;
    f.fits = fits != 0;
    if (found) candidates[i].found = f;
    candidates[i].why = std::string(line + text + 1);
    if (candidates[i].why.ends_with('\n')) candidates[i].why.pop_back();
  }
  std::free(line);
}

// All of them, by as many processes as there are processors: each takes every n-th candidate and writes what it found
// into a file of its own. Processes, as each is one whole run of a script: what goes wrong in one ends there.
void foretell_all(Search& s, const Arguments& a, const foresight::Chip& chip) {
  const std::size_t workers = std::clamp<std::size_t>(std::thread::hardware_concurrency(), 1, s.candidates.size());
  std::vector<std::pair<pid_t, std::FILE*>> started;
  for (std::size_t w = 0; w < workers; ++w) {
    std::FILE* found = workers > 1 ? std::tmpfile() : nullptr;
    const pid_t child = found ? fork() : -1;
    if (child > 0) {
      started.emplace_back(child, found);
      continue;
    }
    for (std::size_t i = w; i < s.candidates.size() && !interrupted(); i += workers) {
      foretell(s, a, chip, s.candidates[i]);
      if (child == 0) write_found(found, i, s.candidates[i]);
    }
    if (child < 0) continue;  // it could not be started: its part is done here
    std::fflush(found);
    _exit(0);
  }
  for (const auto& [child, found] : started) {
    while (waitpid(child, nullptr, 0) < 0 && errno == EINTR) {}
    read_found(found, s.candidates);
    std::fclose(found);
  }
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
  foretell_all(s, a, chips[0]);
  if (interrupted()) return 130;
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
