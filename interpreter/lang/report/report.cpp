#include "interpreter/lang/report/report.h"

#include <algorithm>

#include "grammar/characters.h"

namespace shard::lang {
namespace {

using grammar::Diagnostic;
using grammar::Position;
using grammar::SourceMap;
using grammar::Span;

// ---- the line of a span, and under it the marks. Lines are measured in characters as a terminal shows them: a tab
// counts to the next multiple of four and is printed as blanks, UTF-8 continuation bytes count nothing, wide East Asian
// characters and emoji count two, control characters are shown as '?'.

struct Paint {
  bool on;
  std::string operator()(const char* code, const std::string& s) const {
    return on ? std::string("\x1b[") + code + "m" + s + "\x1b[0m" : s;
  }
};

std::string blanks(std::size_t n) { return std::string(n, ' '); }

constexpr int kTab = 4;

// A line as cells: what is printed for each character, and its columns; `first` and `last` are the cells of the span.
struct Cells {
  std::vector<std::string> text;
  std::vector<int> width;
  std::size_t first = 0, last = 0;  // half open
};

Cells cells_of(std::string_view line, std::size_t begin, std::size_t end) {
  Cells c;
  int column = 0;
  bool begun = false;
  std::size_t at = 0;
  while (at < line.size()) {
    if (!begun && at >= begin) c.first = c.text.size(), begun = true;
    if (at < end) c.last = c.text.size() + 1;
    const std::size_t from = at;
    const std::uint32_t ch = grammar::decode(line, at);
    if (ch == '\t') {
      const int w = kTab - column % kTab;
      c.text.emplace_back(static_cast<std::size_t>(w), ' ');
      c.width.push_back(w);
    } else if (ch < 0x20 || ch == 0x7f || (ch >= 0x80 && ch < 0xa0) || ch == 0xfffd) {
      c.text.emplace_back("?");
      c.width.push_back(1);
    } else {
      c.text.emplace_back(line.substr(from, at - from));
      c.width.push_back(columns_of(ch));
    }
    column += c.width.back();
  }
  if (!begun) c.first = c.text.size();
  c.last = std::max(c.last, c.first);
  return c;
}

// One source line and, under it, the marks.
void draw_line(std::string& out, const Paint& paint, const std::string& gutter, std::string_view line,
               std::size_t begin, std::size_t end, int limit, bool open_ended) {
  const Cells c = cells_of(line, begin, end);
  std::size_t from = 0, to = c.text.size();
  int total = 0;
  for (int w : c.width) total += w;
  bool cut_left = false, cut_right = false;
  if (total > limit) {  // a window that begins a third before the span
    int before = 0;
    from = c.first;
    while (from > 0 && before < limit / 3) before += c.width[--from];
    int shown = 0;
    to = from;
    while (to < c.text.size() && shown < limit) shown += c.width[to++];
    cut_left = from > 0;
    cut_right = to < c.text.size();
  }
  std::string shown, marks;
  if (cut_left) shown += "...", marks += "   ";
  for (std::size_t i = from; i < to; ++i) {
    shown += c.text[i];
    if (i < c.first)
      marks += blanks(static_cast<std::size_t>(c.width[i]));
    else if (i < c.last)
      marks += std::string(static_cast<std::size_t>(c.width[i]), '^');
  }
  if (c.first == c.last) marks += '^';  // a span between two characters
  if (cut_right) shown += "...";
  if (open_ended || (cut_right && c.last > to)) marks += "...";
  while (!shown.empty() && shown.back() == ' ') shown.pop_back();
  out += paint("2", gutter + " |") + (shown.empty() ? "" : " " + shown) + "\n";
  out += paint("2", blanks(gutter.size()) + " |") + " " + paint("1;31", marks) + "\n";
}

// `limit`: characters shown of a line; a longer one is cut around the span.
void draw_source(std::string& out, const Paint& paint, const SourceMap& sources, const Span& span, int limit) {
  if (!sources.has(span.source)) return;
  const grammar::Source& source = sources.at(span.source);
  const auto size = static_cast<std::uint32_t>(source.text().size());
  const std::uint32_t begin = std::min(span.begin, size), end = std::min(std::max(span.end, span.begin), size);
  const int first = source.position(begin).line;
  const int last = end > begin ? source.position(end - 1).line : first;
  const std::string_view text = source.line(first);
  const std::string number = std::to_string(first);
  const std::string gutter = blanks(number.size() < 4 ? 4 - number.size() : 0) + number;
  const auto line_start = static_cast<std::size_t>(text.data() - source.text().data());
  std::size_t from = text.empty() ? 0 : begin - std::min<std::size_t>(begin, line_start);
  std::size_t to = last > first ? text.size() : from + (end - begin);
  from = std::min(from, text.size());
  draw_line(out, paint, gutter, text, from, std::min(to, text.size()), limit, last > first);
  if (last > first) out += paint("2", blanks(gutter.size()) + " = up to line " + std::to_string(last)) + "\n";
}

// ---- calls

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

int columns_of(std::uint32_t c) {
  if ((c >= 0x300 && c < 0x370) || (c >= 0x200b && c <= 0x200f) || (c >= 0xfe00 && c <= 0xfe0f)) return 0;
  const bool wide = (c >= 0x1100 && c <= 0x115f) || (c >= 0x2e80 && c <= 0xa4cf) || (c >= 0xac00 && c <= 0xd7a3) ||
                    (c >= 0xf900 && c <= 0xfaff) || (c >= 0xfe30 && c <= 0xfe6f) || (c >= 0xff00 && c <= 0xff60) ||
                    (c >= 0x1f300 && c <= 0x1faff) || (c >= 0x20000 && c <= 0x3fffd);
  return wide ? 2 : 1;
}

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

}  // namespace

std::string report_json(const std::vector<Diagnostic>& all, const SourceMap& sources) {
  const auto fix = [&](const grammar::Fix& f) {
    return "{\"advice\": " + json_string(f.advice) + ", \"replacement\": " + json_string(f.replacement) +
           ", \"safe\": " + (f.safe ? "true" : "false") + ", " + range_json(sources, f.span) + "}";
  };
  const auto call = [&](const grammar::Frame& f) {
    return "{\"function\": " + json_string(f.function) + ", " + range_json(sources, f.call) + "}";
  };
  std::string out = "[";
  for (std::size_t i = 0; i < all.size(); ++i) {
    const Diagnostic d = for_user(all[i], sources);
    out += (i ? ",\n " : "\n ");
    out += "{\"code\": " + json_string(d.code) + ", \"severity\": " + (d.warning ? "\"warning\"" : "\"error\"") +
           ", \"message\": " + json_string(d.message) + ", " + range_json(sources, d.span) + ", \"notes\": [" +
           grammar::separated(d.notes, ", ", json_string) + "], \"fixes\": [" + grammar::separated(d.fixes, ", ", fix) +
           "], \"calls\": [" + grammar::separated(d.calls, ", ", call) + "]}";
  }
  return out + (all.empty() ? "]\n" : "\n]\n");
}

std::string joined(const std::vector<std::string>& names) { return names.empty() ? "none" : grammar::separated(names); }

std::string listed_fields(std::vector<std::string> names) {
  constexpr std::size_t most = 24;
  const std::size_t more = names.size() > most ? names.size() - most : 0;
  if (more) names.resize(most);
  return joined(names) + (more ? " and " + std::to_string(more) + " more" : "");
}

std::string in_thousands(std::int64_t n) {
  std::string out = std::to_string(n);
  for (std::size_t i = out.size(); i > 3; i -= 3) out.insert(i - 3, ",");
  return out;
}

}  // namespace shard::lang
