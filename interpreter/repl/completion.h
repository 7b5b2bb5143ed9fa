// What could stand at the cursor of the REPL: names, fields, axes, modules, named arguments, files, commands.
#pragma once
#include <set>
#include <string>
#include <vector>

#include "interpreter/lang/eval/interpreter.h"

namespace shard::repl {

// `names`: those that the session gave; `before`: the line up to the cursor. The words begin with the last one of it.
std::vector<std::string> completions(lang::Interpreter& in, const std::set<std::string>& names,
                                     const std::string& before);

}  // namespace shard::repl
