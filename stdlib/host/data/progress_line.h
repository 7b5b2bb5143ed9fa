// The line that tells how far a loop is: "[####......] 40/100  3.1/s  0:19 left  loss 0.25".
#pragma once
#include <cstdint>
#include <optional>
#include <string>

namespace shard::stdlib {

struct ProgressState {
  std::int64_t at = 0;              // turns that are over
  std::optional<std::int64_t> all;  // of how many, where that is known
  double seconds = 0;               // since the beginning
  double since_first = 0;           // since the first turn was over: it may compile, and tells nothing of the others
  bool last = false;
};

// Less than `width` columns: where there is no room the bar goes first, then what stands at the end.
std::string progress_line(const ProgressState& s, const std::string& numbers, int width);

}  // namespace shard::stdlib
