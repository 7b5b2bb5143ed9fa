// The entry: layout, rules, then the checks of form; from a parse that could not go on to the sentence that says so,
// and on to the next error: the statement is left out (recover.h) and the rest parsed again.
#include "grammar/parse.h"

#include <algorithm>

#include <boost/spirit/home/x3.hpp>

#include "grammar/advice/advice.h"
#include "grammar/advice/near_text.h"
#include "grammar/form.h"
#include "grammar/recover.h"
#include "grammar/rules.h"
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
  while (line_end && last > s.begin && (last[-1] == ' ' || last[-1] == '\t' || last[-1] == '\r')) --last;
  const Span span = line_end ? s.span(last, std::size_t{0}) : s.span(at, token.size());
  return {"syntax", span, message, {}, {}, {}};
}

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
  const std::size_t newline = at == 0 ? std::string::npos : text.rfind('\n', at - 1);
  for (std::size_t i = newline == std::string::npos ? 0 : newline + 1; i + 1 < text.size() && text[i] != '\n'; ++i) {
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
