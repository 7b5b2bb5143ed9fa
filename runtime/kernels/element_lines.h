// How operands of an elementwise program lie that are not dense: in lines, whose elements are next to each other.
#pragma once
#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "runtime/array/view.h"

namespace shard::runtime {

// An output: lines of so many elements, which begin so many apart from each other.
struct OutputLines {
  std::int64_t length = 0, apart = 0;  // 0: it is dense
};
std::optional<OutputLines> lines_of(const View& v);  // nothing where it lies otherwise, or lines are short

// All operands: lines of elements at the same indices. Distances are in bytes.
struct ElementLines {
  static constexpr std::size_t kOperands = 64;  // at most
  struct Operand {
    bool spread;                      // one element for all of a line
    std::int64_t apart;               // from a line to the next one of `together`
    std::vector<std::int64_t> outer;  // by dimension before these
  };
  std::int64_t length = 0;          // elements
  std::int64_t together = 1;        // lines that follow each other at one distance, in every operand
  std::vector<std::int64_t> outer;  // sizes of the dimensions before these
  std::vector<Operand> operands;    // inputs, then outputs
  std::int64_t count() const;       // of all lines
  // Where a line begins, of each operand.
  void find(std::int64_t line, std::span<std::int64_t> begins) const;
};
// Nothing where an operand lies otherwise, and where lines are short, or long enough for tiles.
std::optional<ElementLines> element_lines(std::span<const View> in, std::span<const View> out);

}  // namespace shard::runtime
