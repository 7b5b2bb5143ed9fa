// The current interpreter of operations: `apply` either records into the open trace or runs at once, through the same
// pipeline (a one-node graph and the plan cache). An engine has one Context; everything that would be global hangs on
// it.
#pragma once
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <unordered_map>
#include <vector>

#include "grammar/diagnostic.h"
#include "interpreter/exec/cache.h"
#include "interpreter/exec/target.h"
#include "interpreter/ir/builder.h"
#include "interpreter/trace/tensor.h"
#include "runtime/array/buffer.h"
#include "runtime/mesh/device_blocks.h"

namespace shard::runtime {
class Processes;
}

namespace shard::trace {

// The dimension that a transform maps over while a frame is open: the name that collectives call it by, and an
// element's place along it, a variable of the frame.
struct MappedDim {
  std::string name;
  std::int64_t size;
  ir::Var place;
};

// One open trace. Frames nest: a value of an outer frame that is used in an inner one becomes a captured parameter of
// the inner one.
class Frame {
 public:
  Frame(const ir::OpTable& table, FrameRef outer, runtime::MeshRef around)
      : builder(table), mesh(std::move(around)), outer_(std::move(outer)) {}
  ir::Builder builder;
  runtime::MeshRef mesh;  // of the code that opened it, which types what comes from outside
  const FrameRef& outer() const { return outer_; }
  std::vector<Tensor> captured;  // parallel to the parameters that follow the declared ones
  std::vector<ir::Var> captured_params;
  std::vector<int> guards;          // argument leaves whose host value the trace needed (outermost frames only)
  std::vector<std::size_t> lifted;  // those of `captured` that Context::lift put there: found again by identity
  ir::GraphRef done;                // once the trace is over: for the types of values that escaped
  bool types_only = false;          // nothing will run: arrays of any size
  std::optional<MappedDim> mapped;
  int derivatives = 0;  // how often what is recorded will be differentiated: whether rules of the user's own are needed

 private:
  FrameRef outer_;
};

struct Traced {
  ir::GraphRef graph;            // parameters: the declared ones, then one for each captured value
  std::vector<Tensor> captured;  // values of the surrounding frame (or concrete)
  std::vector<int> guards;
};

// Operations on concrete arrays, outside of any trace: each is a graph of one node, compiled through the common
// pipeline and found again by target, operation, attributes and how the operands are laid out.
class EagerCache {
 public:
  struct Entry {
    const exec::Target* target;
    const ir::OpDef* op;
    ir::Attrs attrs;
    std::vector<exec::ArrayInfo> args;
    runtime::MeshRef current;  // the mesh that said which axes are explicit
    std::shared_ptr<const exec::Executable> plan;
  };
  static std::size_t key(const ir::OpDef& op, const ir::Attrs& attrs, std::span<const runtime::ArrayRef> args);
  const exec::Executable* find(std::size_t key, const exec::Target& target, const ir::OpDef& op, const ir::Attrs& attrs,
                               std::span<const runtime::ArrayRef> args, const runtime::MeshRef& current) const;
  const exec::Executable* add(std::size_t key, Entry entry);

 private:
  static constexpr std::size_t kLimit = 4096;  // emptied when it holds this many
  std::unordered_multimap<std::size_t, Entry> entries_;
};

class Context {
 public:
  Context(const ir::OpTable& table, runtime::Pool& pool, int devices);

  // ---- operations
  std::vector<Tensor> apply(const ir::OpDef& op, std::span<const Tensor> operands, ir::Attrs attrs = {},
                            std::vector<ir::GraphRef> regions = {});
  Tensor apply1(const ir::OpDef& op, std::initializer_list<Tensor> operands, ir::Attrs attrs = {});
  // Runs a whole traced function on arguments: inlined into the open trace, or compiled (found by its structure) and
  // executed. `donate[i]`: argument i was handed over by its last holder and its memory may be used for the results.
  std::vector<Tensor> run(const ir::GraphRef& graph, std::vector<Tensor> arguments, std::vector<bool> donate = {});

  // What `body` gives, as one program: where an array is made and laid out at once, nobody makes more of it than his
  // own blocks. In a trace it is a part of that one.
  std::vector<Tensor> together(const std::function<std::vector<Tensor>()>& body);

  // ---- scalars and concrete values
  Tensor scalar(HostNumber value,
                bool weak = true);  // i32, f32 or bool; in a trace a constant node. Integers that do not fit i32: error
  Tensor concrete_scalar(HostNumber value);  // the same, but concrete also while a trace is open
  HostNumber need(const Tensor& known);      // the value of a traced host number, with a guard; see Tensor::known
  runtime::ArrayRef concrete(const Tensor& t, std::string_view what)
      const;  // error where t is traced: `what` needs a value that only a run has

