// What people see of a call that is predicted: a page of 80 columns, and a timeline.
#include <algorithm>
#include <cstdio>

#include "grammar/characters.h"
#include "grammar/stable_sort.h"
#include "interpreter/cli/cost/prediction.h"
#include "interpreter/cli/terminal.h"
#include "interpreter/ir/op.h"
#include "interpreter/lang/report/report.h"
#include "interpreter/lang/staging/explanation.h"

namespace shard::cli {
namespace {

constexpr std::size_t kPage = 80, kCostly = 10;

std::string row(const std::string& what, const std::string& value, const std::string& more) {
  return "  " + left(what, 22) + right(value, 10) + (more.empty() ? "" : "   " + more) + "\n";
}

// The lines that cost most.
std::vector<cost_model::Line> costly(const cost_model::Profile& t, const grammar::SourceMap& sources) {
  std::vector<cost_model::Line> out = cost_model::lines_of(t, sources);
  const auto whole = [](const cost_model::Line& l) { return l.cost.compute + l.cost.exposed; };
  stable_sort(out, [&](const auto& a, const auto& b) { return whole(a) > whole(b); });
  if (out.size() > kCostly) out.resize(kCostly);
  return out;
}

// Of a line that several parts of the model share, those that take a twentieth of the call.
std::string parts_of(const cost_model::LineCost& line, double seconds) {
  constexpr double kShown = 0.05;
  const auto whole = [](const cost_model::LineCost::Part& p) { return p.compute + p.exposed; };
  std::vector<std::pair<std::string, cost_model::LineCost::Part>> parts;
  for (const auto& [name, part] : line.parts)
    if (name && whole(part) >= kShown * seconds) parts.emplace_back(*name, part);
  if (parts.size() < 2) return "";
  stable_sort(parts, [](const auto& a, const auto& b) { return a.first < b.first; });
  stable_sort(parts, [&](const auto& a, const auto& b) { return whole(a.second) > whole(b.second); });
  std::string out;
  for (const auto& [name, part] : parts)
    out += right(time_text(part.compute), 11) + right(part.exposed > 0 ? time_text(part.exposed) : "", 11) +
           "          in " + name + "\n";
  return out;
}

// What products reach of the chip's figures for their types, each as much as there is of it; types without a figure.
std::string products_rows(const cost_model::Profile& t, const cost_model::Chip& chip) {
  if (t.flops <= 0) return "";
  double at_peak = 0;  // seconds
  std::string types;
  for (const auto& [type, flops] : t.products) {
    const cost_model::Chip::Rate rate = chip.rate_of(type);
    at_peak += flops / rate.flops;
    if (t.products.size() > 1 || rate.of != type)
      types += row("  " + std::string(runtime::name(type)), percent_text(flops, t.flops), no_rate_text(chip, type));
  }
  char rate[64];
  std::snprintf(rate, sizeof rate, "%.3g TF/s", t.flops / t.seconds / 1e12);
  const std::string of = t.products.size() == 1 ? std::string(runtime::name(t.products.begin()->first)) + " " : "";
  return row("products", rate, percent_text(at_peak, t.seconds) + " of the chip's " + of + "peak") + types +
         (t.again > 0 ? row("  made again", percent_text(t.again, t.flops), "more than these") : "");
}

// Where the most is held, and why: of what the call makes, the lines that hold most of each kind.
std::string memory_rows(const cost_model::Memory& m, const grammar::SourceMap& sources) {
  constexpr std::size_t kLines = 3;
  std::string out;
  for (std::size_t w = 0; w < cost_model::kWhys; ++w) {
    const auto why = static_cast<cost_model::MemoryCause>(w);
    if (m.of(why) == 0) continue;
    out += row("  " + spaced(cost_model::words_of(why)), bytes_text(static_cast<double>(m.of(why))),
               percent_text(static_cast<double>(m.of(why)), static_cast<double>(m.peak)));
    std::size_t shown = 0;
    for (const cost_model::Cause& c : m.causes) {
      if (c.why != why || c.bytes * 50 < m.peak || ++shown > kLines) continue;
      out += row(
          "    of a line", bytes_text(static_cast<double>(c.bytes)),
          right(std::to_string(source_line(sources, c.where)), 4) + " | " + line_text(sources, c.where, kPage - 44));
    }
  }
  if (m.where.known())
    out += row("  the most at", "line " + std::to_string(source_line(sources, m.where)),
               line_text(sources, m.where, kPage - 37));
  return out;
}

// The lines that are waited for most: by which collectives, and why these are there.
std::string waits_because(const Prediction& f, const cost_model::Chip& chip, const grammar::SourceMap& sources) {
  constexpr std::size_t kShown = 3;
  std::vector<cost_model::Line> lines = costly(f.of.time, sources);
  stable_sort(lines, [](const auto& a, const auto& b) { return a.cost.exposed > b.cost.exposed; });
  std::string out;
  std::size_t shown = 0;
  for (const cost_model::Line& l : lines) {
    const exec::CommRecord* r = cost_model::longest_at(chip, *f.call.plan, l.at, sources);
    if (!r || !r->why || l.cost.exposed < 0.005 * f.of.time.seconds || shown++ == kShown) continue;
    out += in_lines("    line " + std::to_string(l.number) + ": " + cost_model::words_of(*r) + ": " +
                        lang::why_text(*r->why, *r->op, f.call.names, sources, r->span),
                    kPage + 1, 6);
  }
  return out.empty() ? out : "\n  waits because\n" + out;
}

}  // namespace

std::string no_rate_text(const cost_model::Chip& chip, runtime::DType type) {
  const cost_model::Chip::Rate rate = chip.rate_of(type);
  if (rate.of == type) return "";
  const std::string as = rate.products > 1 ? std::to_string(rate.products) + " products of " : "";
  return "no rate on record: as " + as + std::string(runtime::name(rate.of));
}

std::string spaced(std::string_view words) {
  std::string out(words);
  std::replace(out.begin(), out.end(), '_', ' ');
  return out;
}

std::string range_json(const cost_model::Chip& chip, double seconds) {
  const auto [low, high] = chip.range(seconds);
  return ", \"low\": " + number(low) + ", \"high\": " + number(high) + ", \"basis\": " + lang::json_string(chip.basis);
}

std::string chips_text(const Prediction& f, const cost_model::Chip& chip) {
  return std::to_string(f.call.mesh ? f.call.mesh->size() : 1) + " x " + chip.name +
         (chip.stack.empty() ? "" : ", " + chip.stack) + (f.call.mesh ? " " + runtime::to_string(*f.call.mesh) : "");
}

std::string line_text(const grammar::SourceMap& sources, grammar::Span at, std::size_t width) {
  if (!sources.has(at.source)) return "(no line of a file)";
  std::string text(sources.at(at.source).line(source_line(sources, at)));
  text.erase(0, std::min(text.find_first_not_of(" \t"), text.size()));
  if (text.size() <= width) return text;
  return std::string(grammar::whole_characters(text, width - 3)) + "...";
}

std::string page(const Prediction& f, const cost_model::Chip& chip, const grammar::SourceMap& sources) {
  const cost_model::Profile& t = f.of.time;
  const cost_model::Memory& m = f.of.memory;
  const double wait = t.waits();
  double communication = 0, host = 0;
  for (const auto& [span, c] : t.lines) communication += c.communication, host += c.host;
  std::string out = f.call.name;
  if (sources.has(f.call.where.source))
    out += " at " + sources.at(f.call.where.source).name() + ":" + std::to_string(source_line(sources, f.call.where));
  out += "\n  on " + chips_text(f, chip) + "\n\n";
  out += row(
      "one call", time_text(t.seconds),
      f.count > 1 ? std::to_string(f.count) + " calls, " + time_text(t.seconds * static_cast<double>(f.count)) : "");
  const auto [low, high] = chip.range(t.seconds);
  out += row("  between", time_text(low), "and " + time_text(high));
  out += "    " + chip.basis + "\n";
  out += row("computes", time_text(t.compute), percent_text(t.compute, t.seconds));
  out += row("waits for others", time_text(wait), percent_text(wait, t.seconds));
  out +=
      row("says to others", time_text(communication),
          communication > 0 ? percent_text(std::max(0.0, communication - wait), communication) + " of it hidden" : "");
  out += products_rows(t, chip);
  out += row("memory", bytes_text(static_cast<double>(m.peak)),
             "of " + bytes_text(chip.memory) + (f.of.fits ? ": fits" : ": DOES NOT FIT"));
  out += memory_rows(m, sources);
  if (m.host > 0)
    out += row("the host's memory", bytes_text(static_cast<double>(m.host)),
               "offloaded; there and back in " + time_text(host));
  out += "\n   computes      waits   line\n";
  std::uint32_t file = f.call.where.source;
  for (const cost_model::Line& l : costly(t, sources)) {
    const bool other = l.at.source != file && sources.has(l.at.source);
    const std::string where = right(std::to_string(l.number), 4) + " | ";
    const std::string name = other ? "(" + sources.at(l.at.source).name() + ") " : "";
    out += right(time_text(l.cost.compute), 11) + right(l.cost.exposed > 0 ? time_text(l.cost.exposed) : "", 11) +
           "   " + where + line_text(sources, l.at, kPage - 33 - std::min<std::size_t>(name.size(), 25)) +
           (other ? " " + name.substr(0, name.size() - 1) : "") + "\n" + parts_of(l.cost, t.seconds);
  }
  return out + waits_because(f, chip, sources);
}

std::string timeline(const Prediction& f, const grammar::SourceMap& sources) {
  std::string out = "{\"displayTimeUnit\": \"ms\", \"traceEvents\": [";
  bool first = true;
  for (const cost_model::Event& e : f.of.time.events) {
    const std::string name = std::string(e.node->op->name) + " " + line_text(sources, e.node->span, 60);
    out += (first ? "\n" : ",\n") + std::string("{\"ph\": \"X\", \"pid\": 0, \"tid\": ") + std::to_string(e.stream) +
           ", \"ts\": " + number(e.start * 1e6) + ", \"dur\": " + number(e.seconds * 1e6) +
           ", \"name\": " + lang::json_string(name) +
           ", \"args\": {\"line\": " + std::to_string(source_line(sources, e.node->span)) +
           ", \"turns\": " + std::to_string(e.turns) + "}}";
    first = false;
  }
  return out + "\n]}\n";
}

}  // namespace shard::cli
