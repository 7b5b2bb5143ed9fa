// Layouts through factor rules: what a value's layout says about the factors of an operation, and back. Pure functions,
// shared by propagation (which layout a value shall have) and partitioning (which one it gets).
#pragma once
#include <optional>
#include <span>
#include <vector>

#include "interpreter/ir/op.h"

namespace shard::transform {

using runtime::AxisId;
using runtime::AxisSet;
using runtime::Mesh;
using runtime::Sharding;
using Axes = std::vector<AxisId>;
using FactorAxes = std::vector<Axes>;  // by factor: the axes that split it, major to minor

bool is_prefix(const Axes& a, const Axes& b);  // b begins with a

// The axes of each dimension are handed to its factors, the major one first. A factor that is alone in its dimension
// takes all of them, whether its size divides or not (uneven.h); of several, an axis that does not divide what is left
// of a factor goes to none, nor do those behind it.
FactorAxes project(const ir::FactorRule& rule, const ir::ValueFactors& value, const Sharding& layout, const Mesh& mesh);

// The layout of a value whose factors are split so. A factor behind one that is not split to its end contributes
// nothing.
Sharding layout_of(const ir::FactorRule& rule, const ir::ValueFactors& value, const FactorAxes& axes, const Mesh& mesh);

// Every dimension that has factor f behind others finds these split to their end.
bool reachable(const ir::FactorRule& rule, const ir::ValueFactors& value, const FactorAxes& axes, int f,
               const Mesh& mesh);

using RuleRef = std::shared_ptr<const ir::FactorRule>;
// The rule of a node of a global graph; nothing for structural operations without one, or where it does not fit the
// node's values.
RuleRef rule_of(const ir::Graph& g, const ir::Node& n);
// The rule of an operation on one device, where nobody `kept` it; nothing for structural operations, and where it only
// holds for whole values.
RuleRef local_rule(const ir::OpDef& op, std::span<const ir::Type> in, const ir::Attrs& attrs, RuleRef kept = {});

std::int64_t bytes_of(const ir::Type& t);  // saturates
// The same layout with every dimension closed, nothing reduced, axes of size 1 dropped from unreduced sets.
Sharding closed(Sharding layout);
bool same_split(const Sharding& a, const Sharding& b);  // dimension by dimension, whether open or not
Sharding with_whole_front(Sharding layout);             // of the value with one more dimension in front

// ---- Layout propagation over a whole global graph: from parameters, `shard` constraints and results, both ways, to a
// layout for every value. A reader of the factor rules; it knows no operation. Priorities as in Shardy: elementwise
// first, then pass-through factors, then everything; what a split layout says wins over nothing said; closed dimensions
// and axes in use are never overridden. (propagate.cpp)
// Layouts of all values of a graph and of its regions, over all axes of the mesh.
struct Layouts {
  std::vector<runtime::Sharding> of;          // by Var::id
  std::vector<std::vector<Layouts>> regions;  // by node index, then region
};
Layouts propagate(const ir::Graph& graph, const runtime::MeshRef& mesh, std::span<const runtime::Sharding> params,
                  bool uneven = true);  // uneven: blocks need not divide sizes

// ---- One operation's split: which factor lies on which axes, settled from what its operands have and what its results
// shall have; partition.cpp calls it for every node with a factor rule.
struct SplitValue {
  const ir::ValueFactors* dims;
  const Sharding* layout;  // an operand's own, a result's wanted
  const ir::Type* type;
  std::int64_t bytes;
};

// Operands come first: of the axes they are split over, one candidate after another is taken, that which a result wants
// too before others, then that carried by the larger values, then pass before masked before reduced; but a table whose
// lookups are smaller stays where it is, and what is added to one at split places is not gathered where it is more than
// the table. What is left of the results' wishes is free (whole operands are sliced).
// Factors that the operation needs whole (masked and halo ones too unless `masks`, which says that the row has a local
// form for them) are never split: an operand's axes on them move to a factor that passes, where one is free. `barred`
// axes are never used. `uneven`: blocks need not divide sizes (uneven.h).
FactorAxes choose(const ir::FactorRule& rule, std::span<const SplitValue> operands, std::span<const SplitValue> results,
                  AxisSet barred, bool masks, bool uneven, const Mesh& mesh);

}  // namespace shard::transform
