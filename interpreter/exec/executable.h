// A compiled graph: instructions over physical arrays (see runtime/mesh/device_array.h), in lockstep over distinct
// blocks. Made by compile() through the pipeline (transform/pipeline.h), immutable, run any number of times.
#pragma once
#include <functional>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "interpreter/ir/graph.h"
#include "interpreter/ir/table.h"
#include "runtime/mesh/device_array.h"

namespace shard::exec {

using runtime::ArrayRef;

struct ArgInfo {  // how an argument is laid out; part of the plan's key
  runtime::Type type;
  runtime::Sharding layout;  // over all axes of the mesh
  runtime::AxisSet distinct;
  runtime::MeshRef mesh;  // null: one block, never laid out
  bool operator==(const ArgInfo&) const = default;
};
ArgInfo arg_info(const runtime::DeviceArray& a);

struct CommRecord {  // one collective as one call runs it
  std::string kind;  // "psum", "all_gather", "psum_scatter", "all_to_all", "ppermute", "pmax", "pmin"
  std::vector<std::string> axes;
  std::int64_t bytes = 0;  // the larger of what one device gives and gets, times count
  std::int64_t count = 1;  // more than one inside loops
  bool written = false;    // by the program, not by the partitioner
  grammar::Span span;
};

struct MemoryUse {
  std::int64_t arguments = 0, results = 0, temporaries = 0;
};  // bytes on one device

// What effects call when they run. `blocks`: one array a device for values that vary, else one.
struct Hooks {
  std::function<void(const ir::Attrs& attrs, const std::vector<ArrayRef>& operands,
                     const std::vector<std::string>& layouts, grammar::Span span)>
      effect;
  std::function<bool()> interrupted;  // asked between instructions; true stops the run with Error("interrupt")
};

class Executable {
 public:
  virtual ~Executable() = default;
  // Arguments as ArgInfo said. An argument handed over with a use count of 1 and donate true may be overwritten.
  virtual std::vector<ArrayRef> run(std::vector<ArrayRef> args, const std::vector<bool>& donate,
                                    const Hooks& hooks) const = 0;
  virtual const std::vector<CommRecord>& comm() const = 0;
  virtual const MemoryUse& memory() const = 0;
  virtual std::int64_t flops() const = 0;      // over all devices
  virtual const ir::Graph& local() const = 0;  // the partitioned graph, for dumps and goldens
  virtual std::vector<runtime::Sharding> result_layouts() const = 0;
};

// graph: global, already differentiated. Throws grammar::Error / RuntimeError.
std::shared_ptr<const Executable> compile(const ir::OpTable& table, const ir::Graph& graph,
                                          std::span<const ArgInfo> args, runtime::MeshRef mesh, runtime::Pool& pool);

}  // namespace shard::exec
