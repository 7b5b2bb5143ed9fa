// Chips as scripts write them: a record with the fields of foresight/chip.h, or the name of one in the module `chips`.
#pragma once
#include "interpreter/foresight/chip.h"
#include "interpreter/lang/eval/interpreter.h"

namespace shard::stdlib {

// Errors name what is missing or of the wrong kind, and the chips that there are.
foresight::Chip chip_of(lang::Interpreter& in, const lang::Value& v, grammar::Span span);

}  // namespace shard::stdlib
