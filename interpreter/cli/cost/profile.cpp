#include "interpreter/cli/cost/profile.h"

#include "grammar/stable_sort.h"
#include "interpreter/ir/op.h"

namespace shard::cli {
namespace {

using cost_model::Profile;

// What a call took as a profile like that of the clock: every instruction on the stream that computes, as the engine
// runs them one after another.
Profile measured(const exec::TimedCalls& calls) {
  Profile out;
  out.seconds = calls.seconds();
  out.compute = out.seconds;
  for (std::size_t i = 0; i < calls.fastest.size(); ++i) {
    const exec::Timed& t = calls.fastest[i];
    if (!t.node) continue;
    out.lines[t.node->span].compute += i < calls.quiet.size() ? calls.quiet[i] : t.seconds;
    out.events.push_back({t.start, t.seconds, 0, t.node, 1});
  }
  return out;
}

struct Compared {
  double measured = 0, predicted = 0;
  double apart() const { return std::abs(measured - predicted); }
};

// By line of the files, the largest difference first.
std::vector<std::pair<cost_model::Line, Compared>> compared(const Profile& ran, const Profile& said,
                                                            const grammar::SourceMap& sources) {
  std::map<std::pair<std::uint32_t, int>, std::pair<cost_model::Line, Compared>> lines;
  const auto add = [&](const Profile& t, double Compared::*where) {
    for (const cost_model::Line& l : cost_model::lines_of(t, sources))
      lines.try_emplace({l.at.source, l.number}, l, Compared{}).first->second.second.*where +=
          l.cost.compute + l.cost.exposed;
  };
  add(ran, &Compared::measured);
  add(said, &Compared::predicted);
  std::vector<std::pair<cost_model::Line, Compared>> out;
  for (auto& [key, line] : lines) out.push_back(line);
  stable_sort(out, [](const auto& a, const auto& b) { return a.second.apart() > b.second.apart(); });
  return out;
}

std::string times(double seconds) { return seconds > 0 ? time_text(seconds) : ""; }

}  // namespace

std::vector<RunProfile::Ran> RunProfile::ran() const {
  std::vector<Ran> out;
  for (const Prediction& f : calls_)
    if (const auto t = timing_.calls().find(f.call.plan.get()); t != timing_.calls().end())
      out.push_back({f, &t->second});
  return out;
}

bool RunProfile::write(const grammar::SourceMap& sources) {
  Prediction* most = nullptr;
  const exec::TimedCalls* of_most = nullptr;
  std::string calls;
  for (Prediction& f : calls_) {
    const auto ran = timing_.calls().find(f.call.plan.get());
    if (ran == timing_.calls().end()) continue;
    f.count = ran->second.count;
    f.of = cost_model::estimate(chip_, *f.call.plan, f.call.given, f.call.becomes);
    calls += (calls.empty() ? "\n {" : ",\n {") + ("\"name\": " + lang::json_string(f.call.name)) +
             ", \"line\": " + std::to_string(source_line(sources, f.call.where)) +
             ", \"count\": " + std::to_string(f.count) + ", \"least_seconds\": " + number(ran->second.least) +
             ", \"quiet_seconds\": " + number(ran->second.seconds()) +
             ", \"mean_seconds\": " + number(ran->second.total / static_cast<double>(f.count)) +
             ", \"predicted_seconds\": " + number(f.of.time.seconds) + "}";
    if (!most || ran->second.total > of_most->total) most = &f, of_most = &ran->second;
  }
  if (!most) {
    write_out("profile: no compiled function was called\n");
    return true;
  }
  const Profile said = most->of.time;
  most->of.time = measured(*of_most);
  const Profile& ran = most->of.time;
  std::string text;  // first of all, how little the rest may mean
  if (chip_.simulated == 0)
    text = "note: " + chip_.name +
           " is no measured machine that simulates devices, so the prediction is not of this one: "
           "`shard calibrate -o here.shard`,\nthen `--chip here.shard`\n";
  text += "\n" + most->call.name + ": " + std::to_string(most->count) + " calls, " + times(of_most->total) +
          "; one by itself " + times(ran.seconds) + ", predicted on " + chip_.name + " " + times(said.seconds) +
          "\n   measured  predicted   line\n";
  std::string rows;
  std::size_t shown = 0;
  for (const auto& [line, c] : compared(ran, said, sources)) {
    const std::string number = std::to_string(line.number);
    const std::string file = sources.has(line.at.source) ? sources.at(line.at.source).name() : "";
    rows += html_row("rrr ", {times(c.measured), times(c.predicted), number, file});
    if (++shown <= 10)
      text += right(times(c.measured), 11) + right(times(c.predicted), 11) + "   " + right(number, 4) + " | " +
              line_text(sources, line.at, 48) + "\n";
  }
  if (file_.ends_with(".json")) {
    std::string trace = timeline(*most, sources);
    trace.insert(1, "\"calls\": [" + calls + "],\n ");
    if (!write_file(file_, trace)) return false;
  } else {
    const std::string table =
        "<h2>Measured and predicted <small>of " + std::to_string(most->count) +
        " calls the least that each instruction took; predicted on " + chip_.name + ": " + times(said.seconds) +
        "</small></h2><div class=scroll><table id=compared><tr><th class=r>measured<th class=r>predicted<th "
        "class=r>line<th>\n" +
        rows + "</table></div>\n";
    if (!write_file(file_, html(*most, chip_, sources, table))) return false;
  }
  write_out(text);
  return true;
}

}  // namespace shard::cli
