// Chips as scripts write them: a record with the fields of foresight/chip.h, or the name of one in the module `chips`.
#pragma once
#include <optional>

#include "interpreter/foresight/chip.h"
#include "interpreter/lang/eval/interpreter.h"

namespace shard::stdlib {

// Errors name what is missing or of the wrong kind, and the chips that there are.
foresight::Chip chip_of(lang::Interpreter& in, const lang::Value& v, grammar::Span span);
// The argument `chip:`, taken out of those that are a function's; nothing where there is none.
std::optional<foresight::Chip> take_chip(lang::Interpreter& in, lang::BoundArgs& a);

}  // namespace shard::stdlib
