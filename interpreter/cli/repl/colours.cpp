#include "interpreter/cli/repl/colours.h"

#include <algorithm>

#include "grammar/parse.h"
#include "grammar/scan.h"
#include "runtime/array/dtype.h"

namespace shard::cli {
namespace {

using grammar::TokenKind;

Ink ink_of(TokenKind kind, std::string_view text) {
  switch (kind) {
    case TokenKind::Comment: return Ink::Comment;
    case TokenKind::Number: return Ink::Number;
    case TokenKind::Text:
    case TokenKind::Format: return Ink::String;
    case TokenKind::Word:
      return runtime::dtype_named(text) ? Ink::Type : grammar::is_keyword(text) ? Ink::Keyword : Ink::Plain;
    default: return Ink::Plain;
  }
}

}  // namespace

std::vector<Ink> inks_of(std::string_view text) {
  std::vector<Ink> out(text.size(), Ink::Plain);
  grammar::Scanner scan(text);
  bool axis = false;  // a word follows its `@` directly
  for (grammar::Token t = scan.next(); t; t = scan.next()) {
    const auto place = [&](std::size_t at) { return out.begin() + static_cast<std::ptrdiff_t>(at); };
    std::fill(place(t.begin - axis), place(t.end), axis ? Ink::Axis : ink_of(t.kind, scan.text(t)));
    axis = scan.text(t) == "@" && t.end < text.size() && grammar::is_word_part(text[t.end]);
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
