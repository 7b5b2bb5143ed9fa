// What the arrays that go into and come out of a compiled function are called, as in a file of the tree:
// "p.layers.0.w".
#pragma once
#include <string>
#include <vector>

#include "interpreter/lang/staging/jit_cache.h"

namespace shard::lang {

// Of the parameters of the plan: an argument's by the name of the function's parameter, one that the function takes
// from outside by that of its variable.
std::vector<std::string> names_given(const Value& function, const std::vector<CallArg>& args, const CompiledEntry& e);
// Of its results: "result", "result.1.w".
std::vector<std::string> names_made(const CompiledEntry& e);

}  // namespace shard::lang
