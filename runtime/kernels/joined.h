// Two arrays of short lines of four-byte elements as one whose lines have some of both: what joining dense arrays along
// a late dimension makes of them, or padding one with a number.
#pragma once
#include <cstdint>
#include <optional>
#include <vector>

#include "runtime/array/view.h"
#include "runtime/kernels/vector/loop_table.h"

namespace shard::runtime {

class JoinedLines {
 public:
  // Along dimension `axis`; nothing where copies are as good. Either array may be one element everywhere.
  static std::optional<JoinedLines> of(const View& first, const View& second, const View& out, std::size_t axis);
  // So many places of `out` before and behind those of `x`, which an array of one element everywhere fills.
  static std::optional<JoinedLines> padded(const View& x, std::int64_t low, std::int64_t high, const View& out,
                                           std::size_t axis);
  void run(const void* first, const void* second, void* out) const;

 private:
  enum From : char { kFirst, kSecond };
  // Of lines whose elements are, in order, the next ones of these arrays.
  static std::optional<JoinedLines> of_lines(const std::vector<From>& line, bool all_alike, const View& out);

  std::int64_t lines_ = 0, n_ = 0, round_ = 0;  // elements of a line; lines of a round
  std::int64_t first_ = 0, second_ = 0;         // elements that a line has of each array
  bool all_alike_ = false, swapped_ = false;    // the second, after they were swapped
  std::vector<JoinedVector> vectors_;
};

}  // namespace shard::runtime
