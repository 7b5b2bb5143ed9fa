// From a local graph to a draft plan: every value gets a StridedView, every unit (fuse.h) that does work becomes a step
// with a kernel bound for its strides. Values that are only seen differently (broadcasts, reshapes, slices of a
// device's own part, most gathers) get a StridedView in the storage of their operand and cost nothing. One Lowering a
// graph; bodies of loops and branches get one of their own. Parts: lowering.cpp (the walk), lower_elementwise.cpp,
// lower_collectives.cpp, groups.cpp, process_collectives.cpp, joined_sums.cpp, lower_regions.cpp; used by them and
// lockstep.cpp only.
#pragma once
#include <span>
#include <string>
#include <vector>

#include "interpreter/exec/draft.h"
#include "interpreter/exec/fuse.h"
#include "interpreter/ir/op_table.h"
#include "runtime/kernels/kernels.h"
#include "runtime/mesh/part.h"

namespace shard::exec {

struct LoweringContext {  // the same for a graph and its regions
  const ir::OpTable& table;
  const Mesh* mesh = nullptr;
  runtime::MeshRef mesh_ref;
  runtime::Pool& pool;
  AxisSet frozen;  // axes whose coordinate is fixed while the region runs
  // Only what a device holds is asked for, one that has memory of its own: no kernels are bound, arrays of any size.
  bool measure = false;
  // What is done to one device's block hangs on that alone, not on what else this process holds: kernels take the
  // blocks one after another, dense; every sum over devices is in the order of runtime::reduce_blocks.
  bool exact = false;
  // What of the mesh is in this process, where that is not all; `mesh` then has the sizes here. `mesh_ref` is whole.
  const runtime::MeshPart* part = nullptr;
  bool nan_check = false;    // every node is looked at: whether it made a nan or an infinity (nan_check.cpp)
  Copies* copies = nullptr;  // with `measure`: of the engine that does it for all devices, filled in
  bool alone() const { return measure && !copies; }  // a device's memory is asked for
};

// How a parameter comes: relative to the pointer in its slot.
StridedView param_place(int storage, const ir::Type& type, AxisSet distinct, const LoweringContext& around);

// A region to be compiled: its parameters as they lie behind their slots, what its results must be, and which
// parameter's memory a result may take over.
struct BodyCall {
  const ir::GraphRef& region;
  const transform::Distinct& distinct;
  std::vector<StridedView> params = {};
  std::vector<std::int64_t> whole = {};  // bytes of a parameter that may be overwritten, else 0
  std::vector<AxisSet> results = {};
  Donors wanted = {};
};
// An executable that says what one device holds in a call of its program, without making anything that runs: when it is
// asked for, as planning takes longer than all else. (lockstep.cpp)
class Measured : public Executable {
 public:
  Measured(std::shared_ptr<const Program> program, std::span<const ArrayInfo> arguments, const ir::OpTable& table,
           runtime::Pool& p)
      : Executable(std::move(program)), pool(p), arguments_(arguments.begin(), arguments.end()), table_(table) {}
  const MemoryUse& memory() const override;
  Copies copies() const override;

 protected:
  runtime::Pool& pool;

 private:
  std::vector<ArrayInfo> arguments_;
  const ir::OpTable& table_;
  mutable std::optional<MemoryUse> memory_;
};

struct Body {  // a compiled region
  Plan plan;
  std::vector<ResultRef> results;
  Most most;
};
Body compile_body(const BodyCall& call, const LoweringContext& around);

// How terms of this type are combined; truth values have no sum but `or`.
runtime::Reduce combining(const ir::Collective& c, DType dtype);  // lower_collectives.cpp
// The dimension that an attribute of a collective names.
int dimension(const ir::Node& n, const char* attribute, std::size_t rank);  // lower_collectives.cpp

class Lowering {
 public:
  Lowering(const ir::Graph& g, LoweringContext around, const transform::Distinct& distinct);

