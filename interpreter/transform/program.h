// What the pipeline makes of a global graph: the program of one device, and what is known of it without running it. A
// value; targets (exec/target.h) make something that runs of it.
#pragma once
#include <span>
#include <string>
#include <vector>

#include "interpreter/ir/why.h"
#include "interpreter/transform/distinct.h"

namespace shard::transform {

struct ArrayInfo {           // how an array that goes in or comes out is laid out
  runtime::Type type;        // global
  runtime::Sharding layout;  // over all axes of the mesh
  runtime::AxisSet distinct;
  runtime::MeshRef mesh;  // null: one block, never laid out
  bool operator==(const ArrayInfo&) const = default;
};

// As they lie on the mesh of a program, which may have axes in parts (runtime/mesh/axis_parts.h); and back.
std::vector<ArrayInfo> laid_on(const runtime::MeshRef& mesh, std::span<const ArrayInfo> arrays);
ArrayInfo as_seen(const runtime::MeshRef& mesh, ArrayInfo array);

struct CommRecord {  // one collective as one call runs it
  std::string kind;  // "psum", "all_gather", "psum_scatter", "all_to_all", "ppermute", "pmax", "pmin", "pprod"
  std::vector<std::string> axes;
  std::int64_t bytes = 0;  // the larger of what one device gives and gets, times count
  std::int64_t sent = 0;   // what one device sends to others where they stand in a ring, times count
  std::int64_t count = 1;  // more than one inside loops
  bool written = false;    // by the program, not by the partitioner
  ir::Origin span;
  const ir::OpDef* op = nullptr;
  std::int64_t given = 0;                   // what one device gives to it each time, bytes
  std::shared_ptr<const ir::Why> why = {};  // it was inserted
};

struct Program {
  ir::Graph local;  // params and results as those of the global graph
  // Null: nothing was ever laid out. It may have axes in parts, of which callers see nothing: arguments and results are
  // on `mesh->whole` then, and what runs the program sees them by `laid_on`.
  runtime::MeshRef mesh;
  runtime::MeshRef seen_mesh() const { return mesh && mesh->whole ? mesh->whole : mesh; }
  std::vector<ArrayInfo> results;
  Distinct distinct;  // of `local`
  std::vector<CommRecord> communication;
  double flops = 0;  // over all devices
  double ideal = 0;  // flops of one device that does it all; 0: not known
  // False for targets that want the types of results and nothing else (Passes::partition): all but `mesh` and `results`
  // is empty then, and layouts are those that types tell.
  bool partitioned = true;
};

}  // namespace shard::transform
