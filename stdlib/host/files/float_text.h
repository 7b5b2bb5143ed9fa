// Text that files hold.
#pragma once
#include <string>

#include "interpreter/lang/eval/interpreter.h"

namespace shard::stdlib {

lang::Value chars(lang::Interpreter& in, lang::BoundArgs& a);  // the builtin

// The shortest text that reads back as this float, with a point where a number could be a whole one: "1.0", "1e+20".
// single: as f32.
std::string float_text(double x, bool single);

}  // namespace shard::stdlib
