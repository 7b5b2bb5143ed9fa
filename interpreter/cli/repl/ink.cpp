#include "interpreter/cli/repl/ink.h"

#include <algorithm>

#include "grammar/layout.h"
#include "grammar/parse.h"
#include "runtime/array/dtype.h"

namespace shard::cli {
namespace {

using grammar::is_word_part;
bool digit(char c) { return is_word_part(c) && !grammar::is_word_start(c); }

Ink ink_of_word(std::string_view word) {
  if (runtime::dtype_named(word)) return Ink::Type;
  return grammar::is_keyword(word) ? Ink::Keyword : Ink::Plain;
}

// Behind the string that begins at `at`.
std::size_t behind_string(std::string_view text, std::size_t at) {
  for (++at; at < text.size() && text[at] != '"'; ++at)
    if (text[at] == '\\') ++at;
  return std::min(at + 1, text.size());
}

std::size_t behind_number(std::string_view text, std::size_t at) {
  while (at < text.size()) {
    const bool exponent = (text[at] == 'e' || text[at] == 'E') && at + 1 < text.size() &&
                          (digit(text[at + 1]) || text[at + 1] == '-' || text[at + 1] == '+');
    const bool fraction = text[at] == '.' && at + 1 < text.size() && digit(text[at + 1]);
    if (!is_word_part(text[at]) && !fraction) break;
    at += exponent ? 2 : 1;
  }
  return std::min(at, text.size());
}

}  // namespace

std::vector<Ink> inks_of(std::string_view text) {
  std::vector<Ink> out(text.size(), Ink::Plain);
  for (std::size_t at = 0; at < text.size();) {
    std::size_t end = at + 1;
    Ink ink = Ink::Plain;
    if (text[at] == '"') {
      end = behind_string(text, at);
      ink = Ink::String;
    } else if (text[at] == '#') {
      end = std::min(text.find('\n', at), text.size());
      ink = Ink::Comment;
    } else if (digit(text[at])) {
      end = behind_number(text, at);
      ink = Ink::Number;
    } else if (is_word_part(text[at]) || (text[at] == '@' && at + 1 < text.size() && is_word_part(text[at + 1]))) {
      while (end < text.size() && is_word_part(text[end])) ++end;
      ink = text[at] == '@' ? Ink::Axis : ink_of_word(text.substr(at, end - at));
    }
    std::fill(out.begin() + static_cast<std::ptrdiff_t>(at), out.begin() + static_cast<std::ptrdiff_t>(end), ink);
    at = end;
  }
  return out;
}

std::string_view escape_of(Ink ink) {
  switch (ink) {
    case Ink::Keyword: return "\x1b[0;1;34m";
    case Ink::Type: return "\x1b[0;36m";
    case Ink::Number: return "\x1b[0;33m";
    case Ink::String: return "\x1b[0;32m";
    case Ink::Comment: return "\x1b[0;2m";
    case Ink::Axis: return "\x1b[0;35m";
    case Ink::Plain: break;
  }
  return "\x1b[0m";
}

std::string inked(std::string_view text) {
  const std::vector<Ink> inks = inks_of(text);
  std::string out;
  Ink now = Ink::Plain;
  for (std::size_t i = 0; i < text.size(); ++i) {
    if (inks[i] != now) out += escape_of(now = inks[i]);
    out += text[i];
  }
  return now == Ink::Plain ? out : out + std::string(escape_of(Ink::Plain));
}

}  // namespace shard::cli
