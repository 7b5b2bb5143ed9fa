// Regular expressions, as instructions of a machine that is in all its states at once: the time is the product of both
// lengths whatever the pattern is, and nothing recurses over the text. RE2 does the same and is not used, as `matches`
// is all that needs it: linked statically (Debian 12, `--gc-sections`, functions of the same code folded) it adds 402
// KB to a program of 6.1 MB, where this is 285 lines; linked dynamically 1.7 million instructions to the 3.1 million of
// a start.
#pragma once
#include <optional>
#include <stdexcept>
#include <string_view>

namespace shard::stdlib {

// Says in one sentence what is wrong with a pattern.
struct BadPattern : std::runtime_error {
  using std::runtime_error::runtime_error;
};

// Whether it fits a part of the text; nothing where that would take more steps. Characters, `.`, classes `[a-z]` and
// `\d \w \s` (and `\D \W \S`), groups, `|`, `* + ? {m,n}`, `^` and `$`.
std::optional<bool> fits_part_of(std::string_view text, std::string_view pattern, std::size_t most_steps);

}  // namespace shard::stdlib
