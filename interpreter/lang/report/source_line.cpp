#include "interpreter/lang/report/source_line.h"

#include <algorithm>
#include <vector>

#include "grammar/characters.h"

namespace shard::lang {

using grammar::SourceMap;
using grammar::Span;

int columns_of(std::uint32_t c) {
  if ((c >= 0x300 && c < 0x370) || (c >= 0x200b && c <= 0x200f) || (c >= 0xfe00 && c <= 0xfe0f)) return 0;
  const bool wide = (c >= 0x1100 && c <= 0x115f) || (c >= 0x2e80 && c <= 0xa4cf) || (c >= 0xac00 && c <= 0xd7a3) ||
                    (c >= 0xf900 && c <= 0xfaff) || (c >= 0xfe30 && c <= 0xfe6f) || (c >= 0xff00 && c <= 0xff60) ||
                    (c >= 0x1f300 && c <= 0x1faff) || (c >= 0x20000 && c <= 0x3fffd);
  return wide ? 2 : 1;
}

namespace {

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

}  // namespace

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

}  // namespace shard::lang
