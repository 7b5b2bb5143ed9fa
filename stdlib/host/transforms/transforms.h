// Transforms of functions as scripts call them: grad, vjp, jvp, vmap, scan, remat, jit, ... They trace the function
// into a graph, change the graph (interpreter/transform) and run it: recorded into the surrounding trace, or compiled
// and executed.
#pragma once
#include "interpreter/lang/eval/interpreter.h"
#include "interpreter/lang/staging/jit.h"

namespace shard::stdlib {

// An error of the transform `who` where its first argument is no function.
void need_function(lang::Interpreter& in, lang::BoundArgs& a, const char* who);  // derivatives.cpp
// An error of `who` where its arguments are no call f(x, y) that could be run here.
void need_call(lang::Interpreter& in, lang::BoundArgs& a, const std::string& who);  // compilation.cpp
// What a call compiles to for devices of their own, whatever runs here: one process that holds all of them
// (`simulated`) sums where a chip would scatter (transform/early_sums). (estimate.cpp)
lang::CompiledCall call_apart(lang::Interpreter& in, const lang::Value& f, const lang::BoundArgs& a,
                              bool simulated = false);

// One collective as scripts see it; `seconds` on a chip. (compilation.cpp)
lang::Value comm_record(lang::Interpreter& in, const exec::CommRecord& r, std::optional<double> seconds);

}  // namespace shard::stdlib
