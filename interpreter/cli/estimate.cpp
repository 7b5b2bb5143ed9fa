// shard estimate: a script is run on arrays that have types and layouts and no elements, and each of its compiled calls
// is predicted on a chip: time, memory, and the lines that cost most.
#include "interpreter/cli/cost/attempts.h"
#include "interpreter/lang/report/report.h"
#include "interpreter/lang/staging/explanation.h"

namespace shard::cli {
namespace {

using cost_model::Chip;
using cost_model::Estimate;

std::string memory_json(const cost_model::Memory& m, const grammar::SourceMap& sources) {
  std::string out = "\"peak_line\": " + std::to_string(source_line(sources, m.where)) + ", \"memory\": {";
  for (std::size_t w = 0; w < cost_model::kWhys; ++w)
    out += (w ? ", " : "") + lang::json_string(cost_model::words_of(static_cast<cost_model::MemoryCause>(w))) + ": " +
           std::to_string(m.whys[w]);
  return out + "}";
}

// What each collective is, and why it is there.
std::string collectives_json(const Prediction& f, const Chip& chip, const grammar::SourceMap& sources) {
  std::string out = "\"collectives\": [";
  for (const exec::CommRecord& r : f.call.plan->comm()) {
    out += (out.ends_with('[') ? "{" : ", {") + ("\"kind\": " + lang::json_string(r.kind)) + ", \"axes\": [" +
           grammar::separated(r.axes, ", ", lang::json_string) +
           "], \"line\": " + std::to_string(source_line(sources, r.span)) + ", \"count\": " + std::to_string(r.count) +
           ", \"bytes\": " + std::to_string(r.bytes) + ", \"sent\": " + std::to_string(r.sent) +
           ", \"seconds\": " + number(cost_model::collective_seconds(chip, f.call.plan->program(), r)) + ", \"why\": " +
           lang::json_string(r.written ? "written"
                             : r.why   ? lang::why_text(*r.why, *r.op, f.call.names, sources, r.span)
                                       : "inserted") +
           "}";
  }
  return out + "]";
}

std::string json_of(const Estimate& e) {
  return "\"step_seconds\": " + number(e.time.seconds) + ", \"compute_seconds\": " + number(e.time.compute) +
         ", \"exposed_communication_seconds\": " + number(e.time.waits()) +
         ", \"peak_bytes_per_device\": " + std::to_string(e.memory.peak) +
         ", \"host_bytes_per_device\": " + std::to_string(e.memory.host) +
         ", \"fits\": " + (e.fits ? "true" : "false") + ", \"model_flops_per_device\": " + number(e.time.flops);
}

std::string json(const std::vector<Prediction>& calls, const Prediction& most, const Chip& chip,
                 const grammar::SourceMap& sources) {
  std::string out = "{\"chip\": " + lang::json_string(chip.name) +
                    (chip.stack.empty() ? "" : ", \"stack\": " + lang::json_string(chip.stack)) + ", " +
                    json_of(most.of) + range_json(chip, most.of.time.seconds) + ", \"calls\": [";
  for (const Prediction& f : calls)
    out += (&f == calls.data() ? "\n {" : ",\n {") + ("\"name\": " + lang::json_string(f.call.name)) +
           ", \"line\": " + std::to_string(source_line(sources, f.call.where)) +
           ", \"count\": " + std::to_string(f.count) + ", " + json_of(f.of) + ", " + memory_json(f.of.memory, sources) +
           ", " + collectives_json(f, chip, sources) + "}";
  return out + "]}";
}

int estimate(const Arguments& a) {
  const bool as_json = a.has("--json");
  const std::string trace = a.value("--trace"), page_file = a.value("--html");
  std::string text;
  if (!read_script(a.words[0], text)) return 1;
  const std::vector<Chip> chips = read_chips(a.value("--chip"), a.settings.devices, a.value("--stack"));
  if (chips.empty()) return 1;
  const std::string as_written = text;
  DryRun script(a.settings, as_json, simulated(chips));
  if (const int status = script.run(a.words[0], std::move(text), tell)) return status;
  script.tell_passed_over();
  std::string out;
  for (const Chip& chip : chips) {
    const Prediction& most = script.on(chip);
    if (as_json)
      out += (out.empty() ? "" : ",\n") + json(script.calls(), most, chip, script.sources());
    else
      out += "\n" + page(most, chip, script.sources());
    if (a.has("--advise") && !as_json) {
      const auto given = advice_text({a.words[0], as_written, a.settings, most, chip, script.sources()});
      if (!given) return 130;
      out += *given;
    }
    if (!page_file.empty() && !write_file(page_file, html(most, chip, script.sources()))) return 1;
    if (!trace.empty() && !write_file(trace, timeline(most, script.sources()))) return 1;
  }
  if (as_json) out = chips.size() == 1 ? out + "\n" : "[" + out + "]\n";
  return print_out(out);
}

}  // namespace

Command estimate_command() {
  return {
      "estimate",
      "Predict time and memory of a script's compiled calls on a chip, without data and without running them",
      {{"file", "The script (- reads it from standard input)", Option::Word, true},
       {"--chip", "Its name in the module `chips`, or a script that ends with a record; several with commas",
        Option::Value, true},
       {"--stack",
        "The software that runs there: xla (without this), maxtext-2023, nemo-2025, ...; see help chips.stacks",
        Option::Value},
       {"--json", "One JSON object on standard output, and nothing of the script's"},
       {"--advise", "Try other meshes, layouts of lines that wait, and less kept memory; say what is better"},
       {"--html", "Write a page for a browser: timeline, memory, mesh, collectives, the script with its costs",
        Option::Value},
       {"--trace", "Write a timeline of the call that takes most, for Perfetto and chrome://tracing", Option::Value}},
      true,
      estimate};
}

}  // namespace shard::cli
