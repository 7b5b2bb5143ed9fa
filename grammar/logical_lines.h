// Pass 1: the lines of a text. It makes a copy of the same length, so that offsets hold, in which every comment and
// every newline that does not end a statement is blank; it knows the scanner's tokens and nothing else of the grammar.
// Here stand the errors that only this pass can name well: unbalanced brackets, unterminated strings, 'abc', too many
// brackets. Called by parse.cpp. The rules are in language.md, section 1.
#pragma once
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "grammar/diagnostic.h"
#include "grammar/source.h"

namespace shard::grammar {

constexpr int bracket_limit = 200;

// A line that holds a `##` comment only; end: where the next line begins.
struct DocLine {
  std::uint32_t begin, end;
  std::string text;
};

struct Layout {
  std::string text;           // one newline longer than the source, so that the last statement ends as the others do
  std::vector<DocLine> docs;  // in the order of the text
  std::vector<Diagnostic> diagnostics;  // where there is one, the text must not be parsed
  bool without_rest = false;            // nothing behind it can be read either
  std::size_t broken_at = 0;            // where what does not fit begins: the bracket, for one that is never closed
  bool open_at_end = false;             // the diagnostic is about a bracket that more text could close
  // The `##` lines directly above the line of `offset`, joined by newlines.
  std::string doc_above(std::uint32_t offset) const;
};

Layout lay_out(std::string_view source, std::uint32_t id);

}  // namespace shard::grammar
