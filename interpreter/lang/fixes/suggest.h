// One or two fixes for an operation that failed, made of what Candidates finds (candidates.h).
#pragma once
#include "interpreter/lang/fixes/candidates.h"

namespace shard::lang {

inline constexpr std::size_t kFixes = 2;  // an error carries no more

// Whether `e` is an error of the layouts of this very expression that has no fix yet.
bool is_fixable(const grammar::Error& e, const grammar::Expr& at);
bool takes_out(Interpreter::Impl& m, const ir::OpDef& op);  // an argument `out: P(...)`
// Adds them; none where nothing that was tried helps. `whole`: the expression that failed.
void suggest(Interpreter::Impl& m, grammar::Error& e, const std::vector<Part>& parts, const Attempt& attempt,
             grammar::Span whole);

}  // namespace shard::lang
