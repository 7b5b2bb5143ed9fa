// Regular expressions, as instructions of a machine that is in all its states at once: the time is the product of both
// lengths whatever the pattern is, and nothing recurses over the text. RE2 does the same and is not used, as `matches`
// is all that needs it: linked statically (Debian 12, `--gc-sections`, functions of the same code folded) it adds 402
// KB to a program of 6.1 MB, where this is 285 lines; linked dynamically 1.7 million instructions to the 3.1 million of
// a start.
#pragma once
#include <stdexcept>
#include <string_view>
#include <vector>

namespace shard::stdlib {

// Says in one sentence what is wrong with a pattern.
struct BadPattern : std::runtime_error {
  using std::runtime_error::runtime_error;
};

class RegularExpression {
 public:
  // Characters, `.`, classes `[a-z]` and `\d \w \s` (and `\D \W \S`), groups, `|`, `* + ? {m,n}`, `^` and `$`.
  explicit RegularExpression(std::string_view pattern);
  bool fits_part_of(std::string_view text) const;
  std::size_t size() const { return program_.size(); }

  struct Characters {
    std::vector<std::pair<char32_t, char32_t>> ranges;
    bool negated = false;
  };
  enum class Do { Take, Split, Jump, Begin, End };
  struct Instruction {
    Do what;
    std::int32_t to = 0, or_to = 0;  // steps from here; of Take the number of its characters
  };
  using Program = std::vector<Instruction>;  // behind its last instruction it has found what it looks for

 private:
  std::vector<Characters> characters_;  // filled while the program is made
  Program program_;
};

}  // namespace shard::stdlib
