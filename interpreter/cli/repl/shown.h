// How the REPL shows a value: arrays with their type and layout first, trees of arrays as trees of types, everything
// else as it is written.
#pragma once
#include <string>

#include "interpreter/lang/eval/interpreter.h"

namespace shard::cli {

std::string shown(lang::Interpreter& in, const lang::Value& v);
// "f32[8@data,4]" with the layout that an array has, on automatic axes too; "{w: f32[4], b: f32[]}"; of numbers as
// typeof.
std::string type_shown(lang::Interpreter& in, const lang::Value& v);

}  // namespace shard::cli
