// Trees to files and folders: what `save` and `shard convert` do.
#pragma once
#include <string>

#include "interpreter/lang/eval/interpreter.h"

namespace shard::stdlib {

// A folder where the path ends in "/" or names one, else a file in the format of its ending. Asks the host, and throws
// grammar::Error with the path.
void write_tree(lang::Interpreter& in, const std::string& path, const lang::Value& tree, grammar::Span span);

// An error where nothing is written with the ending of this path.
void check_ending(lang::Interpreter& in, const std::string& path, grammar::Span span);

}  // namespace shard::stdlib
