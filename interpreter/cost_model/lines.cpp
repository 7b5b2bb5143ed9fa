// What the lines of a script cost: a profile by line, the collectives of each, and what is wrong with a call in a few
// words.
#include <algorithm>

#include "interpreter/cost_model/estimate.h"
#include "interpreter/cost_model/quantities.h"
#include "interpreter/ir/op.h"

namespace shard::cost_model {

using transform::CommRecord;

double collective_seconds(const Chip& chip, const transform::Program& program, const CommRecord& record) {
  const runtime::Mesh& mesh = *program.mesh;
  const std::vector<runtime::AxisId> axes = runtime::axes_of(mesh, record.axes);
  if (chip.simulated > 0)  // what they say in one process is memory, which counts as computing
    return static_cast<double>(record.count) *
           channel_seconds(chip, mesh, axes, *record.op->comm, static_cast<double>(record.given * mesh.size()));
  return static_cast<double>(record.count) *
         collective_seconds(chip, group_of(chip, mesh, axes), *record.op->comm, static_cast<double>(record.given));
}

std::vector<Line> lines_of(const Profile& time, const grammar::SourceMap& sources) {
  std::vector<Line> out;
  for (const auto& [span, cost] : time.lines) {  // in the order of their places
    const int number = sources.line_of(span);
    if (out.empty() || out.back().at.source != span.source || out.back().number != number)
      out.push_back({span, number, {}});
    out.back().cost.add(cost);
  }
  return out;
}

std::string axes_of(const CommRecord& record) {
  std::string out;
  for (const std::string& axis : record.axes) out += (out.empty() ? "@" : ", @") + axis;
  return out;
}
std::string words_of(const CommRecord& record) {
  return record.kind + (record.axes.empty() ? "" : " ") + axes_of(record);
}

std::vector<CommGroup> groups_of(const Chip& chip, const exec::Executable& plan, const grammar::SourceMap& sources,
                                 bool inserted) {
  std::vector<CommGroup> out;
  for (const CommRecord& r : plan.comm()) {
    if (inserted && !r.why) continue;
    const auto same = std::find_if(out.begin(), out.end(), [&](const CommGroup& g) {
      const CommRecord& other = *g.records[0];
      return other.kind == r.kind && other.axes == r.axes && other.span.source == r.span.source &&
             sources.line_of(other.span) == sources.line_of(r.span);
    });
    CommGroup& group = same == out.end() ? out.emplace_back() : *same;
    group.records.push_back(&r);
    group.seconds += collective_seconds(chip, plan.program(), r);
  }
  return out;
}

const CommRecord* longest_at(const Chip& chip, const exec::Executable& plan, grammar::Span line,
                             const grammar::SourceMap& sources) {
  std::vector<CommGroup> groups = groups_of(chip, plan, sources);
  std::erase_if(groups, [&](const CommGroup& g) {
    const grammar::Span at = g.records[0]->span;
    return at.source != line.source || sources.line_of(at) != sources.line_of(line);
  });
  if (groups.empty()) return nullptr;
  const auto most =
      std::max_element(groups.begin(), groups.end(), [](auto& a, auto& b) { return a.seconds < b.seconds; });
  const auto seconds = [&](const CommRecord* r) { return collective_seconds(chip, plan.program(), *r); };
  return *std::max_element(most->records.begin(), most->records.end(),
                           [&](auto* a, auto* b) { return seconds(a) < seconds(b); });
}

std::string shortcoming(const exec::Executable& plan, const Estimate& e, const Chip& chip,
                        const grammar::SourceMap& sources) {
  if (!e.fits) return "lacks " + bytes_text(static_cast<double>(e.memory.peak) - chip.memory);
  const std::pair<const grammar::Span, LineCost>* worst = nullptr;
  for (const auto& line : e.time.lines)
    if (!worst || line.second.exposed > worst->second.exposed) worst = &line;
  const double waits = worst ? worst->second.exposed : 0;
  if (e.time.bubble > std::max(waits, 0.01 * e.time.seconds))
    return "bubble " + percent_text(e.time.bubble, e.time.seconds) + ": line " +
           std::to_string(sources.line_of(e.time.bubble_at->span));
  if (waits <= 0.01 * e.time.seconds) return "";
  const CommRecord* r = longest_at(chip, plan, worst->first, sources);
  return "waits " + percent_text(e.time.waits(), e.time.seconds) + ": line " +
         std::to_string(sources.line_of(worst->first)) + (r ? ", " + words_of(*r) : "");
}

}  // namespace shard::cost_model
