// What to write instead of forms of other languages. The grammar does not know these forms: where it cannot go on,
// advise() looks at the text around that place. The check_ functions stop where the grammar could go on, but to no
// good. Called by parse.cpp and the rules.
#pragma once
#include <optional>
#include <string>
#include <string_view>

#include "grammar/state.h"

namespace shard::grammar {

// The diagnostic for a parse that could not go on at state.furthest, where a known form explains it.
std::optional<Diagnostic> advise(State& state);
// The same for an error that a rule itself gave: only loops in the manner of C and meshes that are
// called hide behind those.
std::optional<Diagnostic> advise_loop(State& state, Span where);

// What stands here for a module of another language, such as numpy; empty where the word is no such module.
std::string_view module_here(std::string_view module);

// A call such as `jax.make_mesh((4, 2), ("data", "model"))` as the declaration of a mesh of this name (`m` where it is
// a keyword): the axes and sizes that are written in it; empty where they cannot be read.
std::string mesh_line(std::string_view call, std::string_view name);

void check_digit_after_dot(State& state, const char* begin, const char* end);  // `1.` and `1.f`
[[noreturn]] void fail_number_runs_on(State& state, const char* begin, const char* end);
void check_after_shard(State& state, const Shard& shard, const char* at);  // `shard x as P(@X) @ w`
void check_lambda(State& state, const Function& function);                 // a function in an expression has no name

}  // namespace shard::grammar
