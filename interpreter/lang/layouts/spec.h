// Specs and axes met with a mesh: names are looked up, first among the mesh's axes, then in the rules. Every mistake
// that a spec can have is found here, but for what needs the array's shape (check_divides). Called by
// Interpreter::resolve, `shard`, annotations and the binding of operations.
#pragma once
#include "interpreter/lang/eval/interpreter.h"

namespace shard::lang {

// Mesh axes that a list of names stands for, in order; rules are followed. `what` for messages: the spec as it is
// written.
std::vector<runtime::AxisId> axes_named(Interpreter::Impl& m, const std::vector<std::string>& names,
                                        const runtime::Mesh& mesh, grammar::Span span, const std::string& what);
// The same for an axis value or a list of them, on the current mesh.
ir::Ints axis_ids(Interpreter::Impl& m, const Value& axes, grammar::Span span);
ir::Layout resolve_spec(Interpreter::Impl& m, const Spec& spec, int rank, grammar::Span span,
                        const runtime::MeshRef& mesh);
// Every dimension must be a multiple of the product of its axes' sizes.
void check_divides(const ir::Layout& layout, const runtime::Shape& shape, grammar::Span span);
std::string sizes_text(const runtime::Mesh& mesh);  // "@data: 4, @model: 2"
// Only the explicit (and manual) axes of a layout, as types show them.
runtime::Sharding explicit_part(const ir::Layout& layout);

}  // namespace shard::lang