  // Parameter i as it lies behind its slot; call for each before run(). `whole`: bytes of all its blocks where it is
  // dense, else 0.
  void bind(std::size_t i, StridedView place, std::int64_t whole);
  void run();  // all units, in order
  // Result i, dense, of these distinct axes (at least its own). At top level (`wanted` null) a result may lie where an
  // argument or a constant lies; of a body every result gets a storage of its own, but for result i being parameter
  // wanted[i] untouched.
  void finish_results(const std::vector<AxisSet>& distinct, const Donors* wanted);
  Draft& draft() { return draft_; }

 private:
  friend class ElementUnit;        // lower_elementwise.cpp
  friend class GroupedCollective;  // groups.cpp
  static std::size_t at(ir::Var v) { return static_cast<std::size_t>(v.id); }
  const ir::Type& type(ir::Var v) const { return g_.type(v); }
  AxisSet axes(ir::Var v) const { return distinct_.of[at(v)]; }
  // Of a node of this graph.
  const transform::Distinct::Inside& inside(const ir::Node& n) const {
    return distinct_.inside[static_cast<std::size_t>(&n - g_.nodes.data())];
  }
  const StridedView& place(ir::Var v) const { return places_[at(v)]; }
  void put(ir::Var v, StridedView p) {
    if (p.storage != kNoStorage && !draft_.at(p.storage).value.valid()) draft_.at(p.storage).value = v;
    places_[at(v)] = std::move(p);
  }

  // ---- storages and steps
  StridedView fresh(DType dtype, AxisSet distinct, Shape shape);  // a new temporary, dense
  StridedView fresh(DType dtype, const Anchors& axes, Shape shape);
  StridedView constant(DType dtype, Scalar value);  // of rank 0
  int constant_storage(runtime::BufferRef buffer);
  Ref ref(const StridedView& p) const;
  // One kernel from operands to fresh dense results; both sides get the same leading dimensions.
  void step(ir::BoundKernel kernel, const std::vector<StridedView>& in, const std::vector<StridedView>& out,
            std::vector<std::pair<int, int>> in_place = {});
  void control(std::shared_ptr<const Control> c, const std::vector<StridedView>& in,
               const std::vector<StridedView>& out, std::vector<std::pair<int, int>> in_place = {}, Most inside = {});
  void copies(std::int64_t bytes) const {  // of the node whose steps are made
    if (around_.copies) (*around_.copies)[node_] += bytes;
  }
  void copy_into(const StridedView& from, const StridedView& to);  // same shape; `to` may be of more axes
  StridedView dense(const StridedView& p, AxisSet distinct);       // p itself where it is
  StridedView whole_blocks(const StridedView& p);  // p itself where no two blocks lie within each other, else a copy
  void set_span(grammar::Span s) { span_ = s; }
  std::optional<ResultRef> as_it_lies(const StridedView& p, std::size_t result, std::optional<std::size_t> shared,
                                      bool same_layout, const Donors* wanted);

