// Specs and axes met with a mesh: names are looked up, first among the mesh's axes, then in the rules. Every mistake
// that a spec can have is found here, but for what needs the array's shape (check_divides). Called by
// Interpreter::resolve, `shard`, annotations and the binding of operations.
#pragma once
#include "grammar/ast.h"
#include "interpreter/lang/eval/interpreter.h"

namespace shard::lang {

// An error about one axis, or one dimension, of a spec: who knows where the spec is written points there.
struct SpecError : grammar::Error {
  SpecError(grammar::Span span, std::string message, std::vector<std::string> notes, std::string of_axis,
            int of_dimension = -1)
      : Error("spec", span, std::move(message), std::move(notes)), axis(std::move(of_axis)), dimension(of_dimension) {}
  std::string axis;
  int dimension;
};
// Where in `spec`, an expression that gives the spec or a tree of them, the entry is written; the whole of it where the
// text does not show it.
grammar::Span entry_place(const SpecError& error, const grammar::Expr& spec);

// Mesh axes that a list of names stands for, in order; rules are followed. `what` for messages: the spec as it is
// written.
std::vector<runtime::AxisId> axes_named(Interpreter& in, const std::vector<std::string>& names,
                                        const runtime::Mesh& mesh, grammar::Span span, const std::string& what);
// The same for an axis value or a list of them, on the current mesh.
ir::Ints axis_ids(Interpreter& in, const Value& axes, grammar::Span span);
// Layouts for a tree: `specs` is a spec or a tree of specs that is a prefix of it. Null mesh: the current one. `from`:
// the mesh of the code that it leaves, where that has axes of other kinds (ir::crossing). `within`: a value may stay
// inside of a program, where sizes need not divide (check_divides, traced).
Value shard_tree(Interpreter& in, const Value& tree, const Value& specs, const runtime::MeshRef& mesh,
                 grammar::Span span, const runtime::MeshRef& from = nullptr, bool within = false);
// Every dimension must be a multiple of the product of its axes' sizes; `traced`: but on auto axes, where blocks may be
// of different sizes inside of a program.
void check_divides(const ir::Layout& layout, const runtime::Shape& shape, grammar::Span span, bool traced = false);
std::string sizes_text(const runtime::Mesh& mesh);  // "@data: 4, @model: 2"
std::vector<std::string> texts_of(const std::vector<grammar::Word>& words);
runtime::UnreducedKind kind_of(const grammar::TypeGroup& group);  // of U, U_max and U_min
// Only the explicit (and manual) axes of a layout, as types show them.
runtime::Sharding explicit_part(const ir::Layout& layout);

}  // namespace shard::lang
