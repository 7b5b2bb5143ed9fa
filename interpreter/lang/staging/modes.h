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

// Functions that are the program of one device: `manual fn`, and `shard_map` (stdlib/host).
struct ManualSpecs {
  std::vector<Value> in;     // a spec, a tree of specs or none for each argument
  bool in_unknown = false;   // no specs were given: they come from the types of the arguments
  bool one_for_all = false;  // the first one is for every argument
  Value out;
  std::vector<std::string> axes;  // those that become manual
  bool all_axes = true;
  runtime::MeshRef mesh;  // null: the current one at the call
  bool check = true;      // whether results may vary along axes that their specs leave out
};
// `word`: how it was made, "manual" or "shard_map". Traced once a key, as a jit function is.
Value manual_function(Value function, std::string word, ManualSpecs specs, grammar::Span span);

}  // namespace shard::lang
