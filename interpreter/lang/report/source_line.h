// The line of a span, and under it the marks. Lines are measured in characters as a terminal shows them: a tab counts
// to the next multiple of four and is printed as blanks, UTF-8 continuation bytes count nothing, wide East Asian
// characters and emoji count two, control characters are shown as '?'.
#pragma once
#include <cstdint>
#include <string>
#include <string_view>

#include "grammar/source.h"

namespace shard::lang {

struct Paint {
  bool on;
  std::string operator()(const char* code, const std::string& s) const {
    return on ? std::string("\x1b[") + code + "m" + s + "\x1b[0m" : s;
  }
};

inline std::string blanks(std::size_t n) { return std::string(n, ' '); }

// Columns that it takes in a terminal: 0 for what is drawn over the one before, 2 for wide ones.
int columns_of(std::uint32_t c);

// `limit`: characters shown of a line; a longer one is cut around the span.
void draw_source(std::string& out, const Paint& paint, const grammar::SourceMap& sources, const grammar::Span& span,
                 int limit);

}  // namespace shard::lang
