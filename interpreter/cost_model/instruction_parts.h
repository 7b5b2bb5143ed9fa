// What reading a graph as instructions (instructions.cpp) asks about one node, and about what goes round in a loop.
// Used there only.
#pragma once
#include <optional>
#include <vector>

#include "interpreter/cost_model/instructions.h"
#include "interpreter/ir/op.h"
#include "interpreter/ir/region_edges.h"
#include "interpreter/transform/factor_layout.h"

namespace shard::cost_model {

inline double bytes_of(const ir::Type& t) { return static_cast<double>(transform::bytes_of(t)); }
inline bool copies_host(const ir::Node& n) { return ir::host_copy(n) != ir::HostCopy::None; }
inline bool flag(const ir::Node& n, const char* name) { return n.attrs.says(name); }

// How many blocks a machine that simulates all devices holds: those that differ, and the same one in each process.
double blocks_of(runtime::AxisSet differ, const runtime::Mesh* mesh, double processes);
// Whether the operand's type says all there is to know of the result (a number in the shape of an array).
bool of_type_alone(const ir::Node& n);
transform::RuleRef rule_of(const ir::Graph& g, const ir::Node& n);  // nothing where it holds for whole values
// The sizes of a product: a sum over factors that both operands have. Without the elements' type.
std::optional<Product> product_of(const ir::Graph& g, const ir::Node& n);
// A carried value that a turn of `g` adds something to: sums over devices in that can wait for the last turn.
void add_up_later(const ir::Graph& g, Instructions& body, const Instructions::Carried& c, std::int64_t turns);
// Puts instructions, which are numbered by their first node, where they can run: one may wait for what comes later.
// `members`: the nodes of each. Gives the new place of each.
std::vector<int> put_in_order(Instructions& instructions, const std::vector<std::vector<int>>& members);
// Early is a collective that nothing but stretches stand before, on values that are the same in every turn.
void settle_early(Instructions& instructions);
void settle_copies(Instructions& instructions);  // beside which instruction each copy from the host begins

}  // namespace shard::cost_model
