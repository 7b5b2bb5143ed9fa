// Trees to files and folders: what `save` and `shard convert` do.
#pragma once
#include <string>

#include "stdlib/host/host.h"

namespace shard::stdlib {

// A folder where the path ends in "/" or names one, else a file in the format of its ending. Asks the host, and throws
// grammar::Error with the path.
void write_tree(Interpreter& in, const std::string& path, const Value& tree, grammar::Span span);

// An error where nothing is written with the ending of this path.
void check_ending(Interpreter& in, const std::string& path, grammar::Span span);

// `shard convert`, piece by piece: what `from` holds, a file or folder, saved as `to`: a folder where it ends in "/",
// else the format of its ending. Names of a foreign file, "layers.0.w", become the tree that they stand for. No array
// is held whole where its file can be read in parts. Errors are grammar::Error.
void convert(Interpreter& in, const std::string& from, const std::string& to);

}  // namespace shard::stdlib
