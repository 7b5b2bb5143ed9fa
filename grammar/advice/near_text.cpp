// The scans. All are linear in the text; they run once, after a parse has failed.
#include "grammar/advice/near_text.h"

#include <algorithm>

#include "grammar/terminals.h"

namespace shard::grammar {

bool one_of(std::string_view word, std::initializer_list<std::string_view> words) {
  return std::find(words.begin(), words.end(), word) != words.end();
}

std::string shortened(std::string_view text) {
  const std::string_view begin = whole_characters(text, 100);
  return std::string(begin) + (begin.size() < text.size() ? "..." : "");
}

NearText::NearText(State& s, std::size_t where)
    : state(s),
      text(s.begin, static_cast<std::size_t>(s.end - s.begin)),
      at(std::min(where, text.size())),
      token(found(s, s.begin + at)) {
  struct Level {
    std::size_t open, statement;
  };
  std::vector<Level> levels{{npos, 0}};
  Scanner scan(text);
  for (Token t = scan.next(); t && t.begin < at; t = scan.next()) {
    if (t.kind == TokenKind::Open) levels.push_back({t.begin, t.end});
    if (t.kind == TokenKind::Close && levels.size() > 1) levels.pop_back();
    if (t.kind == TokenKind::Newline || scan.text(t) == ";") levels.back().statement = t.end;
  }
  open = levels.back().open;
  for (auto level = levels.rbegin(); level != levels.rend();
       ++level) {  // brackets other than blocks are part of a statement
    statement = level->statement;
    if (level->open == npos || text[level->open] == '{') break;
  }
  statement = skip(statement);
}

bool NearText::between_statements() const {
  if (open == npos || text[open] != '{') return open == npos;
  const std::size_t before = back(open);  // `= {a, b`: a record, whose fields begin on its line
  const bool value = before == 0 || std::string_view("=(,:[").find(text[before - 1]) != npos;
  return !value || text.substr(open, statement - open).find('\n') != npos;
}

Span NearText::span(std::size_t begin, std::size_t end) const {
  const auto size = static_cast<std::size_t>(state.layout.text.size() - 1);
  return {state.source, static_cast<std::uint32_t>(std::min(begin, size)),
          static_cast<std::uint32_t>(std::min(std::max(begin, end), size))};
}

bool NearText::expects(std::string_view what) const {
  return std::any_of(state.expected.begin(), state.expected.end(),
                     [&](const State::Expected& e) { return e.what == what; });
}

bool NearText::is_word(std::size_t where, std::size_t length) const {
  if (where + length > text.size() || (where > 0 && is_word_part(text[where - 1]))) return false;
  return where + length == text.size() || !is_word_part(text[where + length]);
}

std::size_t NearText::word(std::string_view w, std::size_t from, std::size_t to) const {
  int depth = 0;
  Scanner scan(text, Strings::Whole, from);
  for (Token t = scan.next(); t && t.begin < to; t = scan.next()) {
    depth += (t.kind == TokenKind::Open) - (t.kind == TokenKind::Close);
    if (depth <= 0 && t.kind == TokenKind::Word && scan.text(t) == w) return t.begin;
  }
  return to;
}

std::size_t NearText::skip(std::size_t from) const {
  while (from < text.size() && is_blank(text[from])) ++from;
  return from;
}

std::size_t NearText::back(std::size_t from) const {
  from = std::min(from, text.size());
  while (from > 0 && is_blank(text[from - 1])) --from;
  return from;
}

std::string_view NearText::word_before(std::size_t from) const {
  const std::size_t end = back(from);
  std::size_t begin = end;
  while (begin > 0 && is_word_part(text[begin - 1])) --begin;
  const std::string_view w = text.substr(begin, end - begin);
  return !w.empty() && is_word_start(w[0]) ? w : std::string_view();
}

std::size_t NearText::end(std::size_t from, std::string_view stops) const {
  int depth = 0;
  Scanner scan(text, Strings::Whole, from);
  for (Token t = scan.next(); t; t = scan.next()) {
    if (depth == 0 && stops.find(text[t.begin]) != npos) return t.begin;
    depth += (t.kind == TokenKind::Open) - (t.kind == TokenKind::Close);
    if (depth < 0) return t.begin;
  }
  return text.size();
}

// The last place within its brackets where an expression may begin.
std::size_t NearText::operand_begin(std::size_t before) const {
  std::vector<std::size_t> begins{statement};
  Scanner scan(text, Strings::Whole, statement);
  for (Token t = scan.next(); t && t.end <= before; t = scan.next()) {
    const std::string_view token = scan.text(t);
    if (t.kind == TokenKind::Open) begins.push_back(t.end);
    if (t.kind == TokenKind::Close && begins.size() > 1) begins.pop_back();
    if (t.kind == TokenKind::Newline ||
        one_of(token, {",", ";", ":", "=", "+=", "-=", "*=", "/=", "return", "in", "let"}))
      begins.back() = t.end;
  }
  return skip(begins.back());
}

}  // namespace shard::grammar
