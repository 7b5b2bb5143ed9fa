// `shard E as SPEC on MESH`, and the literals that layouts are written with.
#pragma once
#include "grammar/ast.h"
#include "interpreter/lang/eval/interpreter.h"

namespace shard::lang {

// Layouts for a tree: `specs` is a spec or a tree of specs that is a prefix of it. Null mesh: the current one. `from`:
// the mesh of the code that it leaves, where that has axes of other kinds (ir::crossing).
Value shard_tree(Interpreter& in, const Value& tree, const Value& specs, const runtime::MeshRef& mesh,
                 grammar::Span span, const runtime::MeshRef& from = nullptr);
Value eval_shard(Interpreter::Impl& m, const grammar::Expr& e, const grammar::Shard& s);
Value eval_spec(Interpreter::Impl& m, const grammar::SpecLit& s);
Value eval_type(Interpreter::Impl& m, const grammar::Expr& e, const grammar::TypeLit& t);

}  // namespace shard::lang
