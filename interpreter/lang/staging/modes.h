// Modifiers of functions: `jit fn`, `manual fn`, `auto(@X) fn`, `explicit(@X) fn`. A modified function wraps the
// closure that was written (values/wrapped.h).
#pragma once
#include "interpreter/lang/eval/interpreter.h"
#include "interpreter/lang/values/closure.h"
#include "interpreter/lang/values/wrapped.h"

namespace shard::lang {

void install_modes(Interpreter& in);  // the evaluator makes modified functions with what is here (eval/hooks.h)

// Per-device code: `closure` is bare, its annotations give the specs. Empty axes: all of the mesh.
Value make_manual(std::shared_ptr<const Closure> closure, std::vector<std::string> axes, bool all_axes,
                  grammar::Span span);
// Code in which these axes are auto (or explicit): `f` is called inside, its arguments cross over.
Value make_mode_function(Value f, runtime::AxisKind kind, std::vector<std::string> axes, bool all_axes);

// A call of the function that is wrapped; what is recorded next is of the call itself again.
Value call_wrapped(Interpreter& in, const Wrapped& w, std::vector<CallArg>& args, grammar::Span span);

}  // namespace shard::lang
