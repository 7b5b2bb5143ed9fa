// Files of one format written in another.
#pragma once
#include <string>

#include "stdlib/host/host.h"

namespace shard::stdlib {

// `shard convert`, piece by piece: what `from` holds, a file or folder, saved as `to`: a folder where it ends in "/",
// else the format of its ending. Names of a foreign file, "layers.0.w", become the tree that they stand for. No array
// is held whole where its file can be read in parts. Errors are grammar::Error.
void convert(Interpreter& in, const std::string& from, const std::string& to);

}  // namespace shard::stdlib
