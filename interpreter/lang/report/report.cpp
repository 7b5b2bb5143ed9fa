#include "interpreter/lang/report/report.h"

#include <algorithm>

#include "grammar/characters.h"
#include "interpreter/lang/report/source_line.h"

namespace shard::lang {
namespace {

using grammar::Diagnostic;
using grammar::Position;
using grammar::SourceMap;
using grammar::Span;

constexpr std::size_t kFrames = 8;  // calls shown before and after an abridged run

std::string place(const SourceMap& sources, const Span& span) {
  if (!sources.has(span.source)) return {};
  const grammar::Source& source = sources.at(span.source);
  const Position p = source.position(std::min(span.begin, static_cast<std::uint32_t>(source.text().size())));
  return source.name() + ":" + std::to_string(p.line) + ":" + std::to_string(p.column);
}

bool same(const grammar::Frame& a, const grammar::Frame& b) { return a.function == b.function && a.call == b.call; }

void draw_calls(std::string& out, const Paint& paint, const SourceMap& sources,
                const std::vector<grammar::Frame>& calls) {
  struct Run {
    std::string text;
    std::size_t times;
  };
  std::vector<Run> runs;
  for (std::size_t i = 0; i < calls.size();) {
    std::size_t j = i + 1;
    while (j < calls.size() && same(calls[i], calls[j])) ++j;
    const std::string where = place(sources, calls[i].call);
    const std::string what = calls[i].function.empty() ? "a function" : calls[i].function;
    runs.push_back({"  in " + what + (where.empty() ? "" : ", called at " + where), j - i});
    i = j;
  }
  const auto line = [&](const Run& r) {
    out += paint("2", r.text + (r.times > 1 ? " (" + std::to_string(r.times) + " times)" : "")) + "\n";
  };
  if (runs.size() <= 2 * kFrames + 1) {
    for (const Run& r : runs) line(r);
    return;
  }
  std::size_t hidden = 0;
  for (std::size_t i = kFrames; i + kFrames < runs.size(); ++i) hidden += runs[i].times;
  for (std::size_t i = 0; i < kFrames; ++i) line(runs[i]);
  out += paint("2", "  ... " + std::to_string(hidden) + " more calls ...") + "\n";
  for (std::size_t i = runs.size() - kFrames; i < runs.size(); ++i) line(runs[i]);
}

std::string indented(const std::string& text, std::size_t n) {  // further lines of a note stand under the first
  std::string out;
  for (char c : text) {
    out += c;
    if (c == '\n') out += blanks(n);
  }
  return out;
}

}  // namespace

Diagnostic for_user(Diagnostic d, const SourceMap& sources) {
  for (std::size_t i = 0; i < d.notes.size(); ++i)  // what two places on the way out have said alike
    d.notes.erase(std::remove(d.notes.begin() + static_cast<std::ptrdiff_t>(i) + 1, d.notes.end(), d.notes[i]),
                  d.notes.end());
  const auto in_library = [&](const Span& s) {
    return sources.has(s.source) && sources.at(s.source).name().starts_with(kLibrary);
  };
  if (!in_library(d.span)) return d;
  for (std::size_t i = 0; i < d.calls.size(); ++i) {
    if (!sources.has(d.calls[i].call.source) || in_library(d.calls[i].call)) continue;
    const grammar::Source& source = sources.at(d.span.source);
    std::string line(source.line(source.position(d.span.begin).line));
    line.erase(0, line.find_first_not_of(' ') == std::string::npos ? 0 : line.find_first_not_of(' '));
    const std::string what = d.calls[i].function.empty() ? "a function" : "`" + d.calls[i].function + "`";
    if (d.code != "error")  // which says in words what it is about
      d.notes.insert(d.notes.begin(), "inside of " + what + ", at " + place(sources, d.span) + ": " + line);
    d.span = d.calls[i].call;
    d.fixes.clear();  // they are for the text of the library
    d.calls.erase(d.calls.begin(), d.calls.begin() + static_cast<std::ptrdiff_t>(i) + 1);
    break;
  }
  return d;
}

std::string report(const Diagnostic& found, const SourceMap& sources, const ReportStyle& style) {
  const Diagnostic d = for_user(found, sources);
  const Paint paint{style.color};
  std::string out;
  const std::string where = place(sources, d.span);
  if (!where.empty()) out += paint("1", where + ":") + " ";
  out += d.warning ? paint("1;33", "warning:") : paint("1;31", "error:");
  out += " " + paint("1", d.message) + (d.warning ? paint("2", " [" + d.code + "]") : "") + "\n";
  draw_source(out, paint, sources, d.span, std::max(style.width, 20));
  for (const std::string& note : d.notes) out += paint("36", "note:") + " " + indented(note, 6) + "\n";
  for (const grammar::Fix& fix : d.fixes) {
    const auto says = [&](const std::string& note) {
      return note.find("`" + fix.replacement + "`") != std::string::npos ||
             note.find("`" + fix.replacement + ":`") != std::string::npos;
    };
    if (!fix.replacement.empty() && std::any_of(d.notes.begin(), d.notes.end(), says)) continue;  // said already
    out += paint("32", "help:") + " " + indented(fix.advice, 6);
    if (!fix.replacement.empty()) out += (fix.advice.empty() ? "`" : ": `") + indented(fix.replacement, 6) + "`";
    out += "\n";
  }
  draw_calls(out, paint, sources, d.calls);
  return out;
}

std::string json_string(std::string_view text) {
  static constexpr char kHex[] = "0123456789abcdef";
  std::string s = "\"";
  for (std::size_t at = 0; at < text.size();) {
    const std::size_t from = at;
    const std::uint32_t c = grammar::decode(text, at);
    if (c == '"' || c == '\\')
      (s += '\\') += static_cast<char>(c);
    else if (c == '\n')
      s += "\\n";
    else if (c == '\t')
      s += "\\t";
    else if (c == '\r')
      s += "\\r";
    else if (c < 0x20)
      ((s += "\\u00") += kHex[c >> 4]) += kHex[c & 15];
    else if (c == 0xfffd)
      s += "\xef\xbf\xbd";
    else
      s.append(text.substr(from, at - from));
  }
  return s + "\"";
}

namespace {

std::string range_json(const SourceMap& sources, const Span& span) {
  if (!sources.has(span.source)) return "\"file\": null";
  const grammar::Source& source = sources.at(span.source);
  const auto size = static_cast<std::uint32_t>(source.text().size());
  const Position a = source.position(std::min(span.begin, size)),
                 b = source.position(std::min(std::max(span.begin, span.end), size));
  return "\"file\": " + json_string(source.name()) + ", \"line\": " + std::to_string(a.line) +
         ", \"column\": " + std::to_string(a.column) + ", \"end_line\": " + std::to_string(b.line) +
         ", \"end_column\": " + std::to_string(b.column);
}

template <class T, class F>
std::string list_json(const std::vector<T>& items, F&& one) {
  std::string s = "[";
  for (std::size_t i = 0; i < items.size(); ++i) s += (i ? ", " : "") + one(items[i]);
  return s + "]";
}

}  // namespace

std::string report_json(const std::vector<Diagnostic>& all, const SourceMap& sources) {
  std::string out = "[";
  for (std::size_t i = 0; i < all.size(); ++i) {
    const Diagnostic d = for_user(all[i], sources);
    out += (i ? ",\n " : "\n ");
    out += "{\"code\": " + json_string(d.code) + ", \"severity\": " + (d.warning ? "\"warning\"" : "\"error\"") +
           ", \"message\": " + json_string(d.message) + ", " + range_json(sources, d.span) +
           ", \"notes\": " + list_json(d.notes, [](const std::string& n) { return json_string(n); }) + ", \"fixes\": " +
           list_json(d.fixes,
                     [&](const grammar::Fix& f) {
                       return "{\"advice\": " + json_string(f.advice) +
                              ", \"replacement\": " + json_string(f.replacement) +
                              ", \"safe\": " + (f.safe ? "true" : "false") + ", " + range_json(sources, f.span) + "}";
                     }) +
           ", \"calls\": " +
           list_json(d.calls,
                     [&](const grammar::Frame& f) {
                       return "{\"function\": " + json_string(f.function) + ", " + range_json(sources, f.call) + "}";
                     }) +
           "}";
  }
  return out + (all.empty() ? "]\n" : "\n]\n");
}

}  // namespace shard::lang
