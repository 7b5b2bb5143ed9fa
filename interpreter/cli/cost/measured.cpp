#include "interpreter/cli/cost/measured.h"

#include <algorithm>
#include <charconv>
#include <cmath>

#include "interpreter/cli/cost/settle.h"
#include "interpreter/cli/standard_output.h"
#include "stdlib/host/files/table_rows.h"

namespace shard::cli {
namespace {

using cost_model::Chip;

// ---- the file

std::optional<double> above_zero(const std::string& text) {
  double x = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), x);
  return error == std::errc() && end == text.data() + text.size() && x > 0 && std::isfinite(x) ? std::optional(x)
                                                                                               : std::nullopt;
}

struct Columns {
  std::vector<std::string> names;
  std::string at(std::string_view name, const std::vector<std::string>& cells) const {
    const auto i = static_cast<std::size_t>(std::find(names.begin(), names.end(), name) - names.begin());
    return i < cells.size() ? cells[i] : "";
  }
};

// What is wrong with a row; empty: nothing.
std::string read_row(const Columns& columns, const std::vector<std::string>& cells, const std::string& folder,
                     MeasuredRun& run) {
  run.file = columns.at("file", cells);
  if (run.file.empty()) return "`file` is empty: name the script that was run";
  if (run.file[0] != '/') run.file = folder + run.file;
  const auto devices = number_of(columns.at("devices", cells), 1, 1 << 24);
  if (!devices) return "`devices` is how many there were, not '" + columns.at("devices", cells) + "'";
  run.devices = *devices;
  for (const std::string& pair : parts_of(columns.at("settings", cells), ' ')) {
    auto setting = setting_of(pair);
    if (!setting) return "`settings` are as for --set, name=value, with blanks between; this is '" + pair + "'";
    run.set.push_back(std::move(*setting));
  }
  const auto seconds = above_zero(columns.at("step_seconds", cells));
  if (!seconds) return "`step_seconds` is a number above 0, not '" + columns.at("step_seconds", cells) + "'";
  run.seconds = *seconds;
  if (const std::string peak = columns.at("peak_bytes", cells); !peak.empty()) {
    run.peak_bytes = above_zero(peak);
    if (!run.peak_bytes) return "`peak_bytes` is a number above 0, or empty, not '" + peak + "'";
  }
  return "";
}

// ---- the fit

// A constant that runs may tell, as a factor of what it is; `off`: how far from it that may lie, in e-folds.
struct Constant {
  std::string_view name;
  double Chip::*value;
  double off, most;
};
constexpr double kAny = 1e300;
constexpr Constant kConstants[] = {
    {"product_share", &Chip::product_share, 0.15, 1}, {"memory_share", &Chip::memory_share, 0.3, 1},
    {"kernel_share", &Chip::kernel_share, 0.3, 1},    {"launch", &Chip::launch, 0.5, kAny},
    {"link_share", &Chip::link_share, 0.2, 1},        {"network_share", &Chip::network_share, 0.3, 1},
    {"network_theft", &Chip::network_theft, 0.5, 1},  {"dispatch", &Chip::dispatch, 0.5, kAny},
};
constexpr double kNoise = 0.06;    // of a measured step
constexpr double kUnknown = 0.35;  // the spread of a chip of which nothing was measured

struct Sample {
  const MeasuredRun* run;
  Prediction call;
  double seconds(const Chip& chip) const {
    return cost_model::estimate(chip, call.call.plan->program(), *call.works, call.of.memory).time.seconds;
  }
  double off(const Chip& chip) const { return std::log(seconds(chip) / run->seconds); }
};
using Samples = std::vector<const Sample*>;

double mean_off(const Chip& chip, const Samples& samples) {
  double sum = 0;
  for (const Sample* s : samples) sum += std::abs(s->off(chip));
  return sum / static_cast<double>(samples.size());
}

// The squared distance of the runs from what is predicted and of the constants from what was expected, each in units of
// how far they may lie apart. A run that is far off counts as far as it is: one that was slow for reasons of its own
// does not bend all others. `known`: of how far the constants may lie, the part that is left.
double cost(const Chip& chip, const Chip& expected, double known, const Samples& samples) {
  double sum = 0;
  for (const Sample* s : samples) sum += 2 * (std::hypot(1, s->off(chip) / kNoise) - 1);
  for (const Constant& c : kConstants)
    if (expected.*c.value > 0) sum += std::pow(std::log(chip.*c.value / (expected.*c.value)) / (c.off * known), 2);
  return sum;
}

