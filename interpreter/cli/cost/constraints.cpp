// Constraints that would remove or shrink the collectives that the partitioner inserted: where a value was made, or
// used, that met another layout, `(shard VALUE as P(...))` in the script's own text, each predicted like any other
// script before it is shown.
#include <algorithm>

#include "grammar/stable_sort.h"
#include "interpreter/cli/cost/attempts.h"
#include "interpreter/lang/staging/why_text.h"

namespace shard::cli {
namespace {

constexpr std::size_t kRecords = 4, kAttempts = 96, kSpecs = 12;
constexpr double kBetter = 0.99;  // of the time as it is

struct Priced {
  const exec::CommRecord* record;
  double seconds;
};

struct Constraint {
  std::vector<std::size_t> of;  // the records that it was tried for
  std::string words;            // "line 7: (shard x @ w as P(@X, @Y))"
};

// The layouts of a value with at most two axes, each on one dimension that it divides; the one that was wanted first.
std::vector<std::string> specs_of(const runtime::Type& t, const runtime::Mesh& mesh) {
  std::vector<std::string> out;
  const auto add = [&](const runtime::Sharding& s) {
    std::string text = runtime::to_string(mesh, s);
    if (std::find(out.begin(), out.end(), text) == out.end() && out.size() < kSpecs) out.push_back(std::move(text));
  };
  const std::size_t rank = t.shape.size();
  const auto divides = [&](std::size_t d, runtime::AxisId a) {
    return mesh.size_of(a) > 1 && t.shape[d] % mesh.size_of(a) == 0;
  };
  const auto axes = static_cast<runtime::AxisId>(mesh.axes.size());
  runtime::Sharding now = t.sharding;
  now.unreduced = now.reduced = {};
  add(now);
  for (std::size_t d = 0; d < rank; ++d)
    for (runtime::AxisId a = 0; a < axes; ++a) {
      if (!divides(d, a)) continue;
      runtime::Sharding one = runtime::Sharding::replicated(rank), more = now;
      one.dims[d].axes = {a};
      add(one);
      if (!more.split_axes().has(a) && more.dims[d].axes.empty()) {
        more.dims[d].axes = {a};
        add(more);
      }
    }
  add(runtime::Sharding::replicated(rank));
  return out;
}

class Trials {
 public:
  Trials(const Settings& settings, const std::string& text, const Prediction& base, const grammar::SourceMap& sources)
      : settings_(settings), text_(text), base_(base), sources_(sources) {}

  void add(std::size_t of, const ir::Why& why) {
    runtime::Type wanted = why.wanted;
    at(of, why.value.made, wanted);
    at(of, why.value.made, why.value.type);
    for (const auto& v : why.terms) at(of, v.made, v.type);
    for (const auto& v : why.beside) at(of, v.made, v.type);
    at(of, why.where, wanted);
  }
  std::vector<Attempt> attempts;
  std::vector<Constraint> constraints;

 private:
  void at(std::size_t of, grammar::Span where, const runtime::Type& type) {
    if (!sources_.has(where.source) || where.source != base_.call.where.source) return;
    const std::string code = text_.substr(where.begin, where.end - where.begin);
    if (code.empty() || code.find('\n') != std::string::npos || code.starts_with("shard ") ||
        code.starts_with("let ") || code.starts_with("return "))
      return;
    for (const std::string& spec : specs_of(type, *base_.call.mesh)) {
      const std::string pasted = "(shard " + code + " as " + spec + ")";
      const std::string words = "line " + std::to_string(source_line(sources_, where)) + ": " + pasted;
      const auto same =
          std::find_if(constraints.begin(), constraints.end(), [&](const Constraint& c) { return c.words == words; });
      if (same != constraints.end() && same->of.back() != of) same->of.push_back(of);
      if (attempts.size() == kAttempts || same != constraints.end()) continue;
      Attempt a{settings_};
      a.text = std::make_shared<const std::string>(text_.substr(0, where.begin) + pasted + text_.substr(where.end));
      attempts.push_back(std::move(a));
      constraints.push_back({{of}, words});
    }
  }

  const Settings& settings_;
  const std::string& text_;
  const Prediction& base_;
  const grammar::SourceMap& sources_;
};

// The inserted collectives of different lines, kinds or axes that take longest.
std::vector<Priced> longest(const Prediction& base, const cost_model::Chip& chip, const grammar::SourceMap& sources) {
  std::vector<Priced> all;
  for (const exec::CommRecord& r : base.call.plan->comm()) {
    if (!r.why) continue;
    const double seconds = cost_model::collective_seconds(chip, *base.call.mesh, r);
    const auto same = std::find_if(all.begin(), all.end(), [&](const Priced& p) {
      return p.record->kind == r.kind && p.record->axes == r.axes && p.record->span.source == r.span.source &&
             source_line(sources, p.record->span) == source_line(sources, r.span);
    });
    if (same == all.end())
      all.push_back({&r, seconds});
    else
      same->seconds += seconds;
  }
  stable_sort(all, [](const Priced& a, const Priced& b) { return a.seconds > b.seconds; });
  if (all.size() > kRecords) all.resize(kRecords);
  return all;
}

}  // namespace

std::optional<std::string> constraints_text(const std::string& path, const std::string& text, const Settings& settings,
                                            const Prediction& base, const cost_model::Chip& chip,
                                            const grammar::SourceMap& sources) {
  if (!base.call.mesh || !sources.has(base.call.where.source) || sources.at(base.call.where.source).text() != text)
    return "";
  const std::vector<Priced> records = longest(base, chip, sources);
  Trials trials(settings, text, base, sources);
  for (std::size_t i = 0; i < records.size(); ++i) {
    // All collectives that the record stands for have their own values; the attempts are shared out evenly.
    for (const exec::CommRecord& r : base.call.plan->comm())
      if (r.why && r.kind == records[i].record->kind && r.axes == records[i].record->axes &&
          r.span.source == records[i].record->span.source &&
          source_line(sources, r.span) == source_line(sources, records[i].record->span) &&
          trials.attempts.size() < (i + 1) * kAttempts / records.size())
        trials.add(i, *r.why);
  }
  if (!predict_all(path, trials.attempts, chip)) return std::nullopt;
  std::string out = records.empty() ? "" : "\n  constraints, predicted like the rest\n";
  for (std::size_t i = 0; i < records.size(); ++i) {
    const Attempt* best = nullptr;
    std::size_t tried = 0, at = 0;
    for (std::size_t k = 0; k < trials.attempts.size(); ++k) {
      const Attempt& a = trials.attempts[k];
      const std::vector<std::size_t>& of = trials.constraints[k].of;
      const bool tried_here = std::find(of.begin(), of.end(), i) != of.end();
      if (!tried_here || !a.found || a.found->given != given_to(base)) continue;
      ++tried;
      if (base.of.fits && !a.found->fits) continue;
      if (!best || a.found->seconds < best->found->seconds) best = &a, at = k;
    }
    out += "    " + words_of(*records[i].record) + " of line " +
           std::to_string(source_line(sources, records[i].record->span)) + ", " + time_text(records[i].seconds) + ": ";
    if (best && best->found->seconds < kBetter * base.of.time.seconds)
      out += time_text(best->found->seconds) + " instead of " + time_text(base.of.time.seconds) + " with\n      " +
             trials.constraints[at].words + "\n";
    else
      out += "none of " + std::to_string(tried) + " that were tried is better by 1 %\n";
  }
  return out;
}

}  // namespace shard::cli
