// Errors of form that a tree shows without knowing what its names mean: a positional argument after a named one, a
// value that nothing uses, a target that cannot be assigned, `break` outside a loop. Called by parse.cpp once the whole
// text is parsed.
#pragma once
#include <vector>

#include "grammar/state.h"

namespace shard::grammar {

// `whole`: no statement was left out for an error; else what stands outside of its loop or function is not told.
std::vector<Diagnostic> check_form(const Module& module, const State& state, bool whole);

}  // namespace shard::grammar
