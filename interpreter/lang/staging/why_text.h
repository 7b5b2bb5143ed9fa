// Why the partitioner inserted a collective (ir/why.h), as a sentence and as a record of the language.
#pragma once
#include <string>

#include "interpreter/ir/why.h"
#include "interpreter/lang/eval/interpreter.h"

namespace shard::lang {

// "`x @ w` of f32[8@X,8@Y] and f32[8@Y,4] is a sum over @Y; `tanh(x @ w)` wants it as f32[8@X,4]"; lines other than
// that of `here` are named.
// `op`: the collective that is there for it.
std::string why_text(const ir::Why& why, const ir::OpDef& op, const grammar::SourceMap& sources, grammar::Span here);
// {value, wanted, made, line, by, beside, terms}: types with layouts as text, lines, the code that wanted it.
Value why_record(const ir::Why& why, const grammar::SourceMap& sources);
std::string code_at(const grammar::SourceMap& sources, grammar::Span span, std::size_t width);  // on one line

}  // namespace shard::lang
