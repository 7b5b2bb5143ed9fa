// Two arrays of short lines of four-byte elements, each line of the one before its line of the other: what joining
// along a late dimension makes of dense arrays.
#pragma once
#include <cstdint>
#include <optional>
#include <vector>

#include "runtime/array/view.h"
#include "runtime/kernels/vector/loop_table.h"

namespace shard::runtime {

class JoinedLines {
 public:
  // Along dimension `axis`; nothing where copies are as good.
  static std::optional<JoinedLines> of(const View& first, const View& second, const View& out, std::size_t axis);
  void run(const void* first, const void* second, void* out) const;

 private:
  std::int64_t lines_ = 0, first_ = 0, second_ = 0, round_ = 0;  // elements of a line of each; lines of a round
  std::vector<JoinedVector> vectors_;
};

}  // namespace shard::runtime
