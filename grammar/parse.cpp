// The entry: layout, rules, then the checks of form; and from a parse that could not go on to the sentence that says
// so.
#include "grammar/parse.h"

#include <algorithm>

#include <boost/spirit/home/x3.hpp>

#include "grammar/advice/advice.h"
#include "grammar/advice/near_text.h"
#include "grammar/form.h"
#include "grammar/rules.h"

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

}  // namespace

ParseResult parse(const SourceMap& sources, std::uint32_t source) {
  ParseResult result;
  const std::string& text = sources.at(source).text();
  if (text.size() >= std::uint32_t(-1) / 2) {
    result.diagnostics.push_back({"syntax", {source, 0, 0}, "the text is longer than 2 GiB", {}, {}, {}});
    return result;
  }
  const Layout layout = lay_out(text, source);
  if (!layout.diagnostics.empty()) {
    result.diagnostics = layout.diagnostics;
    result.incomplete = layout.open_at_end;
    return result;
  }
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
      result.diagnostics = check_form(*module, state);
      if (result.diagnostics.empty()) result.module = std::move(module);
      return result;
    }
  } catch (const x3::expectation_failure<Iterator>&) {
  } catch (const Error& e) {
    std::optional<Diagnostic> advice = advise_loop(state, e.diagnostic.span);
    result.diagnostics.push_back(advice ? std::move(*advice) : e.diagnostic);
    return result;
  }
  result.incomplete = state.furthest >= state.end;
  std::optional<Diagnostic> advice = advise(state);
  result.diagnostics.push_back(advice ? std::move(*advice) : unexpected(state));
  return result;
}

}  // namespace shard::grammar
