// The type of any value as `shard check --types` prints it, and sizes that depend on data as `_`.
#pragma once
#include <functional>
#include <optional>
#include <string>

#include "interpreter/lang/eval/interpreter.h"

namespace shard::lang {

// What is known of a traced array beside its type; nothing: its type alone is shown.
using LayoutOf = std::function<std::optional<exec::ArrayInfo>(const trace::Tensor&)>;

std::string type_text(Interpreter::Impl& m, const Value& v, const LayoutOf& layout = nullptr);
std::string blank(const std::string& text);  // with such sizes blanked

}  // namespace shard::lang
