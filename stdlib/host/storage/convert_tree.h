// shard convert: a tree from one form to another, piece by piece.
#pragma once
#include <string>

#include "interpreter/lang/eval/interpreter.h"

namespace shard::stdlib {

// What `from` holds, a file or folder, saved as `to`: a folder where it ends in "/", else the format of its ending.
// Names of a foreign file, "layers.0.w", become the tree that they stand for. No array is held whole where its file can
// be read in parts. Errors are grammar::Error.
void convert(lang::Interpreter& in, const std::string& from, const std::string& to);

}  // namespace shard::stdlib
