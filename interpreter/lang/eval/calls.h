// The open calls of functions of the script: how deep they are, and which of them led into the library.
#pragma once
#include "grammar/source.h"
#include "interpreter/lang/eval/run_stack.h"

namespace shard::lang {

struct Calls {
  int depth = 0;
  int entries = 0;  // of the host: more than one where a function of the host, called by a script, calls the engine
  RunStack stack;
  grammar::Span user;  // while a function of the library runs: the call in the script that led there
};

}  // namespace shard::lang
