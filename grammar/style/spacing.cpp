#include "grammar/style/spacing.h"

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

}  // namespace shard::grammar::style
