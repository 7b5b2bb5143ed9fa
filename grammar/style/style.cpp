// Lines: which there are, how far they are indented, and what they become.
#include "grammar/style/style.h"

#include <algorithm>
#include <optional>

#include "grammar/style/style_pieces.h"

namespace shard::grammar::style {
namespace {

constexpr std::size_t kStep = 2;

struct Line {
  std::vector<Piece> pieces;
  bool blank_before = false, joined = false;  // joined: it goes on with the statement of the line before it
};

std::vector<Line> lines_of(const std::vector<Piece>& pieces) {
  std::vector<Line> out;
  for (const Piece& p : pieces) {
    if (out.empty() || p.newlines > 0) out.push_back({{}, p.newlines > 1 && !out.empty(), p.joined});
    out.back().pieces.push_back(p);
  }
  return out;
}

class Writer {
 public:
  explicit Writer(std::vector<Line> lines) : lines_(std::move(lines)) {}

  std::string run() {
    std::reverse(lines_.begin(), lines_.end());  // the next one is the last
    while (!lines_.empty()) {
      const std::size_t indent = indentation(lines_.back());
      if (!broken(indent)) write(indent);
    }
    return std::move(out_);
  }

 private:
  struct Open {
    Bracket bracket;
    std::size_t line;      // the indentation of the line that it stands on
    std::size_t last = 0;  // the indentation of the last line that began within it
  };

  static bool only_comment(const Line& l) { return l.pieces.front().kind == Kind::Comment; }

  // A comment stands where the code after it does, but inside the bracket that this closes.
  std::size_t indentation(const Line& line) const {
    const Line* l = &line;
    for (std::size_t i = lines_.size(); only_comment(*l) && i-- > 0;) l = &lines_[i];
    const Piece& first = l->pieces.front();
    const std::size_t level = open_.empty() ? 0 : open_.back().line + kStep;
    if (first.kind == Kind::Close && l == &line) return open_.empty() ? 0 : open_.back().line;
    if (first.text == "else") return open_.empty() ? last_indent_ : open_.back().last;
    const bool goes_on = l->joined && first.kind != Kind::Close && continues(first);
    return level + (goes_on ? kStep : 0);
  }

  // Whether a joined line is in the middle of something: within brackets lines end after `,` and after the bracket.
  bool continues(const Piece& first) const {
    const bool in_brackets = !open_.empty() && open_.back().bracket != Bracket::Block;
    if (!in_brackets || first.text == "." || first.text == "|>") return true;
    return last_.text != "," && last_.kind != Kind::Open && last_.kind != Kind::Comment;
  }

  // Splits the next line where it is too long and can be split.
  bool broken(std::size_t indent) {
    Line& line = lines_.back();
    const bool trailing = line.pieces.back().kind == Kind::Comment && line.pieces.size() > 1;
    const std::span<const Piece> code(line.pieces.data(), line.pieces.size() - trailing);
    if (only_comment(line) || indent + characters(text_of(code)) <= kColumns) return false;
    const std::vector<std::size_t> at = breaks_of(code, indent);
    if (at.empty()) return false;
    std::vector<Line> parts;
    std::size_t begin = 0;
    for (std::size_t i = 0; i <= at.size(); ++i) {
      const std::size_t end = i < at.size() ? at[i] : line.pieces.size();
      Line part{{line.pieces.begin() + static_cast<std::ptrdiff_t>(begin),
                 line.pieces.begin() + static_cast<std::ptrdiff_t>(end)},
                i == 0 && line.blank_before,
                i == 0 ? line.joined : true};
      const Piece& before = line.pieces[begin == 0 ? 0 : begin - 1];
      if (i > 0 && (before.text == ";" || before.bracket == Bracket::Block)) part.joined = false;
      if (part.pieces.back().text == ";") part.pieces.pop_back();
      parts.push_back(std::move(part));
      begin = end;
    }
    lines_.pop_back();
    if (at.size() == 1 && !trailing) take_next(parts);
    lines_.insert(lines_.end(), std::make_move_iterator(parts.rbegin()), std::make_move_iterator(parts.rend()));
    return true;
  }

