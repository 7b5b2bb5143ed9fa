// A text as the pieces that `fmt` moves: tokens and comments, each with what its surroundings make of it. Strings stay
// whole, with all that they interpolate.
#pragma once
#include <cstdint>
#include <string_view>
#include <vector>

#include "grammar/layout.h"

namespace shard::grammar::style {

enum class Kind : std::uint8_t { Word, Number, Text, Sign, Open, Close, Comment };

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

}  // namespace shard::grammar::style