// By smaller and smaller steps; `best` becomes the cost. Constants of a chip that runs were measured on lie near,
// unless these runs say otherwise.
Chip nearest(const Chip& expected, const Samples& samples, double& best) {
  Chip chip = expected;
  std::vector<Figure> figures;
  for (const Constant& c : kConstants) figures.push_back({&(chip.*c.value), c.most});
  const double known = std::min(1.0, std::max(expected.spread, 2 * mean_off(expected, samples)) / kUnknown);
  const auto now = [&] { return cost(chip, expected, known, samples); };
  best = now();
  for (double step = 1.25; step > 1.002; step = std::sqrt(step)) best = settle(figures, step, best, 1e-9, now);
  return chip;
}

// Software either has kernels for loops of blocks or runs them as they are written; these runs may say the other than
// what was expected.
Chip fitted(const Chip& expected, const Samples& samples) {
  constexpr double kDoubt = 1;
  Chip other = expected;
  other.kernels = expected.kernels > 0 ? 0 : 1;
  double as_expected = 0, otherwise = 0;
  const Chip first = nearest(expected, samples, as_expected), second = nearest(other, samples, otherwise);
  return otherwise + kDoubt < as_expected ? second : first;
}

// How far a run is off that the fit has not seen: each left out in turn. Of one run, how far it was off before.
double off_unseen(const Chip& expected, const Samples& all) {
  double sum = 0;
  for (const Sample* one : all) {
    Samples others;
    std::copy_if(all.begin(), all.end(), std::back_inserter(others), [&](const Sample* s) { return s != one; });
    sum += std::abs(one->off(others.empty() ? expected : fitted(expected, others)));
  }
  return sum / static_cast<double>(all.size());
}

// The constants that these runs say little of: half as much again, and no step changes by a hundredth.
std::string unknown(const Chip& chip, const Samples& samples) {
  std::string out;
  for (const Constant& c : kConstants) {
    Chip other = chip;
    other.*c.value /= 1.5;
    const bool seen = std::any_of(samples.begin(), samples.end(), [&](const Sample* s) {
      return std::abs(std::log(s->seconds(other) / s->seconds(chip))) > 0.01;
    });
    if (!seen) out += (out.empty() ? "" : ", ") + std::string(c.name);
  }
  return out;
}

std::string table(const Chip& before, const Chip& after, const Samples& samples, const std::string& path) {
  std::string out = "   measured     before      after   row\n";
  for (const Sample* s : samples) {
    out += right(time_text(s->run->seconds), 11) + right(time_text(s->seconds(before)), 11) +
           right(time_text(s->seconds(after)), 11) + "   " + path + ":" + std::to_string(s->run->line) + "\n";
    if (s->run->peak_bytes)
      out += "              of memory " + bytes_text(*s->run->peak_bytes) + " measured, " +
             bytes_text(static_cast<double>(s->call.of.memory.peak)) + " predicted\n";
  }
  return out;
}

std::string rounded(double x) {
  char text[32];
  std::snprintf(text, sizeof text, "%.4g", x);
  return text;
}

}  // namespace

