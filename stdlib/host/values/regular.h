// Regular expressions, as instructions of a machine that is in all its states at once: the time is the product of both
// lengths whatever the pattern is, and nothing recurses over the text.
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
