// A spec written in place that does not fit its array: names that are near, an axis once, as many entries as
// dimensions, and no axis that does not divide.
#pragma once
#include "interpreter/lang/eval/interpreter.h"

namespace shard::lang {

// A layout for an array of this shape that is near to `written`; nothing where `written` fits, or none is near.
std::optional<Spec> fitting(Interpreter::Impl& m, const Spec& written, const runtime::Shape& shape,
                            const runtime::MeshRef& mesh, grammar::Span span);

}  // namespace shard::lang
