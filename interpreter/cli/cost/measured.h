// Steps that somebody measured on a cluster, and the chip that predicts them: `shard calibrate --measured`.
#pragma once
#include "interpreter/cli/cost/prediction.h"

namespace shard::cli {

struct MeasuredRun {  // a row of the file
  std::string file;   // the script
  int devices = 0;
  std::vector<std::pair<std::string, std::string>> set;
  double seconds = 0;
  std::optional<double> peak_bytes = {};
  int line = 0;  // of the row
};

// Columns `file` (beside the CSV, where it is no absolute path), `devices`, `settings` ("width=64 @data=4"),
// `step_seconds` and, where it is known, `peak_bytes`. Nothing, and a sentence on standard error, where one is wrong.
std::optional<std::vector<MeasuredRun>> read_measured(const std::string& path);

// Fits the chip's constants to the runs: as few as they can carry, each drawn towards what it was. Prints what each run
// takes, before and after, and what stays unknown; writes the chip. Gives the exit status.
int calibrate_to(const std::string& path, cost_model::Chip chip, const Arguments& a);

// A chip as a script that ends with its record; `comment` is whole lines.
std::string chip_script(const cost_model::Chip& chip, const std::string& comment);

}  // namespace shard::cli
