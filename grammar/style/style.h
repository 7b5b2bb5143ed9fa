// The one style of Shard's texts, as `shard fmt` writes it: blanks between tokens, two blanks a level of indentation,
// 100 columns. Lines are kept as they were broken; a longer one is broken where its outermost bracket or its loosest
// operator lets it. Comments stay in their lines and blank lines in their places (one where there were several).
#pragma once
#include <string>
#include <string_view>

namespace shard::grammar::style {

inline constexpr std::size_t kColumns = 100;

// The text anew. It must be one that parses.
std::string formatted(std::string_view text);

}  // namespace shard::grammar::style