  // What was broken off between two elements goes on with the elements that stood in the next line.
  void take_next(std::vector<Line>& parts) {
    Line& rest = parts.back();
    if (lines_.empty() || parts.front().pieces.back().text != "," || rest.pieces.back().text != ",") return;
    const Line& next = lines_.back();
    const Piece &a = rest.pieces.back(), &b = next.pieces.front();
    if (next.blank_before || a.inside == Bracket::None || a.inside == Bracket::Block || a.inside != b.inside ||
        b.kind == Kind::Comment || b.kind == Kind::Close || parts.front().pieces.back().inside != a.inside)
      return;
    rest.pieces.insert(rest.pieces.end(), next.pieces.begin(), next.pieces.end());
    lines_.pop_back();
  }

  static std::string text_of(std::span<const Piece> pieces) {
    std::string out;
    for (std::size_t i = 0; i < pieces.size(); ++i) {
      if (i > 0 && blank_between(pieces[i - 1], pieces[i])) out += ' ';
      out += pieces[i].text;
    }
    return out;
  }

  // The line's end says it.
  static void drop_semicolon(Line& line) {
    const bool trailing = line.pieces.back().kind == Kind::Comment;
    if (line.pieces.size() < 2u + trailing) return;
    const auto last = line.pieces.end() - 1 - trailing;
    if (last->kind == Kind::Sign && last->text == ";") line.pieces.erase(last);
  }

  // A comment behind code keeps its column where the code leaves it, so that those of neighbouring lines stay in line.
  void write(std::size_t indent) {
    Line line = std::move(lines_.back());
    lines_.pop_back();
    drop_semicolon(line);
    if (line.blank_before) out_ += '\n';
    const bool trailing = line.pieces.back().kind == Kind::Comment && line.pieces.size() > 1;
    const std::span<const Piece> code(line.pieces.data(), line.pieces.size() - trailing);
    std::string text = std::string(indent, ' ') + text_of(code);
    if (trailing) {
      const Piece& comment = line.pieces.back();
      const std::size_t end = characters(text) + 2;
      text.append(std::max(end, std::min(comment.column, kColumns)) - characters(text), ' ');
      beside_ = {comment.column, characters(text)};
      text += comment.text;
    } else if (only_comment(line) && !line.blank_before && beside_ && beside_->first == line.pieces.front().column) {
      text =
          std::string(beside_->second, ' ') + std::string(line.pieces.front().text);  // it goes on with the one above
    } else {
      beside_.reset();
    }
    out_ += text + '\n';
    const bool closes = line.pieces.front().kind == Kind::Close;
    if (open_.size() <= closes)
      last_indent_ = indent;
    else
      open_[open_.size() - 1 - closes].last = indent;
    std::size_t level = indent;  // of the line on which the statement part around stands
    for (const Piece& p : line.pieces) {
      if (p.kind == Kind::Open) open_.push_back({p.bracket, level, level});
      if (p.kind == Kind::Close) level = std::min(level, open_.back().line), open_.pop_back();
      if (p.kind != Kind::Comment) last_ = p;
    }
  }

  std::vector<Line> lines_;
  std::vector<Open> open_;
  std::size_t last_indent_ = 0;  // of the last line outside of all brackets
  // Of the line before, where a comment stands behind its code: the comment's column, and the one that it got.
  std::optional<std::pair<std::size_t, std::size_t>> beside_;
  Piece last_{Kind::Comment, {}};  // the last token that was written
  std::string out_;
};

}  // namespace

std::string formatted(std::string_view text) {
  const Layout layout = lay_out(text, 0);
  return Writer(lines_of(pieces_of(text, layout))).run();
}

}  // namespace shard::grammar::style
