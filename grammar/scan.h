// The one scanner of scripts: text to tokens, in their order, with comments and ends of lines as tokens among them and
// blanks between. It knows words, numbers, signs, brackets, and strings with what they interpolate, in which strings
// stand again. Every text can be scanned, whole or begun in its middle: what does not fit ends with its line. What the
// tokens mean is up to the readers: logical lines, rules, recovery, advice, style, colours, completion, folding.
#pragma once
#include <cstdint>
#include <string_view>
#include <vector>

#include "grammar/characters.h"

namespace shard::grammar {

constexpr std::size_t npos = std::string_view::npos;

// Text: a string in quotes, or a literal part of one. Format: what follows a value in a string, with its `:`.
enum class TokenKind : std::uint8_t { End, Newline, Comment, Word, Number, Text, Format, Sign, Open, Close };

struct Token {
  TokenKind kind = TokenKind::End;
  std::size_t begin = 0, end = 0;
  // Of a Text: its first quote. Of an Open: the first quote of the string that interpolates there, else npos. Of a
  // Close: its bracket, or npos.
  std::size_t opened = npos;
  bool whole = true;  // false: a Text whose line ends before its quote
  explicit operator bool() const { return kind != TokenKind::End; }
};

// Parts: `"a {`, `x`, `:.2f`, `} b"` are read one by one; Whole: a string is one Text, with all that it interpolates.
enum class Strings : std::uint8_t { Parts, Whole };

class Scanner {
 public:
  explicit Scanner(std::string_view text, Strings strings = Strings::Parts, std::size_t from = 0)
      : text_(text), whole_(strings == Strings::Whole), at_(from) {}

  Token next();
  Token solid();  // the next one that is neither a comment nor the end of a line
  std::string_view text(const Token& t) const { return text_.substr(t.begin, t.end - t.begin); }

 private:
  struct Bracket {
    char sign;
    std::size_t at, quote;  // quote: of the string that interpolates, or npos
  };
  Token part();
  Token literal();
  Token open(std::size_t quote);
  Token close();
  void drop_strings();
  char peek() const { return at_ < text_.size() ? text_[at_] : '\0'; }

  std::string_view text_;
  bool whole_;
  std::size_t at_;
  std::size_t quote_ = npos;  // the string whose literal part goes on at at_
  std::vector<Bracket> open_;
  std::size_t strings_ = 0;  // brackets among them that interpolate
};

// Where what begins at `at` ends: a word, a number, the literal part of a string (at its quote, a `{` or the line's
// end), the format of a value in a string.
std::size_t word_end(std::string_view text, std::size_t at);
std::size_t number_end(std::string_view text, std::size_t at);
std::size_t literal_end(std::string_view text, std::size_t at);
std::size_t format_end(std::string_view text, std::size_t at);

// Past the bracket that closes the one at `at`.
std::size_t bracket_end(std::string_view text, std::size_t at);

// Whether the `{` before `rest` opens a record: what follows is `...`, or a word, a string or `[...]` and then `:`.
bool opens_record(std::string_view rest);

}  // namespace shard::grammar
