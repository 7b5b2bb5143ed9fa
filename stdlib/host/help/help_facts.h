// What help tells of an operation beside its signature and sentence; see help_facts.cpp. Used by help_function.cpp.
#pragma once
#include <string>
#include <vector>

#include "interpreter/ir/op_table.h"
#include "interpreter/lang/eval/interpreter.h"

namespace shard::stdlib {

struct Facts {
  std::vector<std::string> shapes;  // "(f32[4,6], f32[6,8]) -> f32[4,8]"
  std::string gradient;
  std::vector<std::string> layout;  // the same with one dimension split over an explicit axis
};
Facts facts_of(const ir::OpTable& table, const ir::OpDef& op);

struct Example;
const Example* example_of(std::string_view name);  // help_function.cpp; null where there is none
// What a builtin does, in its own sentences; help_function.cpp.
std::string sentences_of(lang::Interpreter& in, const lang::Value& builtin);
// How a value is called and what it does; help_function.cpp.
std::string help_of(lang::Interpreter& in, const lang::Value& v);

}  // namespace shard::stdlib
