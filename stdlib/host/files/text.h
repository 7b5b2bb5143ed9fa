// Text that files hold.
#pragma once
#include <string>

#include "interpreter/lang/eval/interpreter.h"

namespace shard::stdlib {

bool valid_utf8(const std::string& s);
lang::Value chars(lang::Interpreter& in, lang::BoundArgs& a);  // the builtin

}  // namespace shard::stdlib
