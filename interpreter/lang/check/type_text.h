// The type of any value as `shard check --types` prints it, and sizes that depend on data as `_`.
#pragma once
#include <string>

#include "interpreter/lang/eval/interpreter.h"

namespace shard::lang {

std::string type_text(Interpreter::Impl& m, const Value& v);
std::string blank(const std::string& text);  // with such sizes blanked

}  // namespace shard::lang
