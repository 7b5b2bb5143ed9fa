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

std::int64_t parts(const Mesh& mesh, const Axes& axes);
bool is_prefix(const Axes& a, const Axes& b);  // b begins with a

// The axes of each dimension are handed to its factors, the major one first; an axis that does not divide what is left
// of a factor goes to none of them (`whole` becomes false), nor do those behind it.
struct Projection {
  FactorAxes axes;
  bool whole = true;
};
Projection project(const ir::FactorRule& rule, const ir::ValueFactors& value, const Sharding& layout, const Mesh& mesh);

// The layout of a value whose factors are split so. A factor behind one that is not split to its end contributes
// nothing.
Sharding layout_of(const ir::FactorRule& rule, const ir::ValueFactors& value, const FactorAxes& axes, const Mesh& mesh);

// Axes on which factor f of this value can still be split by `axis`: the factors before it in its dimension are split
// to their end, and its size divides.
bool divides(const ir::FactorRule& rule, const ir::ValueFactors& value, const FactorAxes& axes, int f, AxisId axis,
             const Mesh& mesh);
// Every dimension that has factor f behind others finds these split to their end.
bool reachable(const ir::FactorRule& rule, const ir::ValueFactors& value, const FactorAxes& axes, int f,
               const Mesh& mesh);

// The rule of a node of a global graph; nothing for structural operations without one, or where it does not fit the
// node's values.
std::optional<ir::FactorRule> rule_of(const ir::Graph& g, const ir::Node& n);
std::vector<ir::Type> types_of(const ir::Graph& g, const ir::Vars& vars);

std::int64_t bytes_of(const ir::Type& t);  // saturates
// The same layout with every dimension closed, nothing reduced, axes of size 1 dropped from unreduced sets.
Sharding closed(Sharding layout);
bool same_split(const Sharding& a, const Sharding& b);  // dimension by dimension, whether open or not
// The layout of a value without its first dimension, and with a whole one in front.
Sharding without_front(const Sharding& layout);
Sharding with_whole_front(const Sharding& layout);

}  // namespace shard::transform
