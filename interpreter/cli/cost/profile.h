// What the compiled calls of a run took, beside what is predicted of them: `shard run --profile FILE`.
#pragma once
#include "interpreter/cli/cost/prediction.h"
#include "interpreter/exec/timing.h"

namespace shard::cli {

// `chip`: what the calls are compared with.
class RunProfile {
 public:
  RunProfile(std::string file, cost_model::Chip chip) : file_(std::move(file)), chip_(std::move(chip)) {}
  // Before the machine is made: to be told what is compiled.
  void watch(lang::Options& options) { note_calls(options, calls_); }
  // From now on the calls of this engine are timed; it makes none once this is gone.
  void time(lang::Interpreter& in) { in.context().hooks().timing = &timing_; }
  // Writes FILE (.json: for Perfetto and programs; else a page for a browser) and prints the lines where both differ
  // most.
  bool write(const grammar::SourceMap& sources);
  // What was compiled and called, with its chip's prediction in `of`; in the order of compiling.
  struct Ran {
    Prediction call;
    const exec::TimedCalls* times;
  };
  std::vector<Ran> ran() const;

 private:
  std::string file_;
  cost_model::Chip chip_;
  std::vector<Prediction> calls_;
  exec::Timing timing_;
};

}  // namespace shard::cli
