// What is wrong with a call that is predicted on a chip, in a few words: memory that it lacks, turns of a pipeline
// with nothing to do, or lines that wait.
#include <algorithm>

#include "interpreter/cost_model/quantities.h"
#include "interpreter/lang/report/report.h"
#include "stdlib/host/cost/chips.h"

namespace shard::stdlib {

const exec::CommRecord* longest_at(const lang::CompiledCall& call, const cost_model::Chip& chip, grammar::Span line,
                                   const grammar::SourceMap& sources) {
  struct Alike {  // of one kind, over the same axes
    const exec::CommRecord* longest;
    double one, all;
  };
  std::vector<Alike> found;
  for (const exec::CommRecord& r : call.plan->comm()) {
    if (r.span.source != line.source || lang::source_line(sources, r.span) != lang::source_line(sources, line))
      continue;
    const double here = cost_model::collective_seconds(chip, *call.mesh, r);
    const auto same = std::find_if(found.begin(), found.end(), [&](const Alike& a) {
      return a.longest->kind == r.kind && a.longest->axes == r.axes;
    });
    Alike& a = same == found.end() ? found.emplace_back(Alike{&r, here, 0}) : *same;
    a.all += here;
    if (here > a.one) a.longest = &r, a.one = here;
  }
  const auto most = std::max_element(found.begin(), found.end(), [](auto& a, auto& b) { return a.all < b.all; });
  return most == found.end() ? nullptr : most->longest;
}

std::string words_of(const exec::CommRecord& record) {
  std::string out = record.kind;
  for (std::size_t i = 0; i < record.axes.size(); ++i) out += (i ? ", @" : " @") + record.axes[i];
  return out;
}

std::string shortcoming(const lang::CompiledCall& call, const cost_model::Estimate& e, const cost_model::Chip& chip,
                        const grammar::SourceMap& sources) {
  if (!e.fits) return "lacks " + cost_model::bytes_text(static_cast<double>(e.memory.peak) - chip.memory);
  const std::pair<const grammar::Span, cost_model::LineCost>* worst = nullptr;
  for (const auto& line : e.time.lines)
    if (!worst || line.second.exposed > worst->second.exposed) worst = &line;
  const double waits = worst ? worst->second.exposed : 0;
  if (e.time.bubble > std::max(waits, 0.01 * e.time.seconds))
    return "bubble " + cost_model::percent_text(e.time.bubble, e.time.seconds) + ": line " +
           std::to_string(lang::source_line(sources, e.time.bubble_at->span));
  if (waits <= 0.01 * e.time.seconds) return "";
  const exec::CommRecord* r = longest_at(call, chip, worst->first, sources);
  return "waits " + cost_model::percent_text(e.time.waits(), e.time.seconds) + ": line " +
         std::to_string(lang::source_line(sources, worst->first)) + (r ? ", " + words_of(*r) : "");
}

}  // namespace shard::stdlib
