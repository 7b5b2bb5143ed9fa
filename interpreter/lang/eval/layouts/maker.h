// Expressions that make an array out of host numbers and keys alone: `normal(k, [n, m]) / sqrt(n)`. Where one is laid
// out as it is made, several processes make it in one program with its layout, each its own blocks, and none has it
// whole.
#pragma once
#include "grammar/ast.h"
#include "interpreter/lang/eval/interpreter.h"

namespace shard::lang {

bool makes_array(Interpreter::Impl& m, const grammar::Expr& e);

}  // namespace shard::lang
