// What one call of a compiled function does, as text: each source line that makes devices communicate, with its
// collectives; then what the call sends, holds and computes. A reader of the plan, for `explain` and `shard explain`.
#pragma once
#include <string>
#include <vector>

#include "grammar/source.h"
#include "interpreter/lang/staging/jit.h"

namespace shard::lang {

// What it sends, in short: "2 psum of 128 bytes, 1 all_gather of 64 bytes", a part each; none where it sends nothing.
std::vector<std::string> communication(const CompiledCall& call);
// Of each record of the plan's communication, in order: what it takes, in seconds, and how that is said.
struct Prices {
  std::vector<double> seconds;
  std::string (*words)(double);
};
std::string explained(const CompiledCall& call, const grammar::SourceMap& sources, const Prices* prices = nullptr);

}  // namespace shard::lang
