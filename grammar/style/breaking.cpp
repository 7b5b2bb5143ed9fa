// Between the pieces of a line: where a blank stands, and where a line that is too long is broken.
#include <algorithm>
#include <optional>

#include "grammar/operator_table.h"
#include "grammar/style/style.h"
#include "grammar/style/style_pieces.h"

namespace shard::grammar::style {
namespace {

bool is(const Piece& p, std::string_view text) { return p.kind == Kind::Sign && p.text == text; }

// Where a `:` is part of a slice or of a type's marks.
bool tight_colon(const Piece& p) { return p.inside == Bracket::Index || p.inside == Bracket::Marks; }

bool before_bracket(const Piece& a, const Piece& open) {
  switch (open.bracket) {
    case Bracket::Call:
    case Bracket::Index:
    case Bracket::Type:
    case Bracket::Marks: return false;
    default: return !a.prefix && !is(a, "..");
  }
}

// Before and behind what stands in the line's outermost blocks, and between the statements there.
std::vector<std::size_t> block_breaks(std::span<const Piece> line) {
  std::vector<std::size_t> out;
  int depth = 0, blocks = 0;
  for (std::size_t i = 0; i < line.size(); ++i) {
    const Piece& p = line[i];
    const bool block = p.bracket == Bracket::Block && depth == (p.kind == Kind::Close ? 1 : 0);
    if (p.kind == Kind::Close && block && blocks > 0) {
      --blocks;
      if (i > 0 && line[i - 1].kind != Kind::Open && (out.empty() || out.back() != i)) out.push_back(i);
    }
    depth += (p.kind == Kind::Open) - (p.kind == Kind::Close);
    if (i + 1 == line.size()) break;
    if (p.kind == Kind::Open && block) {
      ++blocks;
      if (line[i + 1].kind != Kind::Close) out.push_back(i + 1);
    }
    if (p.text == ";" && depth == 1 && blocks > 0 && line[i + 1].kind != Kind::Close) out.push_back(i + 1);
  }
  return blocks == 0 ? out : std::vector<std::size_t>{};
}

// Where several statements stand on the line.
std::vector<std::size_t> statement_breaks(std::span<const Piece> line) {
  std::vector<std::size_t> out;
  int depth = 0;
  for (std::size_t i = 0; i + 1 < line.size(); ++i) {
    depth += (line[i].kind == Kind::Open) - (line[i].kind == Kind::Close);
    if (depth == 0 && line[i].text == ";") out.push_back(i + 1);
  }
  return out;
}

// Whether the line is a statement of blocks: `if c { ... }`, `for ...`, `} else { ... }`, a function with a body.
bool made_of_blocks(std::span<const Piece> line) {
  const Piece &first = line.front(), &last = line.back();
  if (last.kind != Kind::Close || last.bracket != Bracket::Block) return false;
  if (first.kind == Kind::Close || first.keyword) return first.text != "let" && first.text != "return";
  return first.text == "fn" || first.text == "jit" || first.text == "manual" || first.text == "test" ||
         first.text == "rules";
}

// How much a break before piece i is worth less than one at the line's end, without its depth; nothing where none may
// be. What binds tighter is broken later.
std::optional<int> cost(std::span<const Piece> line, std::size_t i) {
  const Piece &a = line[i - 1], &b = line[i];
  if (a.kind == Kind::Comment || b.kind == Kind::Comment) return std::nullopt;
  if (a.inside == Bracket::Type || a.inside == Bracket::Marks || a.bracket == Bracket::Type) return std::nullopt;
  if (a.kind == Kind::Sign && a.text == ",") return 0;
  if (b.text == "|>") return 0;
  if (a.text == "=" || a.text == "->")
    return a.text == "=" && a.inside != Bracket::Call ? std::optional(25) : std::nullopt;
  if (b.text == "." && i >= 2 && a.kind == Kind::Close && i + 1 < line.size() && line[i + 1].kind == Kind::Word)
    return 40;
  if (a.kind == Kind::Open &&
      (a.bracket == Bracket::Call || a.bracket == Bracket::Group || a.bracket == Bracket::List ||
       a.bracket == Bracket::Record) &&
      b.kind != Kind::Close)
    return 15;
  if (a.prefix || a.value || a.text == ".." || a.kind == Kind::Open) return std::nullopt;
  if (const BinaryRow* op = binary_at(a.text); op && op->token.size() == a.text.size() && a.inside != Bracket::Index)
    return op->level <= Level::And ? 20 + 10 * static_cast<int>(op->level) : 60 + 5 * static_cast<int>(op->level);
  return std::nullopt;
}

}  // namespace

bool blank_between(const Piece& a, const Piece& b) {
  if (a.kind == Kind::Open) return a.spaced;
  if (b.kind == Kind::Close) return b.spaced;
  if (is(b, ":") && b.inside == Bracket::Index) return b.spaced || is(a, ",");
  if (is(b, ",") || is(b, ";") || is(b, ":")) return false;
  if (is(a, ":")) return !tight_colon(a) || a.spaced;
  if (a.prefix || is(a, ".") || is(b, ".") || is(a, "..") || is(b, "..")) return false;
  if (is(a, ",") && a.inside == Bracket::Marks) return false;
  if (a.inside == Bracket::Type && b.inside == Bracket::Type && (is(a, "@") || is(b, "@"))) return false;
  if (b.kind == Kind::Open) return before_bracket(a, b);
  return true;
}

std::vector<std::size_t> breaks_of(std::span<const Piece> line, std::size_t indent) {
  if (auto statements = statement_breaks(line); !statements.empty()) return statements;
  if (made_of_blocks(line)) {
    if (auto blocks = block_breaks(line); !blocks.empty()) return blocks;
  }
  constexpr int kDepth = 60, kFits = 40;
  std::vector<std::size_t> ends{indent};  // before each piece, without the blank
  std::size_t column = indent;
  for (std::size_t i = 0; i < line.size(); ++i) {
    if (i > 0) ends.push_back(column), column += blank_between(line[i - 1], line[i]);
    column += characters(line[i].text);
  }
  std::size_t best = 0;
  int depth = 0, most = 0;
  for (std::size_t i = 1; i < line.size(); ++i) {
    const Piece& a = line[i - 1];
    depth += (a.kind == Kind::Open) - (a.kind == Kind::Close);
    const std::optional<int> c = cost(line, i);
    if (!c || (best != 0 && ends[i] > kColumns)) continue;
    const bool fits = column - ends[i] - blank_between(a, line[i]) + indent + 2 <= kColumns;  // what is behind it
    if ((a.kind == Kind::Open || a.text == "=") && !fits) continue;                           // nothing is won
    const bool deep_value = a.text == "=" && depth > 0;
    const int worth = static_cast<int>(std::min(ends[i], kColumns)) - *c - (deep_value ? 40 : 0) -
                      kDepth * std::max(depth, 0) + (fits && depth <= 0 ? kFits : 0);
    if (best == 0 || worth >= most) best = i, most = worth;
  }
  const bool at_elements = best != 0 && (line[best - 1].text == "," || line[best - 1].text == "=");
  if (const bool ends_block = line.back().bracket == Bracket::Block; best == 0 || (ends_block && !at_elements))
    if (auto blocks = block_breaks(line); !blocks.empty()) return blocks;
  return best == 0 ? std::vector<std::size_t>{} : std::vector<std::size_t>{best};
}

}  // namespace shard::grammar::style
