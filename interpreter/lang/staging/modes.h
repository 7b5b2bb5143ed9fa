// Modifiers of functions: `jit fn`, `manual fn`, `auto(@X) fn`, `explicit(@X) fn`. A modified function is a host
// function around the closure that was written.
#pragma once
#include "interpreter/lang/eval/impl.h"

namespace shard::lang {

// The value of a function that has modifiers; the innermost (last written) is applied first.
Value with_modifiers(Interpreter& in, std::shared_ptr<Closure> closure);

// Per-device code: `closure` is bare, its annotations give the specs. Empty axes: all of the mesh.
Value make_manual(Interpreter& in, std::shared_ptr<const Closure> closure, std::vector<std::string> axes, bool all_axes,
                  grammar::Span span);
// A region in which these axes are auto (or explicit): `f` is called inside, its arguments cross over.
Value make_region(Interpreter& in, Value f, runtime::AxisKind kind, std::vector<std::string> axes, bool all_axes,
                  grammar::Span span);

}  // namespace shard::lang
