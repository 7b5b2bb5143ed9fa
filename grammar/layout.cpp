// Pass 1, a single walk over the bytes with a stack of open brackets.
#include "grammar/layout.h"

#include <algorithm>
#include <array>

#include "grammar/characters.h"

namespace shard::grammar {

bool is_word_start(char c) { return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_'; }
bool is_word_part(char c) { return is_word_start(c) || (c >= '0' && c <= '9'); }

namespace {

bool is_digit(char c) { return c >= '0' && c <= '9'; }
// The first place from `at` that is neither blank, newline nor comment.
std::size_t skip_void(std::string_view s, std::size_t at) {
  for (; at < s.size(); ++at) {
    if (s[at] == '#')
      at = std::min(s.find('\n', at), s.size() - 1);
    else if (!is_blank(s[at]) && s[at] != '\n')
      break;
  }
  return at;
}

// After these a statement goes on in the next line. `...` ends none, so it is looked for first.
constexpr std::array<std::string_view, 29> joining = {"|>", "**", "->", "-=", "+=", "*=", "/=", "..", "<<", ">>",
                                                      "<=", ">=", "==", "!=", "//", "|",  "&",  "+",  "-",  "*",
                                                      "/",  "%",  "@",  "<",  ">",  "=",  ",",  ":",  "~"};
constexpr std::array<std::string_view, 6> joining_words = {"and", "or", "not", "as", "in", "shard"};

class LayoutWalk {
 public:
  LayoutWalk(std::string_view source, std::uint32_t id, Layout& out) : source_(source), id_(id), out_(out) {
    out_.text.assign(source);
    out_.text += '\n';
  }

  void run() {
    if (const std::size_t bad = not_utf8(source_); bad != std::string_view::npos) {
      out_.without_rest = true;
      return fail(bad, bad + 1, "the text is not UTF-8 from here on");
    }
    if (source_.substr(0, 3) == "\xEF\xBB\xBF") {
      out_.text.replace(0, 3, "   ");
      at_ = 3;
    }
    while (at_ < out_.text.size() && out_.diagnostics.empty()) step();
    if (out_.diagnostics.empty() && !open_.empty()) {
      const Open& o = early_.at != npos ? early_ : open_.back();
      out_.open_at_end = true;
      fail(o.at, o.at + 1, quoted(o.sign) + opened(o) + " is never closed", where_it_ends(o));
    }
  }

 private:
  struct Open {
    char sign;
    bool newlines_count;
    bool in_string;
    std::size_t at;
    std::size_t indent = 0;  // of its line
  };

  static constexpr std::size_t npos = std::string_view::npos;

  std::size_t line_begin(std::size_t at) const {
    const std::size_t newline = at == 0 ? npos : source_.rfind('\n', at - 1);
    return newline == npos ? 0 : newline + 1;
  }
  std::size_t indent_of(std::size_t at) const {  // of the line around it
    std::size_t i = line_begin(at);
    const std::size_t begin = i;
    while (i < source_.size() && is_blank(source_[i])) ++i;
    return i - begin;
  }
  std::string line_number(std::size_t at) const {
    return std::to_string(1 + std::count(source_.begin(), source_.begin() + static_cast<std::ptrdiff_t>(at), '\n'));
  }

  // Where a block should have ended, as the indentation shows it.
  std::vector<std::string> where_it_ends(const Open& o) const {
    if (o.sign != '{' || o.in_string) return {};
    const std::size_t own = indent_of(o.at);
    for (std::size_t line = source_.find('\n', o.at); line != npos && line + 1 < source_.size();
         line = source_.find('\n', line + 1)) {
      const std::size_t first = line + 1 + indent_of(line + 1);
      if (first >= source_.size() || source_[first] == '\n' || source_[first] == '#') continue;
      if (indent_of(first) <= own)
        return {"line " + line_number(first) + " stands as far left as line " + line_number(o.at) +
                ": the `}` belongs before it"};
    }
    return {};
  }

  char peek(std::size_t ahead = 0) const { return at_ + ahead < out_.text.size() ? out_.text[at_ + ahead] : '\0'; }
  static std::string quoted(char c) { return std::string("`") + c + "`"; }
  std::string opened(const Open& o) const {
    const auto line = 1 + std::count(source_.begin(), source_.begin() + static_cast<std::ptrdiff_t>(o.at), '\n');
    return (o.in_string ? " in a string opened at line " : " opened at line ") + std::to_string(line);
  }
  void fail(std::size_t begin, std::size_t end, std::string message, std::vector<std::string> notes = {},
            std::vector<Fix> fixes = {}) {
    out_.broken_at = begin;
    out_.diagnostics.push_back(
        {"syntax", span(begin, end), std::move(message), std::move(notes), std::move(fixes), {}});
  }
  Span span(std::size_t begin, std::size_t end) const {
    return {id_, static_cast<std::uint32_t>(begin), static_cast<std::uint32_t>(std::min(end, source_.size()))};
  }

  void step() {
    const char c = peek();
    if (c == '\n') return newline();
    if (is_blank(c)) {
      ++at_;
      return;
    }
    if (first_ == npos) first_ = at_;
    const bool in_hole = !open_.empty() && open_.back().in_string;
    if (c == '#' && !in_string()) return comment();
    if (c == '"') {
      ++at_;
      joins_ = false;
      return string(at_ - 1);
    }
    if (c == '\'') return single_quotes();
    if (c == '(' || c == '[' || c == '{') return open(c);
    if (c == ')' || c == ']' || c == '}') return close(c);
    if (c == ':' && in_hole) return format();
    if (is_word_start(c)) return word();
    if (is_digit(c)) {  // with its letters, so that they are no word; a dot only where a digit follows
      while (is_word_part(peek()) || (peek() == '.' && is_digit(peek(1)))) ++at_;
      joins_ = false;
      return;
    }
    sign();
  }

  bool in_string() const {
    return std::any_of(open_.begin(), open_.end(), [](const Open& o) { return o.in_string; });
  }

  // A newline that does not end a statement becomes a blank.
  void newline() {
    const std::size_t here = at_++;
    line_ = at_;
    first_ = npos;
    if (in_string()) {
      const Open& o = *std::find_if(open_.rbegin(), open_.rend(), [](const Open& x) { return x.in_string; });
      return fail(o.at, here, quoted(o.sign) + opened(o) + " is not closed on its line",
                  {"a string stands on one line, with all that it interpolates"});
    }
    if (here + 1 == out_.text.size() && !joins_) return;
    if (joins_ || (!open_.empty() && !open_.back().newlines_count) || next_line_joins(at_)) out_.text[here] = ' ';
  }

  bool next_line_joins(std::size_t from) {
    if (from <= next_line_) return next_line_joins_;  // a run of empty lines and comments is looked at once
    const std::string_view s = source_;
    next_line_ = skip_void(s, from);
    const std::string_view rest = s.substr(std::min(next_line_, s.size()));
    next_line_joins_ = (rest.size() > 1 && rest[0] == '.' && is_word_start(rest[1])) || rest.substr(0, 2) == "|>" ||
                       (rest.substr(0, 4) == "else" && (rest.size() == 4 || !is_word_part(rest[4])));
    return next_line_joins_;
  }

  void comment() {
    const std::size_t begin = at_;
    std::size_t end = out_.text.find('\n', at_);
    std::size_t line = begin;
    while (line > 0 && is_blank(out_.text[line - 1])) --line;
    if (peek(1) == '#' && (line == 0 || source_[line - 1] == '\n')) {
      std::string_view text = source_.substr(begin + 2, end - begin - 2);
      if (!text.empty() && text[0] == ' ') text.remove_prefix(1);
      while (!text.empty() && is_blank(text.back())) text.remove_suffix(1);
      out_.docs.push_back({static_cast<std::uint32_t>(line), static_cast<std::uint32_t>(end + 1), std::string(text)});
    }
    std::fill(out_.text.begin() + static_cast<std::ptrdiff_t>(begin),
              out_.text.begin() + static_cast<std::ptrdiff_t>(end), ' ');
    at_ = end;
  }

  // The literal part of a string from at_ on: to its end, or to a `{` that opens an interpolation.
  void string(std::size_t quote) {
    for (;;) {
      const char c = peek();
      if (c == '\n' || at_ + 1 >= out_.text.size()) {
        // A `{` before the quote makes of the string's end the beginning of another one.
        const bool swallowed = !open_.empty() && open_.back().in_string;
        if (swallowed)
          return fail(open_.back().at, open_.back().at + 1, "`{` in a string begins a value, and no `}` ends it",
                      {"write `\"loss {loss:.4f}\"`; a brace itself is `{{`"});
        return fail(quote, at_, "the string is not closed on its line",
                    {"a string stands on one line; write a new line in it as \\n"});
      }
      if (c == '"') {
        ++at_;
        return;
      }
      if (c == '\\' && peek(1) != '\n')
        at_ += 2;
      else if (c == '{' && peek(1) == '{')
        at_ += 2;
      else if (c == '{') {
        strings_.push_back(quote);
        return push({'{', false, true, at_++});
      } else
        ++at_;
    }
  }

  void format() {  // after the `:` of an interpolation, up to its `}`
    ++at_;
    while (peek() != '}' && peek() != '{' && peek() != '"' && peek() != '\n') ++at_;
  }

  void single_quotes() {
    const char before = at_ > 0 ? source_[at_ - 1] : ' ';
    if (is_word_part(before) || before == ')' || before == ']')
      return fail(at_, at_ + 1, "the transpose is a field: `x.T`", {}, {{"write `.T`", span(at_, at_ + 1), ".T"}});
    std::size_t end = source_.find_first_of("'\n", at_ + 1);
    if (end == std::string_view::npos || source_[end] == '\n') {
      return fail(at_, at_ + 1, "`'` has no meaning here", {"strings stand in double quotes: \"abc\""});
    }
    std::string text(source_.substr(at_ + 1, end - at_ - 1));
    for (std::size_t i = 0; (i = text.find('"', i)) != std::string::npos; i += 2) text.insert(i, "\\");
    text = '"' + text + '"';
    fail(at_, end + 1, "a string stands in double quotes: " + text, {},
         {{"use double quotes", span(at_, end + 1), text, true}});
  }

  void open(char c) {
    joins_ = false;
    const bool block = c == '{' && !opens_record(source_.substr(std::min(at_ + 1, source_.size())));
    push({c, block, false, at_++});
  }

  void push(Open o) {
    if (open_.size() >= bracket_limit) {
      return fail(o.at, o.at + 1, "brackets nest more than " + std::to_string(bracket_limit) + " deep",
                  {"give the inner parts names with `let`"});
    }
    o.indent = first_ == npos ? 0 : first_ - line_;
    open_.push_back(o);
    joins_ = false;
  }

  void close(char c) {
    if (open_.empty()) return fail(at_, at_ + 1, quoted(c) + " closes nothing: no bracket is open here");
    const Open o = open_.back();
    const char want = o.sign == '(' ? ')' : o.sign == '[' ? ']' : '}';
    if (c != want) {
      fail(at_, at_ + 1,
           quoted(o.sign) + opened(o) + " is never closed: " + quoted(want) + " should come before this " + quoted(c));
      out_.broken_at = o.at;
      return;
    }
    // A `}` that stands further left than what it closes: another one is missing before it.
    if (o.newlines_count && early_.at == npos && at_ == first_ && first_ - line_ < o.indent) early_ = o;
    open_.pop_back();
    ++at_;
    joins_ = false;
    if (o.in_string) {
      const std::size_t quote = strings_.back();
      strings_.pop_back();
      string(quote);
    }
  }

  void word() {
    const std::size_t begin = at_;
    while (is_word_part(peek())) ++at_;
    const std::string_view w = source_.substr(begin, at_ - begin);
    const bool field = begin > 0 && source_[begin - 1] == '.' && (begin < 2 || source_[begin - 2] != '.');
    joins_ = !field && std::find(joining_words.begin(), joining_words.end(), w) != joining_words.end();
  }

  void sign() {
    const std::string_view rest = std::string_view(out_.text).substr(at_);
    if (rest.substr(0, 3) == "...") {
      at_ += 3;
      joins_ = false;
      return;
    }
    if (rest.substr(0, 2) == "++" ||
        rest.substr(0, 2) == "--") {  // `i++` at the end of a line goes on nowhere: it is to be told of
      const std::size_t after = rest.find_first_not_of(" \t\r", 2);
      if (after == std::string_view::npos || rest[after] == '\n' || rest[after] == '#') {
        at_ += 2;
        joins_ = false;
        return;
      }
    }
    for (std::string_view s : joining) {
      if (rest.substr(0, s.size()) == s) {
        at_ += s.size();
        joins_ = true;
        return;
      }
    }
    ++at_;
    joins_ = false;
  }

  std::string_view source_;
  std::uint32_t id_;
  Layout& out_;
  std::size_t at_ = 0;
  std::vector<Open> open_;
  std::vector<std::size_t> strings_;     // the opening quotes of the strings around an interpolation
  Open early_{'{', true, false, npos};   // a block that a `}` of another one closes, as the indentation shows
  std::size_t line_ = 0, first_ = npos;  // where the line begins, and what it holds
  bool joins_ = false;                   // the last token lets its statement go on in the next line
  std::size_t next_line_ = 0;
  bool next_line_joins_ = false;
};

}  // namespace

namespace {

// Behind the string that begins at `at`, or at the end of the line where it is not closed.
std::size_t behind_string(std::string_view rest, std::size_t at) {
  for (++at; at < rest.size() && rest[at] != '"' && rest[at] != '\n'; ++at)
    if (rest[at] == '\\') ++at;
  return std::min(at + 1, rest.size());
}

// Behind the bracket that closes the one at `at`.
std::size_t behind_brackets(std::string_view rest, std::size_t at) {
  for (int open = 0; at < rest.size();) {
    if (rest[at] == '"') {
      at = behind_string(rest, at);
      continue;
    }
    open += rest[at] == '[';
    open -= rest[at] == ']';
    ++at;
    if (open == 0) break;
  }
  return at;
}

}  // namespace

bool opens_record(std::string_view rest) {
  std::size_t at = skip_void(rest, 0);
  if (at >= rest.size()) return false;
  if (rest.substr(at, 3) == "...") return true;
  if (is_word_start(rest[at])) {
    while (at < rest.size() && is_word_part(rest[at])) ++at;
  } else if (rest[at] == '"') {
    at = behind_string(rest, at);
    if (rest[at - 1] != '"') return false;
  } else if (rest[at] == '[') {
    at = behind_brackets(rest, at);
  } else {
    return false;
  }
  at = skip_void(rest, at);
  return at < rest.size() && rest[at] == ':';
}

Layout lay_out(std::string_view source, std::uint32_t id) {
  Layout out;
  LayoutWalk(source, id, out).run();
  return out;
}

std::string Layout::doc_above(std::uint32_t offset) const {
  std::uint32_t line = offset;  // where the line of `offset` begins
  while (line > 0 && is_blank(text[line - 1])) --line;
  auto last =
      std::upper_bound(docs.begin(), docs.end(), line, [](std::uint32_t at, const DocLine& d) { return at < d.end; });
  while (last != docs.begin() && (last - 1)->end == line) { line = (--last)->begin; }
  std::string doc;
  for (auto d = last; d != docs.end() && d->end <= offset; ++d) doc += (d == last ? "" : "\n") + d->text;
  return doc;
}

}  // namespace shard::grammar