std::optional<std::vector<MeasuredRun>> read_measured(const std::string& path) try {
  const std::unique_ptr<stdlib::Source> file = stdlib::open_source(path == "-" ? "/dev/stdin" : path);
  stdlib::TableRows rows(*file);
  const auto refuse = [&](int line, const std::string& why) {
    std::fprintf(stderr, "error: %s:%d: %s\n", path.c_str(), line, why.c_str());
    return std::nullopt;
  };
  const std::string folder = path.substr(0, path.rfind('/') + 1);
  Columns columns;
  int line = 1;
  rows.next(columns.names, line);
  for (const char* name : {"file", "devices", "settings", "step_seconds"})
    if (std::find(columns.names.begin(), columns.names.end(), name) == columns.names.end())
      return refuse(line, "there is no column `" + std::string(name) +
                              "`: the first line is file,devices,settings,step_seconds and, where it is known, "
                              "peak_bytes");
  std::vector<MeasuredRun> out;
  for (std::vector<std::string> cells; rows.next(cells, line);) {
    if (std::all_of(cells.begin(), cells.end(), [](const auto& c) { return grammar::trimmed(c).empty(); })) continue;
    out.emplace_back();
    out.back().line = line;
    if (const std::string wrong = read_row(columns, cells, folder, out.back()); !wrong.empty())
      return refuse(line, wrong);
  }
  if (out.empty()) return refuse(1, "there are no runs: a line for each, below the names of the columns");
  return out;
} catch (const runtime::RuntimeError& e) {
  std::fprintf(stderr, "error: cannot read '%s': %s\n", path.c_str(), e.what());
  return std::nullopt;
}

std::string chip_script(const Chip& chip, const std::string& comment) {
  std::string out = comment + "{\n  name: " + lang::json_string(chip.name) + ",\n  flops: {";
  for (const auto& [type, rate] : chip.flops)
    out += (out.ends_with("{") ? "" : ", ") + std::string(runtime::name(type)) + ": " + rounded(rate);
  out += "},\n  domain: ";
  if (chip.domain.size() == 1)
    out += std::to_string(chip.domain[0]);
  else
    out += "[" + grammar::separated(chip.domain, ", ", [](std::int64_t n) { return std::to_string(n); }) + "]";
  out += ",\n  basis: " + lang::json_string(chip.basis) + ",\n";
  for (const auto& [name, text] : {std::pair("stack", &chip.stack), std::pair("described", &chip.described)})
    if (!text->empty()) out += "  " + std::string(name) + ": " + lang::json_string(*text) + ",\n";
  for (const cost_model::ChipField& f : cost_model::chip_fields())
    if (chip.*f.value != Chip{}.*f.value) out += "  " + std::string(f.name) + ": " + rounded(chip.*f.value) + ",\n";
  return out + "}\n";
}

int calibrate_to(const std::string& path, Chip chip, const Arguments& a) {
  const auto runs = read_measured(path);
  if (!runs) return 1;
  std::vector<Sample> samples;
  for (const MeasuredRun& run : *runs) {
    Settings settings = a.settings;
    settings.devices = run.devices;
    settings.devices_given = true;
    settings.set = run.set;
    std::string text;
    if (!read_script(run.file, text)) {
      std::fprintf(stderr, "note: %s:%d names it\n", path.c_str(), run.line);
      return 1;
    }
    DryRun script(settings, true, chip.simulated > 0);
    if (const int status = script.run(run.file, std::move(text), tell)) {
      std::fprintf(stderr, "note: %s:%d names it, with its settings\n", path.c_str(), run.line);
      return status;
    }
    samples.push_back({&run, script.on(chip)});
  }
  Samples all;
  for (const Sample& s : samples) all.push_back(&s);
  Chip found = fitted(chip, all);
  constexpr double kLeast = 0.08;
  const double unseen = off_unseen(chip, all);
  found.spread = std::clamp(kSpreadOfMean * unseen, kLeast, std::max(chip.spread, kLeast));
  found.basis =
      std::to_string(all.size()) + (all.size() == 1 ? " run" : " runs") + " of " + path.substr(path.rfind('/') + 1);
  const std::string file = a.value("-o").empty() ? "measured.shard" : a.value("-o");
  if (!write_file(file,
                  chip_script(found, "# " + chip.name + (chip.stack.empty() ? "" : " with " + chip.stack) +
                                         " as the runs in " + path + " have it: `shard calibrate --measured`.\n")))
    return 1;
  const std::string still = unknown(found, all);
  return print_out(
      table(chip, found, all, path) + "off by " + percent_text(mean_off(chip, all), 1) + " before, " +
      percent_text(mean_off(found, all), 1) + " after" +
      (all.size() > 1 ? ", each run by " + percent_text(unseen, 1) + " where the others alone are known\n" : "\n") +
      (still.empty() ? "" : "these runs say nothing of: " + still + "\n") + "wrote " + file + "\n");
}

}  // namespace shard::cli
