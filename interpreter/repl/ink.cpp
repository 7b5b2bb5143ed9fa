#include "interpreter/repl/ink.h"

#include <algorithm>
#include <cctype>

#include "grammar/parse.h"
#include "runtime/array/dtype.h"

namespace shard::repl {
namespace {

bool letter(char c) { return std::isalnum(static_cast<unsigned char>(c)) || c == '_'; }
bool digit(char c) { return std::isdigit(static_cast<unsigned char>(c)); }

Ink ink_of_word(std::string_view word) {
  const auto& keywords = grammar::all_keywords();
  if (std::find(keywords.begin(), keywords.end(), word) != keywords.end()) return Ink::Keyword;
  return runtime::dtype_named(word) ? Ink::Type : Ink::Plain;
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
    if (!letter(text[at]) && !fraction) break;
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
    } else if (letter(text[at]) || (text[at] == '@' && at + 1 < text.size() && letter(text[at + 1]))) {
      while (end < text.size() && letter(text[end])) ++end;
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

}  // namespace shard::repl
