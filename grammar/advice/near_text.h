// Rough looks at the text around a place, for advice only: strings and brackets are stepped over, nothing is parsed.
// Offsets are those of the text laid out (logical_lines.h); every function gives one that may be read, or the text's
// size.
#pragma once
#include <initializer_list>
#include <string>
#include <string_view>

#include "grammar/scan.h"
#include "grammar/state.h"

namespace shard::grammar {

std::string shortened(std::string_view text);  // a hundred bytes of it at most
bool one_of(std::string_view word, std::initializer_list<std::string_view> words);

class NearText {
 public:
  NearText(State& state, std::size_t at);

  Span span(std::size_t begin, std::size_t end) const;
  Span here() const { return span(at, at + token.size()); }  // of what stands at `at`
  bool expects(std::string_view what) const;                 // what the parse would have taken at `at`
  bool is_word(std::size_t at, std::size_t length) const;    // a whole word stands there
  std::size_t word(std::string_view w, std::size_t from, std::size_t to)
      const;  // where the word stands in [from, to), outside brackets and strings; else `to`
  std::size_t skip(std::size_t from) const;  // over blanks
  std::size_t back(std::size_t from) const;  // to the end of what stands before `from`, blanks left out
  bool between_statements() const;           // what is open at `at` is a block, or nothing
  std::string_view word_before(
      std::size_t from) const;  // the word that ends before `from`, blanks left out; may be empty
  std::size_t begin_of(std::string_view part) const { return static_cast<std::size_t>(part.data() - text.data()); }
  std::size_t end(std::size_t from,
                  std::string_view stops) const;        // the first of `stops` outside brackets that open after `from`
  std::size_t operand_begin(std::size_t before) const;  // where the expression before this place may begin

  State& state;
  std::string_view text;
  std::size_t at;
  std::string_view token;     // what stands at `at`
  std::size_t open = npos;    // the innermost bracket open at `at`
  std::size_t statement = 0;  // where the statement around `at` begins
};

}  // namespace shard::grammar
