// The entry: layout, rules, then the checks of form; from a parse that could not go on to the sentence that says so,
// and on to the next error: the statement is left out and the rest parsed again.
#include "grammar/parse.h"

#include <algorithm>
#include <array>

#include <boost/spirit/home/x3.hpp>

#include "grammar/advice/advice.h"
#include "grammar/advice/near_text.h"
#include "grammar/rules.h"
#include "grammar/scan.h"
#include "grammar/stable_sort.h"

namespace shard::grammar {
namespace {

std::string listed_words(const std::vector<std::string>& words) {
  std::string out;
  for (std::size_t i = 0; i < words.size(); ++i)
    out += (i == 0 ? "" : i + 1 == words.size() ? " or " : ", ") + words[i];
  return out;
}

// "expected `,` or `)`, found `x`"
Diagnostic unexpected(State& s) {
  const char* at = s.furthest;
  const bool end = at >= s.end;
  const bool line_end = end || *at == '\n' || *at == ';';
  const std::string token(found(s, at));
  std::vector<std::string> expected;
  bool ended = false;  // a whole statement stands before this place
  const bool statement = std::any_of(s.expected.begin(), s.expected.end(),
                                     [](const State::Expected& e) { return e.what == "a statement"; });
  for (const State::Expected& e : s.expected) {
    if (e.what.empty())
      ended = true;
    else if (e.token)
      expected.push_back("`" + std::string(e.what) + "`");
    else if (!(statement && e.what == "an expression"))
      expected.emplace_back(e.what);
  }
  std::string message;
  if (expected.empty())
    message = ended ? "expected the end of the statement" : "this cannot stand here";
  else
    message = "expected " + listed_words(expected);
  if (end)
    message += ", but the text ends here";
  else if (*at == '\n')
    message += ", but the line ends here";
  else
    message += ", found " + std::string(!token.empty() && is_keyword(token) ? "the keyword " : "") + "`" +
               shortened(token) + "`";
  const char* last = at;  // where a line or the text ends too early, right after its last token
  while (line_end && last > s.begin && is_blank(last[-1])) --last;
  const Span span = line_end ? s.span(last, std::size_t{0}) : s.span(at, token.size());
  return {"syntax", span, message, {}, {}, {}};
}

// ---- after an error: what cannot be read is left out, and the rest parsed again -------------------------------------
struct Statement {
  std::size_t begin = 0, end = 0;
  std::size_t block = npos;  // the first `{` of a block that belongs to it, behind the error
};

// The innermost statement around `at`, in a text whose brackets fit.
Statement statement_around(std::string_view s, std::size_t at) {
  struct Level {
    bool block;
    std::size_t begin;  // of the statement at hand
  };
  std::vector<Level> open{{true, 0}};
  Statement found;
  std::size_t depth = 0;  // of the statement that was found, once it is
  Scanner scan(s, Strings::Whole);
  for (Token t = scan.next(); t; t = scan.next()) {
    if (!depth && t.begin >= at && open.back().block) {
      found.begin = open.back().begin;
      depth = open.size();
    }
    const bool ends = open.back().block && (t.kind == TokenKind::Newline || s[t.begin] == ';');
    if (depth == open.size() && (ends || (t.kind == TokenKind::Close && open.back().block))) {
      found.end = t.begin;
      return found;
    }
    if (ends) open.back().begin = t.end;
    if (t.kind == TokenKind::Close && open.size() > 1) open.pop_back();
    if (t.kind == TokenKind::Open) {
      const bool block = s[t.begin] == '{' && !opens_record(s.substr(t.end));
      if (depth == open.size() && block && found.block == npos) found.block = t.begin;
      open.push_back({block, t.end});
    }
  }
  found.end = s.size() - 1;
  if (!depth) found.begin = open.front().begin;
  return found;
}

std::string_view word_at(std::string_view s, std::size_t at) { return s.substr(at, word_end(s, at) - at); }

// What a header that cannot be read is replaced by, so that its block stays what it was.
std::string_view placeholder(std::string_view header) {
  const std::string_view word = word_at(header, 0);
  if (word == "for" || word == "while") return "while 1 ";
  if (word == "fn" || word == "jit" || word == "manual" || word == "def" || word == "function" || word == "func")
    return "fn _()";
  return word == "if" || word == "test" || word == "use" || word == "elif" ? "if 1 " : std::string_view();
}

bool begins_statement(std::string_view word) {
  static constexpr std::array<std::string_view, 14> words = {"let",   "fn",    "jit",      "manual", "for",
                                                             "while", "if",    "mesh",     "import", "return",
                                                             "use",   "break", "continue", "test"};
  return std::find(words.begin(), words.end(), word) != words.end();
}

void blank(std::string& text, std::size_t begin, std::size_t end) {
  std::fill(text.begin() + static_cast<std::ptrdiff_t>(begin), text.begin() + static_cast<std::ptrdiff_t>(end), ' ');
}

// Blanks the statement around `at`, where a parse of the laid-out text of `source` stopped, so that offsets hold. The
// header alone of a loop, an `if` or a function whose block goes on: the block stays one of such a statement. False
// where nothing is left to blank.
bool leave_out_statement(std::string& text, std::string_view source, std::size_t at) {
  at = std::min(at, text.size() - 1);
  Statement s = statement_around(text, at);
  while (s.begin < s.end && (is_blank(text[s.begin]) || text[s.begin] == '\n')) ++s.begin;
  if (s.begin >= s.end) return false;
  // A line that was to end the statement, and begins the next one: `let a =`, and then `let b = 2`.
  std::size_t line = at;
  while (line > s.begin && is_blank(text[line - 1])) --line;
  if (at > s.begin && at < s.end && begins_statement(word_at(text, at)) &&
      source.substr(line, at - line).find('\n') != npos) {
    blank(text, s.begin, at);
    text[line] = '\n';  // the newline that was taken for a blank
    return true;
  }
  const std::string_view other = placeholder(std::string_view(text).substr(s.begin));
  if (s.block != npos && at <= s.block && !other.empty() && s.begin + other.size() <= s.block) {
    blank(text, s.begin, s.block);
    text.replace(s.begin, other.size(), other);
    return true;
  }
  blank(text, s.begin, s.end);
  return true;
}

// Blanks, in a source whose brackets or strings do not fit, the lines that belong to the one of `opened` as their
// indentation shows: the line, and those further to the right below. `opened`: where the bracket stands that is never
// closed.
bool leave_out_lines(std::string& source, std::size_t opened) {
  if (opened >= source.size()) return false;
  const std::size_t begin = line_begin(source, opened);
  const std::size_t own = indent_of(source, begin);
  std::size_t end = std::min(source.find('\n', opened), source.size());
  while (end < source.size()) {
    const std::size_t next = end + 1, right = indent_of(source, next);
    const char c = next + right < source.size() ? source[next + right] : '\n';
    const bool closes = right == own && (c == ')' || c == ']' || c == '}');
    if (c != '\n' && right <= own && !closes) break;
    end = std::min(source.find('\n', next), source.size());
    if (closes) break;
  }
  bool any = false;
  for (std::size_t i = begin; i < end; ++i) any = any || !(is_blank(source[i]) || source[i] == '\n');
  for (std::size_t i = begin; i < end; ++i)
    if (source[i] != '\n') source[i] = ' ';
  return any;
}

// ---- a parse --------------------------------------------------------------------------------------------------------
constexpr std::size_t kMostErrors = 20;

// One parse of a laid-out text: its tree, or the error where it stopped.
struct Attempt {
  std::shared_ptr<const Module> module;
  std::vector<Diagnostic> diagnostics;
  std::size_t stopped = 0;  // where, if it has no tree
  bool incomplete = false;
};

// `whole`: nothing of the text was left out.
Attempt attempt(const Layout& layout, std::uint32_t source, bool whole) {
  Attempt out;
  State state(source, layout);
  const Context context(state);
  Block body;
  try {
    const char* at = state.begin;
    skip_blanks(state, at);
    if (program.parse(at, state.end, context, x3::unused, body)) {
      auto module = std::make_shared<Module>();
      module->source = source;
      module->body = std::move(body.body);
      module->ids = static_cast<std::int32_t>(state.heights.size());
      out.diagnostics = check_form(*module, state, whole);
      out.module = std::move(module);
      return out;
    }
  } catch (const x3::expectation_failure<Iterator>&) {
  } catch (const Error& e) {
    std::optional<Diagnostic> advice = advise_loop(state, e.diagnostic.span);
    out.stopped = e.diagnostic.span.begin;
    out.diagnostics.push_back(advice ? std::move(*advice) : e.diagnostic);
    return out;
  }
  out.incomplete = state.furthest >= state.end;
  out.stopped = static_cast<std::size_t>(state.furthest - state.begin);
  std::optional<Diagnostic> advice = advise(state);
  out.diagnostics.push_back(advice ? std::move(*advice) : unexpected(state));
  return out;
}

// `let n = #xs`: what was to be a length is a comment.
void tell_comment(Attempt& a, const Layout& layout, const std::string& text) {
  std::size_t at = std::min(a.stopped, text.size());
  while (at > 0 && text[at - 1] == '\n') --at;
  for (std::size_t i = line_begin(text, at); i + 1 < text.size() && text[i] != '\n'; ++i) {
    if (text[i] != '#' || layout.text[i] != ' ') continue;
    if (text[i + 1] != '#' && text[i + 1] != ' ' && i < at)
      a.diagnostics.back().notes.emplace_back("`#` begins a comment; the length of a list or a text is `len(xs)`");
    return;
  }
}

// The text laid out; where its brackets or strings do not fit, the error is told and the lines around it are left out.
Layout lay_out_all(std::string text, std::uint32_t source, ParseResult& result) {
  Layout layout = lay_out(text, source);
  while (!layout.diagnostics.empty()) {
    Diagnostic& d = layout.diagnostics.front();
    if (result.diagnostics.empty()) result.incomplete = layout.open_at_end;
    result.diagnostics.push_back(std::move(d));
    if (layout.without_rest || result.diagnostics.size() >= kMostErrors || !leave_out_lines(text, layout.broken_at)) {
      layout.text.clear();
      return layout;
    }
    layout = lay_out(text, source);
  }
  return layout;
}

}  // namespace

ParseResult parse(const SourceMap& sources, std::uint32_t source) {
  ParseResult result;
  const std::string& text = sources.at(source).text();
  if (text.size() >= std::uint32_t(-1) / 2) {
    result.diagnostics.push_back({"syntax", {source, 0, 0}, "the text is longer than 2 GiB", {}, {}, {}});
    return result;
  }
  Layout layout = lay_out_all(text, source, result);
  const auto line_of = [&](const Diagnostic& d) { return sources.at(source).position(d.span.begin).line; };
  for (std::size_t round = 0; round < 2 * kMostErrors && !layout.text.empty(); ++round) {
    const bool whole = result.diagnostics.empty();
    Attempt a = attempt(layout, source, whole);
    const bool read = a.module != nullptr;
    if (!read) tell_comment(a, layout, text);
    if (whole) result.incomplete = a.incomplete;
    const auto told = [&](const Diagnostic& d) {  // a second one of a line is likely to come from the first
      return std::any_of(result.diagnostics.begin(), result.diagnostics.end(),
                         [&](const Diagnostic& e) { return line_of(e) == line_of(d); });
    };
    if (!read && told(a.diagnostics.front())) a.diagnostics.clear();
    result.diagnostics.insert(result.diagnostics.end(), a.diagnostics.begin(), a.diagnostics.end());
    if (read && result.diagnostics.empty()) result.module = std::move(a.module);
    if (read || result.diagnostics.size() >= kMostErrors || !leave_out_statement(layout.text, text, a.stopped)) break;
  }
  stable_sort(result.diagnostics, [](const Diagnostic& a, const Diagnostic& b) { return a.span.begin < b.span.begin; });
  return result;
}

}  // namespace shard::grammar
