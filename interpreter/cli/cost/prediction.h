// A script run on types alone and its compiled calls on a chip: what `shard estimate` and `shard plan` share, and what
// they show of it.
#pragma once
#include <map>

#include "grammar/characters.h"
#include "interpreter/cli/command.h"
#include "interpreter/cost_model/estimate.h"
#include "interpreter/cost_model/quantities.h"
#include "interpreter/lang/report/report.h"
#include "interpreter/lang/staging/jit.h"
#include "stdlib/host/cost/chips.h"

namespace shard::cli {

struct Prediction {
  lang::CompiledCall call;
  std::int64_t count = 0;
  cost_model::Estimate of = {};
  std::shared_ptr<const cost_model::Instructions> works =
      {};                // what it has to do hangs on no chip, nor does what it holds
  double simulated = 0;  // ... but on whether one machine does it for all devices
};

void note_calls(lang::Options& options, std::vector<Prediction>& calls);  // each that is compiled, once

// A script that has been run without data. Where a statement needs some it is run again, and what depends on them is
// left out: calls that can be predicted are.
class DryRun {
 public:
  // `simulated`: for a machine that simulates devices, what its engine would run. `laid_out`: lang::Options::laid_out.
  DryRun(const Settings& settings, bool quiet, bool simulated = false,
         std::function<void(const std::string&, const lang::Value*)> laid_out = {});
  int run(const std::string& path, std::string text, const Teller& teller);
  // All calls on this chip; the one that takes most of the time. Of a run that went well.
  const Prediction& on(const cost_model::Chip& chip);
  const std::vector<Prediction>& calls() const { return calls_; }
  void tell_passed_over() const;  // a note on standard error, where something needed data
  lang::Interpreter& interpreter() { return machine_->interpreter(); }
  const std::vector<std::string>& not_written() const { return not_written_; }  // files, in order
  const grammar::SourceMap& sources() { return machine_->interpreter().sources(); }

 private:
  void begin(bool quiet);
  int run_once(const std::string& path, std::string text, const Teller& teller);
  Settings settings_;
  bool simulated_;
  std::string passed_over_;
  std::function<void(const std::string&, const lang::Value*)> laid_out_;
  std::vector<Prediction> calls_;
  std::vector<std::string> not_written_;
  std::shared_ptr<std::map<const exec::Executable*, std::int64_t>> counts_;
  std::unique_ptr<embed::Machine> machine_;
};

// "h100,mine.shard": names of the module `chips`, or scripts that end with a record. Empty where one is told to be
// none. `stack`: the software on them.
std::vector<cost_model::Chip> read_chips(const std::string& words, int devices, const std::string& stack = {});
bool simulated(const std::vector<cost_model::Chip>& chips);  // whether all are machines that simulate devices

std::string spaced(std::string_view words);                                    // `given_away` as "given away"
std::string chips_text(const Prediction& call, const cost_model::Chip& chip);  // "8 x h100 (@data: 8)"
// Of a type of elements: "no rate on record: as 6 products of f32"; empty where the chip has a figure for it.
std::string no_rate_text(const cost_model::Chip& chip, runtime::DType type);
std::string range_json(const cost_model::Chip& chip, double seconds);  // `, "low": ..., "high": ..., "basis": ...`
std::string number(double x);                                          // the shortest text that reads back the same
using cost_model::bytes_text;
using cost_model::left;
using cost_model::percent_text;
using cost_model::right;
using cost_model::time_text;
using lang::source_line;

// The page of 80 columns, one for a browser in one file, and a timeline for chrome://tracing and Perfetto.
std::string page(const Prediction& call, const cost_model::Chip& chip, const grammar::SourceMap& sources);
// `more`: tables behind the figures.
std::string html(const Prediction& call, const cost_model::Chip& chip, const grammar::SourceMap& sources,
                 const std::string& more = "");
// A row of its tables. Of each cell a letter: r to the right, l the number of a line, w words that may wrap.
std::string html_row(std::string_view classes, const std::vector<std::string>& cells);
// The line of a span, without what leads it, not wider than that.
std::string line_text(const grammar::SourceMap& sources, grammar::Span at, std::size_t width);
std::string timeline(const Prediction& call, const grammar::SourceMap& sources);

}  // namespace shard::cli