  // ---- the target: what runs programs, `lockstep` unless it is set
  const exec::Target& target() const { return *target_; }
  const exec::Target& target(std::string_view name);  // one of the list (exec/target.h), whichever is set
  void set_target(const exec::Target& target) { target_ = &target; }  // lives as long as the context
  // The target holds no elements: arrays have no buffer, and what reads an element ends in an error of code "unknown".
  // `shard check` works so.
  bool types_only() const { return !target_->holds_elements(); }
  std::int64_t operations() const { return operations_; }  // that gave such arrays, so far
  // An array of this type without elements. One that is a weak number stands for a host number of a run.
  Tensor unknown(runtime::Type type);
  Tensor unknown(const runtime::Placement& at);  // laid out so, over automatic axes too

  // ---- tracing
  bool tracing() const { return frame_ != nullptr; }
  const FrameRef& frame() const { return frame_; }
  // Opens a frame with parameters of these types, calls body, closes it. `known[i]` (may be empty): host numbers among
  // the arguments.
  Traced trace(std::span<const runtime::Type> params,
               const std::function<std::vector<Tensor>(std::span<const Tensor>)>& body,
               std::span<const std::optional<HostNumber>> known = {}, bool types_only = false);
  // t as a variable of `frame`: captured where it comes from outside, and brought over the border where code around
  // this one is explicit and this one is not.
  ir::Var lift(const Tensor& t, const FrameRef& frame);
  runtime::Type type_in(const Frame& frame, const Tensor& t) const;  // of a captured value, before any border

  // The type of an array under the current mesh, which says which axes are explicit.
  runtime::Type type_of(const runtime::DeviceArray& a) const;
  runtime::Type type_of(const Tensor& t) const;
  // Axes that a type belongs to explicit code by and that the code at hand leaves to the partitioner: the value comes
  // from around it, and crosses its border where it is used.
  runtime::AxisSet foreign(const runtime::Type& t) const;
  std::vector<runtime::Type> types_of(std::span<const Tensor> tensors) const;

  // ---- surroundings
  const ir::OpTable& table() const { return table_; }
  runtime::Pool& pool() { return pool_; }
  int devices() const { return devices_; }  // of all processes
  // That run the same script; null where there is one.
  const std::shared_ptr<runtime::Processes>& processes() const { return processes_; }
  void set_processes(std::shared_ptr<runtime::Processes> processes) { processes_ = std::move(processes); }
  const runtime::MeshRef& mesh() const { return mesh_; }  // the current mesh; null where none was declared
  void set_mesh(runtime::MeshRef mesh) { mesh_ = std::move(mesh); }
  const ir::Origin& span() const { return span_; }
  void set_span(ir::Origin s) { span_ = s; }  // of the operation that is being evaluated
  exec::PlanCache& plans() { return plans_; }
  exec::Hooks& hooks() { return hooks_; }  // what effects call when they run

 private:
  ir::Var captured(const Tensor& t, const FrameRef& frame);  // as `lift`, without the border

  const ir::OpTable& table_;
  runtime::Pool& pool_;
  int devices_;
  std::shared_ptr<runtime::Processes> processes_;
  FrameRef frame_;
  runtime::MeshRef mesh_;
  ir::Origin span_;
  exec::PlanCache plans_;
  exec::Hooks hooks_;
  EagerCache eager_;
  struct CachedScalar {
    HostNumber value;
    bool weak;
    runtime::ArrayRef array;
  };
  std::vector<CachedScalar> scalars_;                                                // recent ones, a slot a hash
  std::map<std::string, std::unique_ptr<const exec::Target>, std::less<>> targets_;  // made so far
  const exec::Target* target_;
  std::vector<Tensor> eager(const ir::OpDef& op, std::span<const Tensor> operands, ir::Attrs attrs,
                            std::vector<ir::GraphRef> regions);
  std::int64_t operations_ = 0;
  bool unknown_numbers_ = false;  // some host numbers are known only in a run
  Tensor constant_of(const HostNumber& value, bool weak);
  Tensor make_scalar(const HostNumber& value, bool weak);
};

// Another target for a block.
class TargetScope {
 public:
  TargetScope(Context& context, const exec::Target& target) : context_(context), before_(context.target()) {
    context.set_target(target);
  }
  ~TargetScope() { context_.set_target(before_); }
  TargetScope(const TargetScope&) = delete;

 private:
  Context& context_;
  const exec::Target& before_;
};

}  // namespace shard::trace
