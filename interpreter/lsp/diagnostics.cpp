// Errors and warnings as `shard check` finds them, and their fixes as actions; a text in the one style.
#include <algorithm>

#include "grammar/characters.h"
#include "interpreter/cli/checker.h"
#include "interpreter/cli/session.h"
#include "interpreter/lsp/features.h"

namespace shard::lsp {
namespace {

using grammar::Diagnostic;
using grammar::Span;

constexpr int kError = 1, kWarning = 2, kHint = 4;
constexpr std::string_view kUnused = "unused";

bool of_limits(const std::string& code) {
  return code == "seconds" || code == "steps" || code == "interrupt" || code == "memory";
}

// The place in the text that is open: its own, else that of the call that led into another file.
Span in_text(const Diagnostic& d, const Checked& c) {
  if (d.span.source == c.source && c.source) return d.span;
  for (const grammar::Frame& f : d.calls)
    if (f.call.source == c.source && c.source) return f.call;
  return {c.source, 0, 0};
}

// The lines of other files, and the calls, that belong to it.
std::string related(Session& s, const Diagnostic& d, const Checked& c, const Text& now, const Shift& shift) {
  std::vector<std::string> out;
  const auto add = [&](Span at, const std::string& what) {
    if (!c.checker.sources.has(at.source)) return;
    const grammar::Source& source = c.checker.sources.at(at.source);
    std::string where;
    if (at.source == c.source) {
      const auto place = carried(shift, at);
      if (!place) return;
      where = object({{"uri", json_string(c.uri)}, {"range", s.range(now, place->first, place->second)}});
    } else if (source.name().starts_with('/')) {
      where = object(
          {{"uri", json_string(uri_of(source.name()))}, {"range", s.range(Text(source.text()), at.begin, at.end)}});
    } else {
      return;
    }
    out.push_back(object({{"location", where}, {"message", json_string(what)}}));
  };
  if (d.span.source != c.source) add(d.span, d.message);
  constexpr std::size_t kMost = 8;
  for (std::size_t i = 0; i < d.calls.size() && i < kMost; ++i)
    add(d.calls[i].call, "called here: " + d.calls[i].function);
  return out.empty() ? "" : list(out);
}

std::string one(Session& s, const Diagnostic& raw, const Checked& c, const Text& now, const Shift& shift) {
  Diagnostic d = lang::for_user(raw, c.checker.sources);
  const auto place = carried(shift, in_text(d, c));
  if (!place) return "";
  if (of_limits(d.code))
    return object({{"range", s.range(now, place->first, place->second)},
                   {"severity", number(kHint)},
                   {"source", json_string("shard")},
                   {"message", json_string("the check was left here: " + d.message)}});
  std::string message = d.message;
  for (const std::string& note : d.notes) message += "\n" + note;
  const bool unused = d.code.starts_with(kUnused);
  return object({{"range", s.range(now, place->first, place->second)},
                 {"severity", number(d.warning ? kWarning : kError)},
                 {"code", json_string(d.code)},
                 {"source", json_string("shard")},
                 {"message", json_string(message)},
                 {"tags", unused ? "[1]" : ""},
                 {"relatedInformation", related(s, d, c, now, shift)}});
}

std::string edit_of(const Document& d, const std::vector<std::string>& edits) {
  return "{\"changes\":{" + json_string(d.uri) + ":" + list(edits) + "}}";
}

}  // namespace

std::string diagnostics_of(Session& s, const Document& d) {
  std::vector<std::string> out;
  if (d.errors) {
    const Checked& c = *d.errors;
    const Shift shift(c.text, d.text.str());
    bool limit = false;
    for (const Diagnostic& x : c.checker.found) {
      if (of_limits(x.code) && std::exchange(limit, true)) continue;
      if (std::string text = one(s, x, c, d.text, shift); !text.empty()) out.push_back(std::move(text));
    }
  }
  return object({{"uri", json_string(d.uri)}, {"version", number(d.version)}, {"diagnostics", list(out)}});
}

std::vector<std::string> edits_to(Session& s, const Text& from, const std::string& to) {
  const std::string& old = from.str();
  if (old == to) return {};
  const auto within = [](const std::string& text, std::size_t at) {  // a character
    return at < text.size() && grammar::continues(text[at]);
  };
  std::size_t begin = 0, end = 0;  // `end` counts from the back
  while (begin < old.size() && begin < to.size() && old[begin] == to[begin]) ++begin;
  while (begin > 0 && (within(old, begin) || within(to, begin) || old[begin - 1] == '\r')) --begin;
  while (end < old.size() - begin && end < to.size() - begin && old[old.size() - 1 - end] == to[to.size() - 1 - end])
    ++end;
  while (end > 0 && (within(old, old.size() - end) || old[old.size() - end] == '\n')) --end;
  return {object({{"range", s.range(from, begin, old.size() - end)},
                  {"newText", json_string(std::string_view(to).substr(begin, to.size() - end - begin))}})};
}

std::string formatting(Session& s, const Params& p) {
  const Document& d = s.document(p);
  const cli::Restyled styled = cli::restyled(d.path, d.text.str());
  if (!styled.same_program) throw Refused{kRequestFailed, "a fault in Shard itself: this text cannot be formatted"};
  return list(styled.parses ? edits_to(s, d.text, styled.text) : std::vector<std::string>());  // a broken one stays
}

std::string code_actions(Session& s, const Params& p) {
  const Document& d = s.document(p);
  const std::size_t begin = s.offset(d.text, p, "start"), end = s.offset(d.text, p, "end");
  std::vector<std::string> out;
  if (!d.errors) return list(out);
  const Checked& c = *d.errors;
  const Shift shift(c.text, d.text.str());
  for (const Diagnostic& x : c.checker.found) {
    const auto place = carried(shift, in_text(x, c));
    if (!place || place->second < begin || end < place->first) continue;
    bool preferred = true;
    for (const grammar::Fix& f : x.fixes) {
      const auto where = f.span.source == c.source ? carried(shift, f.span) : std::nullopt;
      if (!where) continue;
      const std::string edit =
          object({{"range", s.range(d.text, where->first, where->second)}, {"newText", json_string(f.replacement)}});
      out.push_back(object({{"title", json_string(f.advice)},
                            {"kind", json_string("quickfix")},
                            {"isPreferred", boolean(std::exchange(preferred, false))},
                            {"diagnostics", list({one(s, x, c, d.text, shift)})},
                            {"edit", edit_of(d, {edit})}}));
    }
  }
  if (shift.same() && c.source) {
    const cli::Fixed fixed = cli::with_safe_fixes(c.checker.sources, c.source, c.checker.found);
    if (!fixed.lines.empty())
      out.push_back(object({{"title", json_string("Fix all that is certainly meant")},
                            {"kind", json_string("source.fixAll.shard")},
                            {"edit", edit_of(d, edits_to(s, d.text, fixed.text))}}));
  }
  return list(out);
}

}  // namespace shard::lsp
