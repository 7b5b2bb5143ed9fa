// A text as the pieces that `fmt` moves: tokens and comments, each with what its surroundings make of it. Strings stay
// whole, with all that they interpolate.
#pragma once
#include <span>
#include <vector>

#include "grammar/logical_lines.h"
#include "grammar/scan.h"

namespace shard::grammar::style {

using Kind = TokenKind;

// What a bracket is for. Marks: `{V:X}` behind a type. Names: a pattern's braces, `let {w, b} = p`.
enum class Bracket : std::uint8_t { None, Call, Group, List, Index, Type, Record, Names, Marks, Block };

struct Piece {
  Kind kind;
  std::string_view text;
  Bracket bracket = Bracket::None;  // of an Open or a Close: its own
  Bracket inside = Bracket::None;   // the innermost one around it
  bool spaced = false;   // braces with blanks within (blocks, `rules { a: @X }`), a slice's colon with blanks around it
  bool prefix = false;   // a sign before its operand
  bool value = false;    // an operand may end here
  bool keyword = false;  // a word of the language, and no value
  int newlines = 0;      // before it; 2 or more: blank lines
  bool joined = false;   // those newlines end no statement
  std::size_t column = 0;  // of a comment: in code points, from 0
};

std::vector<Piece> pieces_of(std::string_view text, const Layout& layout);

// breaking.cpp
bool blank_between(const Piece& a, const Piece& b);  // neighbours in a line
// The pieces of a line that is too long before which new lines begin, in order; none where nothing lets it. Several
// statements get a line each. The blocks of a statement that is made of them (`if`, `for`, a function's body) are laid
// out anew, a statement a line; else the line is broken once, where it is bound least. `indent`: blanks before its
// first piece.
std::vector<std::size_t> breaks_of(std::span<const Piece> line, std::size_t indent);

}  // namespace shard::grammar::style
