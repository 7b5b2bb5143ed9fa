// Tokens to pieces, with a stack of open brackets. The text has been parsed, so brackets and strings close.
#include "grammar/style/style_pieces.h"

#include <algorithm>
#include <array>
#include <utility>

#include "grammar/operator_table.h"
#include "grammar/parse.h"

namespace shard::grammar::style {
namespace {

// Keywords that are operands, or stand directly before a bracket: `fn(x)`, `P(@X)`, `manual(@X) fn`.
constexpr std::array<std::string_view, 10> kLikeNames = {"true", "false",  "none",  "P",        "fn",
                                                         "jit",  "manual", "break", "continue", "explicit"};

class Pieces {
 public:
  Pieces(std::string_view text, const Layout& layout)
      : text_(text), layout_(layout), scan_(text, Strings::Whole, text.starts_with("\xEF\xBB\xBF") ? 3 : 0) {}

  std::vector<Piece> run() {
    for (Token t = scan_.next(); t; t = scan_.next()) {
      if (t.kind == Kind::Newline) {
        joined_ = (newlines_++ == 0 || joined_) && layout_.text[t.begin] != '\n';
        line_ = t.end;
        continue;
      }
      Piece p{t.kind, scan_.text(t)};
      p.inside = open_.empty() ? Bracket::None : open_.back().bracket;
      p.newlines = std::exchange(newlines_, 0);
      p.joined = std::exchange(joined_, false);
      if (p.newlines > 0 && !p.joined && (p.inside == Bracket::None || p.inside == Bracket::Block)) opens_ = true;
      understand(p, t);
      if (p.kind != Kind::Comment) opens_ = false;
      if (p.kind != Kind::Comment) last_ = out_.size();
      out_.push_back(p);
    }
    return std::move(out_);
  }

 private:
  struct Open {
    Bracket bracket;
    bool spaced;
    bool pattern;  // what it holds are names to be given
  };

  const Piece* last() const { return out_.empty() ? nullptr : &out_[last_]; }
  bool follows_value() const { return !opens_ && last() && last()->value; }
  bool follows(std::string_view text) const { return !opens_ && last() && last()->text == text; }

  void understand(Piece& p, const Token& t) {
    switch (p.kind) {
      case Kind::Comment:
        while (is_blank(p.text.back())) p.text.remove_suffix(1);
        p.column = characters(text_.substr(line_, t.begin - line_));
        return;
      case Kind::Word: return word(p, t.end);
      case Kind::Open: return open(p, text_.substr(t.end));
      case Kind::Close:
        p.bracket = open_.back().bracket;
        if (p.bracket == Bracket::Index) loosen_slices();
        p.spaced = open_.back().spaced;
        p.value = true;
        open_.pop_back();
        p.inside = open_.empty() ? Bracket::None : open_.back().bracket;
        return;
      case Kind::Sign:
        p.prefix =
            (p.text == "-" || p.text == "+" || p.text == "~" || p.text == "@" || p.text == "...") && !follows_value();
        p.value = p.text == "?";
        return;
      default: p.value = true;
    }
  }

  // After `.`, and before `:`, every word is a name; `on` is one but behind a value.
  void word(Piece& p, std::size_t end) {
    const std::size_t next = text_.find_first_not_of(" \t", end);
    const bool name = follows(".") || (next != npos && text_[next] == ':' && follows_name_place());
    const bool like = std::find(kLikeNames.begin(), kLikeNames.end(), p.text) != kLikeNames.end();
    p.keyword = !name && !like && !is_dtype(p.text) &&
                (is_keyword(p.text) || (p.text == "on" && follows_value() && !follows("fn")));
    p.value = !p.keyword;
  }
  bool follows_name_place() const {
    return last() && (last()->kind == Kind::Open || last()->text == ",") && last()->bracket != Bracket::Index;
  }

  void open(Piece& p, std::string_view rest) {
    const bool value = follows_value();
    bool pattern = follows("let") || follows("for") || (!open_.empty() && open_.back().pattern && !value);
    if (p.text == "(") {
      p.bracket = value ? Bracket::Call : Bracket::Group;
      pattern = pattern || follows("fn") || (out_.size() > 1 && value && before_last("fn"));
    } else if (p.text == "[") {
      const bool type =
          value && last()->kind == Kind::Word && (is_dtype(last()->text) || last()->text == "key") && !before_last(".");
      p.bracket = type ? Bracket::Type : value ? Bracket::Index : Bracket::List;
    } else {
      p.bracket = braces(rest, value, pattern);
      p.spaced = p.bracket == Bracket::Block || (p.bracket == Bracket::Record && (value || follows("else")));
    }
    open_.push_back({p.bracket, p.spaced, pattern});
  }

  Bracket braces(std::string_view rest, bool value, bool pattern) const {
    if (value && last()->bracket == Bracket::Type && is_group(rest.substr(0, rest.find(':')))) return Bracket::Marks;
    if (opens_record(rest)) return Bracket::Record;
    const std::size_t next = rest.find_first_not_of(" \t\r\n");
    const bool empty = next != npos && rest[next] == '}';
    if (empty) return value || follows("else") ? Bracket::Block : Bracket::Record;
    return pattern && !value ? Bracket::Names : Bracket::Block;
  }

  // Blanks around the colons of a slice whose ends are more than operands: `x[2 * i : 2 * i + 2]`. The index ends here.
  void loosen_slices() {
    std::vector<Piece*> colons;
    bool loose = false;
    const auto part_ends = [&] {
      for (Piece* c : colons) c->spaced = loose && (c - 1)->value && c + 1 <= &out_.back() && (c + 1)->text != ",";
      colons.clear();
      loose = false;
    };
    std::size_t begin = out_.size();
    for (int depth = 0; depth >= 0 && begin-- > 0;)
      depth += (out_[begin].kind == Kind::Close) - (out_[begin].kind == Kind::Open);
    int depth = 0;
    for (std::size_t i = begin + 1; i < out_.size(); ++i) {
      Piece& p = out_[i];
      depth += (p.kind == Kind::Open) - (p.kind == Kind::Close);
      if (depth > 0 || p.kind != Kind::Sign) continue;
      if (p.text == ",") part_ends();
      if (p.text == ":") colons.push_back(&p);
      if (!p.prefix && p.text != ".." && binary_at(p.text)) loose = true;
    }
    part_ends();
  }

  // The token before the last one.
  bool before_last(std::string_view text) const {
    for (std::size_t i = last_; i-- > 0;)
      if (out_[i].kind != Kind::Comment) return out_[i].text == text;
    return false;
  }

  std::string_view text_;
  const Layout& layout_;
  Scanner scan_;
  std::size_t line_ = 0, last_ = 0;
  int newlines_ = 0;
  bool joined_ = false;
  bool opens_ = true;  // the next token opens a statement
  std::vector<Open> open_;
  std::vector<Piece> out_;
};

}  // namespace

std::vector<Piece> pieces_of(std::string_view text, const Layout& layout) { return Pieces(text, layout).run(); }

}  // namespace shard::grammar::style