  // ---- units
  void emit(const Unit& unit);
  void emit_node(const ir::Node& n);
  void emit_kernel(const ir::Node& n, const std::vector<AxisId>& summed, ir::Var out);
  ir::BoundKernel by_block(ir::BoundKernel one, const std::vector<AxisId>& axes, const std::vector<StridedView>& in,
                           const std::vector<StridedView>& out) const;
  Anchors order_for(const ir::Node& n, AxisSet distinct) const;  // of the result's memory
  void emit_elementwise(const Unit& unit);                       // lower_elementwise.cpp
  void emit_view(const ir::Node& n, const ir::ViewOf& view);
  // lower_collectives.cpp
  void emit_collective(const ir::Node& n);
  void check_nans(const ir::Node& n);
  StridedView held_apart(const ir::Node& n, const ir::Collective& c);
  StridedView communicated(const ir::Node& n, const ir::Collective& c, const std::vector<AxisId>& list);
  StridedView moved(const ir::Node& n, const ir::Collective& c, StridedView p, const std::vector<AxisId>& list);
  StridedView reduce_devices(const StridedView& p, runtime::Reduce op, const std::vector<AxisId>& over);
  StridedView through(runtime::ElementProgram program, const StridedView& p);
  StridedView scaled(const StridedView& p, std::int64_t by);
  StridedView converted(const StridedView& p, DType to);
  StridedView assemble(const StridedView& from, AxisSet distinct, const Strides& device,
                       const std::vector<std::vector<Dim>>& dims);
  StridedView permute_devices(const ir::Node& n, const StridedView& p);
  StridedView index_of_device(const ir::Node& n, const std::vector<AxisId>& list);
  void emit_grouped(const ir::Node& n);  // groups.cpp
  // process_collectives.cpp: what devices of other processes take part in
  AxisSet apart(const std::vector<AxisId>& list) const;  // those of the axes that lie in several processes
  std::string told(const ir::Node& n, const StridedView& p, const std::vector<AxisId>& along) const;
  Mesh widened(AxisSet along) const;
  StridedView brought(const ir::Node& n, StridedView p, AxisSet along, const Mesh& wide);
  StridedView exchanged(const ir::Node& n, const StridedView& p, const std::vector<AxisId>& list, const Mesh& wide,
                        std::optional<std::size_t> split);
  bool neighbours(const std::vector<AxisId>& list) const;
  std::optional<StridedView> combined_parts(const ir::Node& n, const ir::Collective& c, const StridedView& given,
                                            const std::vector<AxisId>& list);
  StridedView combined(const ir::Node& n, const ir::Collective& c, StridedView p, const std::vector<AxisId>& list);
  struct Terms {
    StridedView place;
    std::vector<AxisId> over;  // between processes, which have different ones
    std::int64_t same;         // so many processes have each
  };
  Terms own_terms(const ir::Collective& c, const StridedView& given, const std::vector<AxisId>& list);
  void between(const ir::Node& n, const std::vector<AxisId>& over, const StridedView& terms, const StridedView& out);
  // joined_sums.cpp
  struct Waiting {  // sums of one kind, not emitted yet
    std::vector<AxisId> list;
    AxisSet distinct;
    DType dtype;
    std::int64_t bytes;
    std::vector<const ir::Node*> nodes;
  };
  void emit_together(std::span<const Unit> units);
  bool waits(const Unit& unit);
  void send(const Waiting& w);
  StridedView own_of(StridedView got, const StridedView& before, AxisSet along) const;
  // lower_regions.cpp
  // A new storage [outer..., length, inner..., row...]: a place of distinct axes outer | inner, shape [length, row...].
  StridedView arranged(DType dtype, AxisSet outer, std::optional<std::int64_t> length, AxisSet inner, Shape row);
  void blockwise(std::shared_ptr<const Control> c, AxisSet blocks, const std::vector<StridedView>& in,
                 const std::vector<StridedView>& out, std::vector<std::pair<int, int>> in_place, Most inside);
  void emit_scan(const ir::Node& n);
  void emit_while(const ir::Node& n);
  void emit_branch(const ir::Node& n);
  void emit_effect(const ir::Node& n);

  const ir::Graph& g_;
  LoweringContext around_;
  const Mesh* mesh_;
  const transform::Distinct& distinct_;
  std::vector<StridedView> places_;
  std::vector<char> needed_;  // values that something outside of their unit reads
  std::vector<char> result_;  // values that are results of the graph
  Draft draft_;
  std::vector<std::pair<std::pair<DType, Scalar>, int>> scalars_;  // constants made so far
  grammar::Span span_;
  const ir::Node* node_ = nullptr;  // whose steps are made
  std::vector<Waiting> waiting_;
};

}  // namespace shard::exec
