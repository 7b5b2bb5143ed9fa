#include "grammar/scan.h"

#include <algorithm>
#include <utility>

#include "grammar/operator_table.h"
#include "grammar/source.h"

namespace shard::grammar {
namespace {

constexpr std::size_t kFarthest =
    200;  // brackets that a closing one may leave open, in a text whose brackets do not fit

char closing(char open) { return open == '(' ? ')' : open == '[' ? ']' : '}'; }

}  // namespace

std::size_t word_end(std::string_view text, std::size_t at) {
  while (at < text.size() && is_word_part(text[at])) ++at;
  return at;
}

std::size_t number_end(std::string_view text, std::size_t at) {
  const auto peek = [&](std::size_t ahead) { return at + ahead < text.size() ? text[at + ahead] : '\0'; };
  const bool hexadecimal = peek(0) == '0' && (peek(1) == 'x' || peek(1) == 'X');
  while (is_word_part(peek(0)) || (peek(0) == '.' && is_digit(peek(1)))) {
    const bool power = !hexadecimal && (peek(0) == 'e' || peek(0) == 'E');
    ++at;
    if (power && (peek(0) == '-' || peek(0) == '+') && is_digit(peek(1))) ++at;
  }
  return at;
}

std::size_t literal_end(std::string_view text, std::size_t at) {
  for (; at < text.size() && text[at] != '"' && text[at] != '\n'; ++at) {
    const char next = at + 1 < text.size() ? text[at + 1] : '\n';
    if (text[at] == '{' && next != '{') return at;
    if (text[at] == '{' || (text[at] == '\\' && next != '\n')) ++at;
  }
  return at;
}

std::size_t format_end(std::string_view text, std::size_t at) {
  return std::min(text.find_first_of("{}\"\n", at), text.size());
}

Token Scanner::next() {
  Token t = part();
  if (!whole_ || t.kind != TokenKind::Text) return t;
  for (const std::size_t depth = open_.size(); quote_ != npos || open_.size() > depth;) {  // it interpolates
    const Token more = part();
    if (!more || more.kind == TokenKind::Newline) {
      drop_strings();
      t.whole = false;
      at_ = more.begin;
      break;
    }
    t.end = more.end;
    t.whole = more.whole;
  }
  return t;
}

Token Scanner::solid() {
  Token t = next();
  while (t.kind == TokenKind::Newline || t.kind == TokenKind::Comment) t = next();
  return t;
}

Token Scanner::part() {
  if (quote_ != npos) return literal();
  while (at_ < text_.size() && is_blank(text_[at_])) ++at_;
  Token t{TokenKind::End, at_, at_};
  if (at_ >= text_.size()) return t;
  const char c = text_[at_];
  if (c == '"') return literal();
  if (c == '(' || c == '[' || c == '{') return open(npos);
  if (c == ')' || c == ']' || c == '}') return close();
  if (c == '\n') {
    drop_strings();  // a string stands on one line
    t.kind = TokenKind::Newline;
    t.end = at_ + 1;
  } else if (c == '#' && strings_ == 0) {
    t.kind = TokenKind::Comment;
    t.end = std::min(text_.find('\n', at_), text_.size());
  } else if (is_word_start(c)) {
    t.kind = TokenKind::Word;
    t.end = word_end(text_, at_);
  } else if (is_digit(c)) {
    t.kind = TokenKind::Number;
    t.end = number_end(text_, at_);
  } else if (c == ':' && !open_.empty() && open_.back().quote != npos) {
    t.kind = TokenKind::Format;
    t.end = format_end(text_, at_ + 1);
  } else {
    t.kind = TokenKind::Sign;
    t.end = at_ + std::max<std::size_t>(sign_at(text_.substr(at_)).size(), 1);
    while (t.end < text_.size() && continues(text_[t.end])) ++t.end;
  }
  at_ = t.end;
  return t;
}

// From a quote, or from behind an interpolation.
Token Scanner::literal() {
  Token t{TokenKind::Text, at_, at_};
  if (quote_ == npos) quote_ = at_++;
  t.opened = quote_;
  at_ = literal_end(text_, at_);
  if (peek() == '{') {
    if (at_ == t.begin) return open(std::exchange(quote_, npos));
  } else {
    t.whole = peek() == '"';
    at_ += t.whole;
    quote_ = npos;
  }
  t.end = at_;
  return t;
}

Token Scanner::open(std::size_t quote) {
  open_.push_back({text_[at_], at_, quote});
  strings_ += quote != npos;
  const std::size_t begin = at_++;
  return {TokenKind::Open, begin, at_, quote};
}

// The innermost bracket of its kind, with all that were left open within.
Token Scanner::close() {
  const std::size_t begin = at_++, last = open_.size() - std::min(open_.size(), kFarthest);
  Token t{TokenKind::Close, begin, at_};
  std::size_t i = open_.size();
  while (i > last && closing(open_[i - 1].sign) != text_[begin] && open_[i - 1].quote == npos) --i;
  if (i == last || closing(open_[i - 1].sign) != text_[begin]) return t;
  t.opened = open_[i - 1].at;
  quote_ = open_[i - 1].quote;
  strings_ -= quote_ != npos;
  open_.resize(i - 1);
  return t;
}

void Scanner::drop_strings() {
  while (strings_ > 0) {
    strings_ -= open_.back().quote != npos;
    open_.pop_back();
  }
}

std::size_t bracket_end(std::string_view text, std::size_t at) {
  Scanner scan(text, Strings::Whole, at);
  for (Token t = scan.next(); t; t = scan.next())
    if (t.kind == TokenKind::Close && t.opened == at) return t.end;
  return text.size();
}

bool opens_record(std::string_view rest) {
  Scanner scan(rest, Strings::Whole);
  const Token first = scan.solid();
  if (scan.text(first) == "...") return true;
  if (first.kind == TokenKind::Open && rest[first.begin] == '[')
    scan = Scanner(rest, Strings::Whole, bracket_end(rest, first.begin));
  else if (first.kind != TokenKind::Word && !(first.kind == TokenKind::Text && first.whole))
    return false;
  return scan.text(scan.solid()) == ":";
}

}  // namespace shard::grammar
