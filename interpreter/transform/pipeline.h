// THE list of passes from a global graph (already differentiated) to the program of one device. Called for targets
// (exec/target.h); the graph is verified after each pass in Debug builds.
#pragma once
#include <functional>
#include <string_view>

#include "interpreter/ir/op_table.h"
#include "interpreter/transform/program.h"

namespace shard::transform {

struct Passes {             // what a target wants of the list
  bool partition = true;    // false: only the types of results
  bool early_sums = false;  // for one process that runs all devices
  bool join_sums = true;    // small ones are one message; false: where nothing is sent, or whoever sends joins them
  bool both_ways = false;   // small branches in loops are a choice of what both give
  bool uneven = true;       // false: no blocks with padding, which a target that looks at all elements would see
};

struct LowerOptions {
  std::function<void(std::string_view pass, const ir::Graph&)> dump = {};  // called with the graph after each pass
  Passes passes = {};
};

// The first part of the list: the graph that is laid out, on a mesh.
ir::Graph whole_graph(const ir::OpTable& table, const ir::Graph& graph);

// `arguments`: how they are laid out. `mesh` null: nothing was ever laid out, the graph runs on one device as it is.
Program lower(const ir::OpTable& table, const ir::Graph& graph, const runtime::MeshRef& mesh,
              std::span<const ArrayInfo> arguments, const LowerOptions& options = {});

// The second half of the list, for a graph that is local already. `results`: types and layouts as the caller sees them
// (global shapes); along which axes they differ is found out.
Program settle(const ir::OpTable& table, ir::Graph local, const runtime::MeshRef& mesh,
               std::span<const ArrayInfo> arguments, std::vector<ArrayInfo> results, const LowerOptions& options = {});

}  // namespace shard::transform
