// What one call of a compiled function does, as text: each source line that makes devices communicate, with its
// collectives; then what the call sends, holds and computes. A reader of the plan, for `explain` and `shard explain`.
#pragma once
#include <string>
#include <vector>

#include "grammar/source.h"
#include "interpreter/ir/why.h"
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

// ---- why the partitioner inserted a collective (ir/why.h)

// "`x @ w` of f32[8@X,8@Y] and f32[8@Y,4] is a sum over @Y; `tanh(x @ w)` wants it as f32[8@X,4]"; lines other than
// that of `here` are named.
// `op`: the collective that is there for it; `names`: of the call's arguments.
std::string why_text(const ir::Why& why, const ir::OpDef& op, const std::vector<std::string>& names,
                     const grammar::SourceMap& sources, grammar::Span here);
// {value, wanted, made, line, by, beside, terms}: types with layouts as text, lines, the code that wanted it.
Value why_record(const ir::Why& why, const grammar::SourceMap& sources);
std::string two_places(double x);                                                               // 1.47
std::string code_at(const grammar::SourceMap& sources, grammar::Span span, std::size_t width);  // on one line

}  // namespace shard::lang
