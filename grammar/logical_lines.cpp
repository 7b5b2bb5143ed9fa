// Pass 1, a walk over the tokens with a stack of open brackets.
#include "grammar/logical_lines.h"

#include <algorithm>

#include "grammar/operator_table.h"
#include "grammar/scan.h"

namespace shard::grammar {
namespace {

class LayoutWalk {
 public:
  LayoutWalk(std::string_view source, std::uint32_t id, Layout& out) : source_(source), id_(id), out_(out) {
    out_.text.assign(source);
    out_.text += '\n';
  }

  void run() {
    if (const std::size_t bad = not_utf8(source_); bad != npos) {
      out_.without_rest = true;
      return fail(bad, bad + 1, "the text is not UTF-8 from here on");
    }
    const bool marked = source_.starts_with("\xEF\xBB\xBF");
    if (marked) out_.text.replace(0, 3, "   ");
    Scanner scan(source_, Strings::Parts, marked ? 3 : 0);
    for (Token t = scan.next(); t && out_.diagnostics.empty(); t = scan.next()) take(t);
    if (out_.diagnostics.empty()) end_of_text();
  }

 private:
  struct Open {
    char sign;
    bool newlines_count;
    bool in_string;
    std::size_t at;
    std::size_t indent = 0;  // of its line
  };

  std::string line_number(std::size_t at) const {
    return std::to_string(1 + std::count(source_.begin(), source_.begin() + static_cast<std::ptrdiff_t>(at), '\n'));
  }

  // Where a block should have ended, as the indentation shows it.
  std::vector<std::string> where_it_ends(const Open& o) const {
    if (o.sign != '{' || o.in_string) return {};
    const std::size_t own = indent_of(source_, o.at);
    for (std::size_t line = source_.find('\n', o.at); line != npos && line + 1 < source_.size();
         line = source_.find('\n', line + 1)) {
      const std::size_t first = line + 1 + indent_of(source_, line + 1);
      if (first >= source_.size() || source_[first] == '\n' || source_[first] == '#') continue;
      if (indent_of(source_, first) <= own)
        return {"line " + line_number(first) + " stands as far left as line " + line_number(o.at) +
                ": the `}` belongs before it"};
    }
    return {};
  }

