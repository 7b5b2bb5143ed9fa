// Which layout each value of a recorded graph gets: asked by the nodes as they were recorded, for an editor that shows
// the values' names. The passes renumber, merge and move nodes; what stays is the operation, its place in the source
// and its types, by which a node is found again.
#pragma once
#include <optional>
#include <span>
#include <vector>

#include "interpreter/transform/propagate.h"

namespace shard::transform {

class ValueLayouts {
 public:
  // A graph without calls (whole_graph, inline_calls); `arguments`: the layouts of its parameters.
  ValueLayouts(ir::Graph graph, const runtime::MeshRef& mesh, std::span<const runtime::Sharding> arguments);
  ValueLayouts(const ValueLayouts&) = delete;
  // Of an input or output of a node of the graph, or of one whose nodes became a part of it (a function that was
  // differentiated); nothing where no such node is left.
  std::optional<runtime::Sharding> of(const ir::Graph& recorded, const ir::Node& node, ir::Var value) const;

 private:
  struct Placed {
    const ir::Graph* graph;
    const ir::Node* node;
    const Layouts* layouts;
  };
  void list(const ir::Graph& graph, const Layouts& layouts);

  ir::Graph graph_;
  Layouts layouts_;
  std::vector<Placed> nodes_;  // of the graph and its regions, in order
};

}  // namespace shard::transform
