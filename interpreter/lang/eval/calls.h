// The open calls of functions of the script: how deep they are, and which of them led into the library.
#pragma once
#include "grammar/source.h"

namespace shard::lang {

struct Calls {
  int depth = 0;
  char* stack_end = nullptr;  // C++ frames below this address leave too little room for another call
  grammar::Span user;         // while a function of the library runs: the call in the script that led there
};

}  // namespace shard::lang
