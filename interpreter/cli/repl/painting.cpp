#include "interpreter/cli/repl/painting.h"

#include "grammar/characters.h"
#include "interpreter/cli/repl/colours.h"
#include "interpreter/lang/report/report.h"

namespace shard::cli {
namespace {

struct Place {
  int row = 0, column = 0;
};

// Where signs come to stand, as libedit lays them out: a wide one that has no room begins the next row.
class Walk {
 public:
  explicit Walk(int columns) : columns_(columns) {}
  bool breaks_before(int width) const { return place_.column + width > columns_; }
  void put(int width) {
    if (breaks_before(width)) next();
    place_.column += width;
    if (place_.column >= columns_) next();
  }
  void next() { place_ = {place_.row + 1, 0}; }
  Place place() const { return place_; }

 private:
  int columns_;
  Place place_;
};

// Calls sign(from, to, its columns) for each; '\n' has -1.
template <class Sign>
void each_sign(std::string_view text, const Sign& sign) {
  for (std::size_t at = 0; at < text.size();) {
    const std::size_t from = at;
    const std::uint32_t c = grammar::decode(text, at);
    sign(from, at, c == '\n' ? -1 : lang::columns_of(c));
  }
}

Place behind(const EditedLine& line, std::string_view text) {
  Walk walk(line.columns);
  const auto put = [&](std::size_t, std::size_t, int width) { width < 0 ? walk.next() : walk.put(width); };
  each_sign(line.prompt, put);
  each_sign(text, put);
  return walk.place();
}

bool drawn_otherwise(std::string_view text) {  // ^A, tabs, broken UTF-8
  for (std::size_t at = 0; at < text.size();) {
    const std::uint32_t c = grammar::decode(text, at);
    if ((c < 0x20 && c != '\n') || (c >= 0x7f && c < 0xa0) || c == 0xfffd) return true;
  }
  return false;
}

std::string moved(int n, char direction) { return n > 0 ? "\x1b[" + std::to_string(n) + direction : ""; }

constexpr std::string_view kKeep = "\0337", kBack = "\0338", kDim = "\033[0;2m";

}  // namespace

std::string painting(const EditedLine& line) {
  const Place cursor = behind(line, line.text.substr(0, line.cursor)), end = behind(line, line.text);
  if (end.row >= line.rows || line.text.empty() || drawn_otherwise(line.text)) return "";
  std::string out = std::string(kKeep) + moved(cursor.row, 'A') + "\r";
  Walk walk(line.columns);
  int row = 0;
  each_sign(line.prompt, [&](std::size_t, std::size_t, int width) { walk.put(width); });  // stands there
  out += moved(walk.place().column, 'C');
  const std::vector<Ink> inks = inks_of(line.text);
  Ink now = Ink::Plain;
  each_sign(line.text, [&](std::size_t from, std::size_t to, int width) {
    if (inks[from] != now) out += escape_of(now = inks[from]);
    if (width < 0) return walk.next();
    if (walk.breaks_before(width)) walk.next();
    for (; row < walk.place().row; ++row) out += "\r\n";  // said at each: terminals differ at the last column
    out += line.text.substr(from, to - from);
    walk.put(width);
  });
  int room = line.columns - end.column - 1;
  std::string hint;
  each_sign(line.hint, [&](std::size_t from, std::size_t to, int width) {
    if (width < 0) room = 0;
    if ((room -= width) >= 0) hint += line.hint.substr(from, to - from);
  });
  if (!hint.empty()) {
    for (; row < end.row; ++row) out += "\r\n";
    out += std::string(kDim) + hint;
  }
  return out + std::string(escape_of(Ink::Plain)) + std::string(kBack);
}

std::string without_hint(const EditedLine& line) {
  if (line.hint.empty()) return "";
  const Place cursor = behind(line, line.text.substr(0, line.cursor)), end = behind(line, line.text);
  if (end.row >= line.rows || drawn_otherwise(line.text)) return "";
  return std::string(kKeep) + moved(end.row - cursor.row, 'B') + "\r" + moved(end.column, 'C') + "\x1b[K" +
         std::string(kBack);
}

}  // namespace shard::cli
