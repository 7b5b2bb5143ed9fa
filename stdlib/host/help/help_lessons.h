// What help finds by subject: lessons and pages say which subjects some of their lines show (`# subjects: fsdp, zero`);
// the program holds those lines (pack.cpp). Used by help_search.cpp.
#pragma once
#include <string>
#include <string_view>
#include <vector>

#include "interpreter/lang/eval/interpreter.h"

namespace shard::stdlib {

struct Recipe {
  std::string where, title;  // the file, and what it is about
  std::vector<std::string> subjects;
  std::string code;  // its lines, indented by two
};
const std::vector<Recipe>& recipes();  // in the order of their files; unpacked when first asked for

// A name however it is written: "Data-Parallel", "data_parallel" and "dataparallel" are the same.
std::string subject_key(std::string_view text);
// The parts of "a, b, c".
std::vector<std::string> subjects_in(std::string_view list);
// The builtins, and functions of modules, that the lines call.
std::vector<std::string> functions_used(lang::Interpreter& in, const std::string& code);
// Title, lines and functions, as help shows them.
std::string recipe_text(lang::Interpreter& in, const Recipe& r);

}  // namespace shard::stdlib
