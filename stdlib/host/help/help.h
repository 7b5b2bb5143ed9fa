// What the files of help share: facts of operations, lessons, and texts of single entries.
#pragma once
#include <string>
#include <string_view>
#include <vector>

#include "interpreter/ir/op_table.h"
#include "stdlib/host/host.h"

namespace shard::stdlib {

// ---- help_function.cpp
std::string indented(const std::string& text, const std::string& by);  // its lines
bool among(const std::vector<std::string>& all, const std::string& one);
struct Example;
const Example* example_of(std::string_view name);  // null where there is none
// What a builtin does, in its own sentences.
std::string sentences_of(Interpreter& in, const Value& builtin);
// How a value is called and what it does.
std::string help_of(Interpreter& in, const Value& v);

// ---- help_lessons.cpp: what help finds by subject. Lessons and pages say which subjects some of their lines show
// (`# subjects: fsdp, zero`); the program holds those lines (pack.cpp)
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
std::vector<std::string> functions_used(Interpreter& in, const std::string& code);
// Title, lines and functions, as help shows them.
std::string recipe_text(Interpreter& in, const Recipe& r);

}  // namespace shard::stdlib
