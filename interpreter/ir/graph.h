// A traced function: typed values, and nodes in order. Ids, not pointers; one representation at two levels, *global*
// (whole shapes, layouts) and *local* (shapes of one device, explicit collectives). A graph is made by a Builder and
// then never changes: a pass makes a new one. Nodes with effects (print, assert) keep their order: the order of nodes
// is the token.
#pragma once
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "interpreter/ir/attrs.h"
#include "interpreter/ir/origin.h"
#include "runtime/mesh/type.h"

namespace shard::ir {

using runtime::Type;
struct FactorRule;
struct OpDef;
struct Graph;
using GraphRef = std::shared_ptr<const Graph>;

struct Var {  // a value of one graph
  std::int32_t id = -1;
  bool valid() const { return id >= 0; }
  auto operator<=>(const Var&) const = default;
};
using Vars = std::vector<Var>;
inline std::size_t at(Var v) { return static_cast<std::size_t>(v.id); }  // its place in tables by id

struct Node {
  const OpDef* op = nullptr;
  Attrs attrs;
  Vars inputs, outputs;
  std::vector<GraphRef> regions;  // bodies of loops, branches, mapped functions
  Origin span;                    // what caused it
  // Its factors, where they are known: found out once, by who makes the node (passes that move nodes hand them on).
  std::shared_ptr<const FactorRule> rule = {};
};

struct Graph {
  bool local = false;
  runtime::MeshRef mesh;    // of a local graph: the mesh whose devices run it
  std::vector<Type> types;  // by Var::id
  Vars params, results;
  std::vector<Node> nodes;
  const Type& type(Var v) const { return types[at(v)]; }
};
GraphRef share(Graph g);
std::vector<Type> types_of(const Graph& g, std::span<const Var> vars);
std::vector<int> count_uses(const Graph& g);         // by Var::id: by nodes, and as results
std::vector<const Node*> producers(const Graph& g);  // by Var::id; null: a parameter

std::size_t hash(const Graph& g);  // by structure: spans do not count
bool equal(const Graph& a, const Graph& b);
std::string to_string(const Graph& g);  // for goldens and dumps; types as users write them
// As a function in Shard, which `trace` prints: "fn(a: f32[3]) { ... }", a `let` for each node, its type behind it;
// regions are functions too. The first `arguments` parameters are those of the call, the others came from outside.
std::string as_function(const Graph& g, std::size_t arguments);
void verify(const Graph& g);  // the laws of a graph; throws std::logic_error naming law and node (Debug builds call it
                              // after each pass)

}  // namespace shard::ir
