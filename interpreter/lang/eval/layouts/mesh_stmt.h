// `mesh m = (@X: 4, @Y: _ explicit) on devices`, and `rules { batch: @X }`: what they declare holds for the rest of the
// block.
#pragma once
#include "grammar/ast.h"
#include "interpreter/lang/eval/interpreter.h"

namespace shard::lang {

void exec_mesh(Interpreter::Impl& m, const grammar::MeshStmt& s, grammar::Span span);
void exec_rules(Interpreter::Impl& m, const grammar::RulesStmt& s);

}  // namespace shard::lang