  static std::string quoted(char c) { return std::string("`") + c + "`"; }
  std::string opened(const Open& o) const {
    return (o.in_string ? " in a string opened at line " : " opened at line ") + line_number(o.at);
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
  std::string_view text(const Token& t) const { return source_.substr(t.begin, t.end - t.begin); }

  void take(const Token& t) {
    if (t.kind == TokenKind::Newline) return newline(t.begin);
    if (first_ == npos) first_ = t.begin;
    if (t.kind == TokenKind::Comment) return comment(t);
    if (!waiting_.empty() && goes_on(t))
      for (const std::size_t at : waiting_) out_.text[at] = ' ';
    waiting_.clear();
    last_ = t;
    if (t.kind == TokenKind::Text && !t.whole) unclosed(t);
    if (t.kind == TokenKind::Open) open(t);
    if (t.kind == TokenKind::Close) close(t.begin);
    if (t.kind == TokenKind::Sign && source_[t.begin] == '\'') single_quotes(t.begin);
  }

  // Whether a line that begins with it goes on from the line above.
  bool goes_on(const Token& t) const {
    return text(t) == "|>" || text(t) == "else" ||
           (text(t) == "." && t.end < source_.size() && is_word_start(source_[t.end]));
  }
  // Whether the last token lets its statement go on in the next line.
  bool joins() const {
    if ((last_.kind != TokenKind::Word && last_.kind != TokenKind::Sign) || !goes_on_after(text(last_))) return false;
    const char c = source_[last_.begin], before = last_.begin > 0 ? source_[last_.begin - 1] : '\n';
    if (is_word_start(c)) return before != '.' || (last_.begin > 1 && source_[last_.begin - 2] == '.');  // no field
    return before != c || (c != '+' && c != '-');  // `i++` at the end of a line goes on nowhere: it is to be told of
  }

  bool breaks_string() {
    const auto hole = std::find_if(open_.rbegin(), open_.rend(), [](const Open& o) { return o.in_string; });
    if (hole == open_.rend()) return false;
    fail(hole->at, std::min(source_.find('\n', hole->at), source_.size()),
         quoted(hole->sign) + opened(*hole) + " is not closed on its line",
         {"a string stands on one line, with all that it interpolates"});
    return true;
  }

  // A newline that does not end a statement becomes a blank; some are known when the next line has begun.
  void newline(std::size_t at) {
    line_ = at + 1;
    first_ = npos;
    if (breaks_string()) return;
    if (joins() || (!open_.empty() && !open_.back().newlines_count))
      out_.text[at] = ' ';
    else
      waiting_.push_back(at);
  }

  void end_of_text() {
    if (breaks_string()) return;
    if (joins()) out_.text.back() = ' ';
    if (open_.empty()) return;
    const Open& o = early_.at != npos ? early_ : open_.back();
    out_.open_at_end = true;
    fail(o.at, o.at + 1, quoted(o.sign) + opened(o) + " is never closed", where_it_ends(o));
  }

  void comment(const Token& t) {
    if (text(t).starts_with("##") && t.begin == first_) {
      std::string_view doc = text(t).substr(2);
      if (!doc.empty() && doc[0] == ' ') doc.remove_prefix(1);
      while (!doc.empty() && is_blank(doc.back())) doc.remove_suffix(1);
      out_.docs.push_back({static_cast<std::uint32_t>(line_), static_cast<std::uint32_t>(t.end + 1), std::string(doc)});
    }
    out_.text.replace(t.begin, t.end - t.begin, t.end - t.begin, ' ');
  }

  void unclosed(const Token& string) {
    // A `{` before the quote makes of the string's end the beginning of another one.
    if (!open_.empty() && open_.back().in_string)
      return fail(open_.back().at, open_.back().at + 1, "`{` in a string begins a value, and no `}` ends it",
                  {"write `\"loss {loss:.4f}\"`; a brace itself is `{{`"});
    fail(string.opened, string.end, "the string is not closed on its line",
         {"a string stands on one line; write a new line in it as \\n"});
  }

  void single_quotes(std::size_t at) {
    const char before = at > 0 ? source_[at - 1] : ' ';
    if (is_word_part(before) || before == ')' || before == ']')
      return fail(at, at + 1, "the transpose is a field: `x.T`", {}, {{"write `.T`", span(at, at + 1), ".T"}});
    std::size_t end = source_.find_first_of("'\n", at + 1);
    if (end == std::string_view::npos || source_[end] == '\n') {
      return fail(at, at + 1, "`'` has no meaning here", {"strings stand in double quotes: \"abc\""});
    }
    std::string text(source_.substr(at + 1, end - at - 1));
    for (std::size_t i = 0; (i = text.find('"', i)) != std::string::npos; i += 2) text.insert(i, "\\");
    text = '"' + text + '"';
    fail(at, end + 1, "a string stands in double quotes: " + text, {},
         {{"use double quotes", span(at, end + 1), text, true}});
  }

  void open(const Token& t) {
    if (open_.size() >= bracket_limit)
      return fail(t.begin, t.end, "brackets nest more than " + std::to_string(bracket_limit) + " deep",
                  {"give the inner parts names with `let`"});
    const char sign = source_[t.begin];
    const bool in_string = t.opened != npos;
    open_.push_back(
        {sign, sign == '{' && !in_string && !opens_record(source_.substr(t.end)), in_string, t.begin, first_ - line_});
  }

  void close(std::size_t at) {
    const char c = source_[at];
    if (open_.empty()) return fail(at, at + 1, quoted(c) + " closes nothing: no bracket is open here");
    const Open o = open_.back();
    const char want = o.sign == '(' ? ')' : o.sign == '[' ? ']' : '}';
    if (c != want) {
      fail(at, at + 1,
           quoted(o.sign) + opened(o) + " is never closed: " + quoted(want) + " should come before this " + quoted(c));
      out_.broken_at = o.at;
      return;
    }
    // A `}` that stands further left than what it closes: another one is missing before it.
    if (o.newlines_count && early_.at == npos && at == first_ && first_ - line_ < o.indent) early_ = o;
    open_.pop_back();
  }

  std::string_view source_;
  std::uint32_t id_;
  Layout& out_;
  std::vector<Open> open_;
  Open early_{'{', true, false, npos};   // a block that a `}` of another one closes, as the indentation shows
  std::size_t line_ = 0, first_ = npos;  // where the line begins, and what it holds
  Token last_;                           // but comments and ends of lines
  std::vector<std::size_t> waiting_;     // newlines that end a statement unless the next line goes on with it
};

}  // namespace

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
