// What each takes; where it ends is the scanner's (scan.h).
#include "grammar/terminals.h"

#include <algorithm>
#include <charconv>
#include <cmath>

#include "grammar/advice/advice.h"
#include "grammar/parse.h"
#include "grammar/scan.h"

namespace shard::grammar {
namespace {

std::string_view rest(const State& s, Iterator at) { return {at, static_cast<std::size_t>(s.end - at)}; }

std::string_view word_at(const State& s, Iterator at) {
  if (at >= s.end || !is_word_start(*at)) return {};
  return {at, word_end(rest(s, at), 0)};
}

void take(State& s, Iterator& at, std::size_t bytes) {
  at += bytes;
  skip_blanks(s, at);
}

char next_sign(State& s, Iterator at) {
  skip_blanks(s, at);
  return at < s.end ? *at : '\0';
}

// `at` is at the backslash.
void escape(State& s, Iterator& at, std::string& out) {
  const Iterator from = at++;
  const char c = at < s.end ? *at++ : '\n';
  constexpr std::string_view signs = "ntr0\\\"'abfve", values = {"\n\t\r\0\\\"'\a\b\f\v\x1b", 12};
  if (const std::size_t i = signs.find(c); i != std::string_view::npos) {
    out += values[i];
    return;
  }
  const int digits = c == 'x' ? 2 : c == 'u' ? 4 : c == 'U' ? 8 : 0;
  if (digits) {
    std::uint32_t code = 0;
    const Iterator stop = std::min(s.end, at + digits);
    const auto [end, error] = std::from_chars(at, stop, code, 16);
    if (error != std::errc{} || end != at + digits) {
      s.fail(s.span(from, end), std::string("`\\") + c + "` takes " + std::to_string(digits) + " hexadecimal digits");
    }
    if (code > 0x10FFFF || (code >= 0xD800 && code < 0xE000)) s.fail(s.span(from, end), "this is no character's code");
    at = end;
    append_utf8(out, code);
    return;
  }
  if (c == '{' || c == '}') {
    s.fail(s.span(from, at), std::string("a brace in a string is written twice: `") + c + c + "`", {},
           {{"write the brace twice", s.span(from, at), std::string(2, c), true}});
  }
  while (at < s.end && continues(*at)) ++at;  // a character of several bytes is shown whole
  s.fail(s.span(from, at), "`" + std::string(from, at) + "` is no escape",
         {"escapes are \\n \\t \\r \\\\ \\\" \\' \\0 \\xHH \\uHHHH; a backslash itself is \\\\"});
}

}  // namespace

void skip_blanks(State& s, Iterator& at) {
  while (at < s.end && is_blank(*at)) ++at;
}

bool take_symbol(State& s, Iterator& at, std::string_view symbol, bool quiet, bool blanks) {
  const std::string_view r = rest(s, at);
  bool fits = r.substr(0, symbol.size()) == symbol;
  if (fits && symbol == ".") fits = r.substr(0, 2) != "..";
  if (fits && symbol == "=") fits = r.substr(0, 2) != "==";
  if (fits) {
    at += symbol.size();
    if (blanks) skip_blanks(s, at);
    return true;
  }
  if (!quiet) s.expect(at, symbol, true);
  return false;
}

bool take_keyword(State& s, Iterator& at, std::string_view word, bool quiet) {
  if (word_at(s, at) != word) {
    if (!quiet) s.expect(at, word, true);
    return false;
  }
  take(s, at, word.size());
  return true;
}

bool take_word(State& s, Iterator& at, WordKind kind, std::string_view expected, Word& out) {
  const std::string_view w = word_at(s, at);
  if (w.empty() || (kind == WordKind::Name && is_keyword(w))) {
    if (!expected.empty()) s.expect(at, expected);
    return false;
  }
  if (kind == WordKind::New && is_keyword(w))
    s.fail(s.span(at, w.size()), "`" + std::string(w) + "` is a keyword and cannot be redefined");
  out.text = w;
  out.span = s.span(at, w.size());
  take(s, at, w.size());
  return true;
}

bool take_newline(State& s, Iterator& at) {
  if (at >= s.end || (*at != '\n' && *at != ';')) return false;
  take(s, at, 1);
  return true;
}

bool take_end(State& s, Iterator& at) {
  if (at >= s.end) return true;
  s.expect(at, "");
  return false;
}

bool take_operator(State& s, Iterator& at, bool sizes, Link& out) {
  const BinaryRow* row = binary_at(rest(s, at));
  if (!row || (sizes && !row->in_sizes)) return false;
  out.binary = row;
  out.span = s.span(at, row->token.size());
  take(s, at, row->token.size());
  return true;
}

bool take_sign(State& s, Iterator& at, Link& out) {
  const UnaryRow* row = unary_at(rest(s, at));
  if (!row) return false;
  if (row->op == UnaryOp::BitNot) {  // `~f32[]` is a type
    Iterator type = at + 1;
    std::string dtype;
    if (take_dtype(s, type, false, dtype)) return false;
  }
  out.prefix = row;
  out.span = s.span(at, row->token.size());
  take(s, at, row->token.size());
  return true;
}

bool take_dtype(State& s, Iterator& at, bool keys, std::string& out) {
  const std::string_view w = word_at(s, at);
  if (!(is_dtype(w) || (keys && w == "key")) || next_sign(s, at + w.size()) != '[') return false;
  out = w;
  take(s, at, w.size());
  return true;
}

bool take_text(State& s, Iterator& at, std::string& out) {
  const Iterator from = at, end = at + literal_end(rest(s, at), 0);
  while (at < end) {
    if (*at == '\\') {
      escape(s, at, out);
      continue;
    }
    if (*at == '}' && (at + 1 >= s.end || at[1] != '}'))
      s.fail(s.span(at, std::size_t{1}), "a `}` in a string is written `}}`", {},
             {{"write the brace twice", s.span(at, std::size_t{1}), "}}", true}});
    out += *at;
    at += *at == '{' || *at == '}' ? 2 : 1;
  }
  return at != from;
}

bool take_format(State& s, Iterator& at, std::string& out) {
  if (at >= s.end || *at != ':') return false;
  const Iterator from = ++at;
  at += format_end(rest(s, at), 0);
  out.assign(from, at);
  return true;
}

bool at_record(State& s, Iterator at) {
  Scanner scan(rest(s, at));
  return scan.text(scan.solid()) == "}" || opens_record(rest(s, at));
}

bool at_groups(State& s, Iterator at) {
  Word tag;
  if (!take_symbol(s, at, "{", true, true) || !take_word(s, at, WordKind::Any, {}, tag) || next_sign(s, at) != ':')
    return false;
  return is_group(tag.text);
}

bool at_function(State& s, Iterator at, bool named) {
  for (;;) {
    const std::string_view w = word_at(s, at);
    if (w == "fn") {
      if (!named) return true;
      take(s, at, w.size());
      return !word_at(s, at).empty();
    }
    if (w != "jit" && w != "manual" && w != "auto" && w != "explicit") return false;
    take(s, at, w.size());
    if (w != "jit" && at < s.end && *at == '(')  // what stands in the parentheses is the rule's matter
      take(s, at, bracket_end(rest(s, at), 0));
  }
}

bool at_statement_word(State& s, Iterator at, std::string_view word) {
  if (!take_keyword(s, at, word, true) || at >= s.end) return false;
  if (word == "test" && *at == '.') {
    if (!take_keyword(s, ++at, "skip", true) || at >= s.end) return false;
  }
  if (word == "test") return *at == '"';
  const std::string_view next = word_at(s, at);
  return *at == '{' || (!next.empty() && next != "and" && next != "or" && next != "as" && next != "in" &&
                        next != "on" && next != "not");
}

Node number(State& s, Iterator begin, Iterator end) {
  if (end < s.end && is_word_part(*end)) fail_number_runs_on(s, begin, end);
  std::string digits;
  std::copy_if(begin, end, std::back_inserter(digits), [](char c) { return c != '_'; });
  const Span span = s.span(begin, end);
  const bool hex = digits.size() > 1 && (digits[1] == 'x' || digits[1] == 'X');
  if (!hex && digits.find_first_of(".eE") != std::string::npos) {
    double value = 0;
    const auto [_, error] = std::from_chars(digits.data(), digits.data() + digits.size(), value);
    if (error == std::errc::result_out_of_range) {
      if (digits.find("e-") == std::string::npos && digits.find("E-") == std::string::npos) {
        s.fail(span, "this number is too large for a 64-bit float",
               {"the largest is about 1.8e308; infinity is `inf`"});
      }
      value = 0;
    }
    return FloatLit{value};
  }
  check_digit_after_dot(s, begin, end);
  std::int64_t value = 0;
  const char* first = digits.data() + (hex ? 2 : 0);
  const auto [_, error] = std::from_chars(first, digits.data() + digits.size(), value, hex ? 16 : 10);
  if (error != std::errc{}) {
    s.fail(span, "this integer does not fit in 64 bits",
           {"the largest is 9223372036854775807; write a float as 1.0e20"});
  }
  return IntLit{value};
}

std::string_view found(State& s, Iterator at) {
  if (at >= s.end) return {};
  const std::string_view text = rest(s, at);
  const Token t = Scanner(text, Strings::Whole).next();
  const bool starts =
      t && t.begin == 0 && t.kind != TokenKind::Comment;  // it may stand at a blank, or a `#` in a string
  return text.substr(0, starts ? t.end : 1);
}

}  // namespace shard::grammar
