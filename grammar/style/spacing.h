// Whether a blank stands between two pieces of a line.
#pragma once
#include "grammar/style/pieces.h"

namespace shard::grammar::style {

bool blank_between(const Piece& a, const Piece& b);

}  // namespace shard::grammar::style
