// What could stand at the cursor of the REPL: names, fields, axes, modules, named arguments, files, commands.
#pragma once
#include <optional>
#include <set>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "interpreter/lang/eval/interpreter.h"

namespace shard::cli {

// `names`: those that the session gave; `before`: the line up to the cursor. The words begin with the last one of it.
std::vector<std::string> completions(lang::Interpreter& in, const std::set<std::string>& names,
                                     const std::string& before);

// Words that are keywords where they stand right, and names elsewhere.
std::span<const std::string_view> contextual_words();

// The call whose bracket is open at the end of a text.
struct OpenCall {
  std::string callee;
  std::vector<std::string> signatures;  // the ways to call it
  std::size_t argument = 0;             // commas behind the bracket
  std::string named;                    // the argument at the end is `named: ...`
};
std::optional<OpenCall> open_call(lang::Interpreter& in, const std::string& before);
std::vector<std::string> parameters_of(const std::string& signature);  // names: "fn f(x, axis = none)"

}  // namespace shard::cli
