// The graph as propagation sees it: scopes (a graph or region with a layout for each value) and items, rules over
// values of any scope. A node's factor rule is an item, and so is every edge along which a value flows unchanged: into
// and out of regions, round a loop. Built once by build_flow, read and grown by propagate.
#pragma once
#include <memory>
#include <vector>

#include "interpreter/transform/factor_layout.h"

namespace shard::transform {

struct Scope {
  const ir::Graph* graph = nullptr;
  AxisSet blocked;           // axes that per-device code around it has taken
  std::vector<Sharding> of;  // by Var::id; open dimensions may grow
  // By Var::id: whose kinds of axes hold for it. Code of another mode (`auto fn`, `explicit fn`) has a mesh of its own.
  std::vector<const runtime::Mesh*> mesh;
  std::vector<std::vector<std::unique_ptr<Scope>>> regions;
};

struct FlowValue {
  Scope* scope = nullptr;
  ir::Var var;
  const ir::ValueFactors* dims = nullptr;  // of the item's rule
  std::vector<Axes> outside;  // by dimension, edges into per-device code: axes that the spec splits it over and the
                              // inside does not see
  bool result = false;
  bool still = false;  // gives its layout and takes none
  bool repeated =
      false;  // an operand of an operation of pass factors that is repeated along dimensions of the result: a bias
  std::int64_t bytes = 0;
};

struct FlowItem {
  RuleRef rule;
  std::vector<FlowValue> values;
  bool edge = false;     // one value in several places: all are sources and targets alike
  bool repeats = false;  // a factor that only the result has: all operands are repeated
  int level = 3;         // the level of propagation it joins at
};

struct DataFlow {
  std::unique_ptr<Scope> top;
  std::vector<FlowItem> items;  // in the order of nodes, those of a region behind its node
};

// `uneven`: constraints hold where sizes do not divide, too.
DataFlow build_flow(const ir::Graph& graph, const runtime::MeshRef& mesh, std::span<const Sharding> params,
                    bool uneven);

// A spec of per-device code (ir::operand_spec, ir::result_spec), for a value of this rank.
Sharding spec_of(const ir::Attrs& attrs, std::string_view name, std::size_t rank);
// The layout that a node of structure Shard with the attribute asks for: dimensions that the attribute does not reach
// are open.
Sharding asked(const ir::Attrs& attrs, std::size_t rank);
// What a value's type says of its layout (explicit axes, unreduced sums), without blocked axes.
Sharding typed(const ir::Type& type, AxisSet blocked, bool open);

}  // namespace shard::transform
