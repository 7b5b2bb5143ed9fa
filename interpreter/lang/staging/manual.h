// Functions that are the program of one device: `manual fn` (modes.h) and `shard_map` (stdlib/host) make them.
#pragma once
#include "interpreter/lang/staging/modes.h"

namespace shard::lang {

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
