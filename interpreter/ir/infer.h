// The law of one operation: its results' types from its operands' types, read from the row. Elements' types by the
// dtype rule, sizes by the factors, layouts on explicit axes by the same factors (or the error that names both types
// and the ways out), varying axes as the union of the operands'. Throws runtime::RuntimeError(code, facts); the Builder
// adds the span.
#pragma once
#include <vector>

#include "interpreter/ir/op.h"

namespace shard::ir {

std::vector<Type> infer(const OpCall& call);

// Element types of the results: the dtype column, or the code's.
std::vector<runtime::Kind> result_kinds(const OpCall& call, std::size_t results);

}  // namespace shard::ir
