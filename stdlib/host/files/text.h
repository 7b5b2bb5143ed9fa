// Text that files hold.
#pragma once
#include <string>

#include "interpreter/lang/eval/interpreter.h"

namespace shard::stdlib {

lang::Value chars(lang::Interpreter& in, lang::BoundArgs& a);  // the builtin

}  // namespace shard::stdlib
