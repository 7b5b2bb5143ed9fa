// Where a line that is too long is broken.
#pragma once
#include <span>
#include <vector>

#include "grammar/style/pieces.h"

namespace shard::grammar::style {

// The pieces before which new lines begin, in order; none where nothing lets it. Several statements get a line each.
// The blocks of a statement that is made of them (`if`, `for`, a function's body) are laid out anew, a statement a
// line; else the line is broken once, where it is bound least. `indent`: blanks before its first piece.
std::vector<std::size_t> breaks_of(std::span<const Piece> line, std::size_t indent);

}  // namespace shard::grammar::style
