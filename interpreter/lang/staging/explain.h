// What one call of a compiled function does, as text: each source line that makes devices communicate, with its
// collectives; then what the call sends, holds and computes. A reader of the plan, for `explain` and `shard explain`.
#pragma once
#include <string>

#include "grammar/source.h"
#include "interpreter/lang/staging/jit.h"

namespace shard::lang {

std::string explained(const CompiledCall& call, const grammar::SourceMap& sources);

}  // namespace shard::lang
