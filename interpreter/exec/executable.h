// What a target makes of a program: something that takes arrays and gives arrays. Immutable, run any number of times.
#pragma once
#include <functional>
#include <map>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "interpreter/ir/op_table.h"
#include "interpreter/transform/program.h"
#include "runtime/mesh/device_array.h"

namespace shard::exec {

using runtime::ArrayRef;
using transform::ArrayInfo;
using transform::CommRecord;
using transform::Program;

ArrayInfo array_info(const runtime::DeviceArray& a);
// Whether an array is laid out so.
bool matches(const ArrayInfo& info, const runtime::DeviceArray& a);

// Arrays without elements: what a target gives that computes nothing (abstract.cpp). An array whose buffer is null
// stands for its type and layout; what reads an element of it ends in RuntimeError("unknown")
// (runtime/mesh/device_array.cpp).
ArrayRef without_elements(const ArrayInfo& info);
// An array of this type that is laid out as the type says over all axes; what it is typed with are the explicit ones.
ArrayRef without_elements(runtime::Type type, const runtime::MeshRef& mesh);

// A temporary, or the buffer of a loop, that lies on a device.
struct Piece {
  const ir::Node* maker = nullptr;  // whose instruction writes it first; none: a result's copy
  ir::Var value = {};               // of the maker's graph: the first that lies in it; none: a copy, or a loop's buffer
  std::int64_t bytes = 0;
  int depth = 0;  // of loops and branches around it
};
// The most of them that live at once, and the instruction at which they do.
struct Most {
  std::int64_t bytes = 0;
  std::int64_t working = 0;  // of them and what kernels take for themselves, where that is most
  std::int64_t host = 0;     // beside them, in the host's memory: the most that lives there at once
  std::vector<Piece> pieces = {};
  const ir::Node* at = nullptr;
};

struct MemoryUse {  // bytes on one device
  std::int64_t arguments = 0, results = 0, temporaries = 0;
  std::int64_t working = 0;  // beside temporaries: what this engine's kernels take
  std::int64_t host = 0;     // ... and what is said to lie in the host's memory
  Most most = {};            // of the temporaries
  std::vector<std::pair<const ir::Node*, std::int64_t>> curve = {};  // of them, after each instruction
  // Values that whoever wants them makes again (recompute.h), and what these are made of, with a node for which.
  std::vector<ir::Var> made_again = {};
  std::vector<std::pair<ir::Var, const ir::Node*>> read_again = {};
};

// Bytes that an instruction copies besides what it does, as its operands lie otherwise than it wants them.
using Copies = std::map<const ir::Node*, std::int64_t>;

class Timing;

// What effects call when they run. `blocks`: one array a device for values that vary, else one.
struct Hooks {
  std::function<void(const ir::Attrs& attrs, const std::vector<ArrayRef>& operands,
                     const std::vector<std::string>& layouts, grammar::Span span)>
      effect;
  Timing* timing = nullptr;  // timing.h: who wants to know what instructions take
};

class Executable {
 public:
  explicit Executable(std::shared_ptr<const Program> program) : program_(std::move(program)) {}
  virtual ~Executable() = default;
  // Arguments as ArrayInfo said. An argument handed over with a use count of 1 and donate true may be overwritten.
  // Where this throws, `args` are as they were, but for those that were being overwritten: they are null.
  std::vector<ArrayRef> run(std::vector<ArrayRef>& args, const std::vector<bool>& donate, const Hooks& hooks) const;
  std::vector<ArrayRef> run(std::vector<ArrayRef>&& args, const std::vector<bool>& donate, const Hooks& hooks) const {
    return run(args, donate, hooks);
  }
  virtual const MemoryUse& memory() const = 0;
  virtual Copies copies() const { return {}; }  // of an engine that does it for all devices in one memory
  const Program& program() const { return *program_; }
  // What is known of a partitioned program only; else RuntimeError("unknown").
  const std::vector<CommRecord>& comm() const { return partitioned().communication; }
  std::int64_t flops() const { return static_cast<std::int64_t>(partitioned().flops); }  // over all devices

 protected:
  const Program& partitioned() const;
  // `run`, of arrays that lie on the program's mesh.
  virtual std::vector<ArrayRef> compute(std::vector<ArrayRef>& args, const std::vector<bool>& donate,
                                        const Hooks& hooks) const = 0;

 private:
  std::shared_ptr<const Program> program_;
};

}  // namespace shard::exec
