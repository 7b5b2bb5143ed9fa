// One or two fixes for an operation that failed, made of what Candidates finds (candidates.h).
#pragma once
#include "interpreter/lang/fixes/candidates.h"

namespace shard::lang {

inline constexpr std::size_t kFixes = 2;  // an error carries no more

// Whether `e` is an error of the layouts of this very expression that has no fix yet.
bool is_fixable(const grammar::Error& e, const grammar::Expr& at);
bool takes_out(Interpreter::Impl& m, const ir::OpDef& op);  // an argument `out: P(...)`
// The rows of a table at split positions, laid out as those are: nothing would move where the table is whole.
std::optional<runtime::Sharding> layout_of_lookup(Interpreter::Impl& m, const Value& table, const Value& index,
                                                  std::int64_t axis);
// Adds them; none where nothing that was tried helps. `whole`: the expression that failed.
void suggest(Interpreter::Impl& m, grammar::Error& e, const std::vector<Part>& parts, const Attempt& attempt,
             grammar::Span whole);

// The text at `whole` with these operands, which stand in it, laid out whole.
std::string whole_text(Interpreter::Impl& m, std::vector<grammar::Span> operands, grammar::Span whole);

}  // namespace shard::lang
