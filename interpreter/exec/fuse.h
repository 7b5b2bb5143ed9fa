// Fusion: which nodes of a local graph become one instruction. Elementwise nodes over the same points that feed one
// another become one program (one pass over memory), with reductions of their rows and what is made of these (softmax,
// norms, losses and their gradients); a sum over devices joins the contraction that it alone uses.
// Decides groups and their order; building the programs is lower_elementwise.cpp's part. A reader of columns.
#pragma once
#include <algorithm>
#include <memory>
#include <vector>

#include "interpreter/ir/graph.h"
#include "interpreter/ir/op_table.h"
#include "runtime/mesh/mesh.h"

namespace shard::exec {

// The elements that nodes of one program are computed at. With `row` trailing dimensions as a row, there are values
// with one element a row too, what a reduction leaves: their shapes lack these dimensions, or have ones there.
struct Points {
  runtime::Shape shape;
  runtime::AxisSet distinct;
  std::size_t row = 0;
  // Dimensions [first, last), before those of a row, that some nodes reduce to what others read, however long they are.
  std::size_t first = 0, last = 0;
  bool reduced_by(const ir::Node& n) const;

  enum class Class { Each, OfRow, Other };
  Class of(const runtime::Shape& shape) const;
};

inline constexpr std::size_t kProgram = 96;  // nodes of one at most: its registers stay in the second cache

struct Segment;  // depth_first.h
struct Unit {
  std::vector<int> nodes;       // indices into Graph::nodes, ascending
  std::vector<int> again = {};  // those of other units that it does for itself too (recompute.h)
  std::vector<int> all() const {
    std::vector<int> out(nodes.size() + again.size());
    std::merge(nodes.begin(), nodes.end(), again.begin(), again.end(), out.begin());
    return out;
  }
  bool elementwise = false;  // one ElementProgram, over:
  Points points = {};
  bool summed = false;  // nodes: what is summed, then the psum
  bool effect = false;
  std::shared_ptr<const Segment> segment = {};  // several units that are done block by block
};

// In an order of execution; effects keep theirs. `with_sums`: a contraction and the sum of its terms over devices may
// be one, in an order of their own (that of the contraction, its summed dimensions and the devices together); the same
// for any number of threads, but not for any number of processes, as the order of runtime::reduce_blocks is. `apart`:
// axes whose devices are in several processes, so that a sum over them is more than an instruction.
std::vector<Unit> units_of(const ir::Graph& g, const std::vector<runtime::AxisSet>& distinct, const runtime::Mesh* mesh,
                           bool with_sums = true, runtime::AxisSet apart = {});
// Every node by itself, in the order of the graph: for who looks at each value.
std::vector<Unit> units_alone(const ir::Graph& g);

}  // namespace shard::exec
