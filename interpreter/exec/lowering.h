// From a local graph to a draft plan: every value gets a StridedView, every unit (fuse.h) that does work becomes a step
// with a kernel bound for its strides. Values that are only seen differently (broadcasts, reshapes, slices of a
// device's own part, most gathers) get a StridedView in the storage of their operand and cost nothing. One Lowering a
// graph; bodies of loops and branches get one of their own. Here are the walk, storages, steps and ordinary kernels;
// what nodes of other kinds become is told by functions of their own. Used by these and lockstep.cpp only.
#pragma once
#include <map>
#include <span>
#include <utility>
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

class Lowering {
 public:
  Lowering(const ir::Graph& g, LoweringContext around, const transform::Distinct& distinct);

  // Parameter i as it lies behind its slot; call for each before run(). `whole`: bytes of all its blocks where it is
  // dense, else 0.
  void bind(std::size_t i, StridedView place, std::int64_t whole);
  void run();                         // all of the graph
  void run(std::vector<Unit> units);  // that it is made of, in order
  // Where a value shall lie that outside needs; call before run().
  void write_to(ir::Var v, StridedView place) { wanted_places_[v.id] = std::move(place); }
  // The nodes of another graph that those of this one are, one call each: steps are said to be theirs.
  void stands_for(const ir::Node& n) { originals_.push_back(&n); }
  // Result i, dense, of these distinct axes (at least its own). At top level (`wanted` null) a result may lie where an
  // argument or a constant lies; of a body every result gets a storage of its own, but for result i being parameter
  // wanted[i] untouched.
  void finish_results(const std::vector<AxisSet>& distinct, const Donors* wanted);
  // It is of a body, whose results do not share storages: a value that is several of them is written as often by the
  // program that makes it.
  void of_body() { body_ = true; }
  Draft& draft() { return draft_; }
  void tell_again(MemoryUse& use) const {  // after run()
    use.made_again = made_again_;
    use.read_again = read_again_;
  }

  // ---- what the parts see of the graph
  const LoweringContext& around() const { return around_; }
  const Mesh* mesh() const { return mesh_; }
  const ir::Node& node(int i) const { return g_.nodes[static_cast<std::size_t>(i)]; }
  std::size_t values() const { return g_.types.size(); }
  const ir::Type& type(ir::Var v) const { return g_.type(v); }
  AxisSet axes(ir::Var v) const { return distinct_.of[at(v)]; }
  // Of a node of this graph.
  const transform::Distinct::Inside& inside(const ir::Node& n) const {
    return distinct_.inside[static_cast<std::size_t>(&n - g_.nodes.data())];
  }
  bool needed(ir::Var v) const { return needed_[at(v)] != 0; }     // something outside of its unit reads it
  bool is_result(ir::Var v) const { return result_[at(v)] != 0; }  // of the graph
  int places_wanted(ir::Var v) const { return body_ ? std::max(result_[at(v)], 1) : 1; }
  void put_again(ir::Var v, StridedView p) {  // the same at another place
    draft_.at(p.storage).value = v;
    twins_[v.id].push_back(std::move(p));
  }
  const StridedView& place(ir::Var v) const { return places_[at(v)]; }
  void put(ir::Var v, StridedView p) {
    if (p.storage != kNoStorage && !draft_.at(p.storage).value.valid()) draft_.at(p.storage).value = v;
    places_[at(v)] = std::move(p);
  }
  void put(const ir::Vars& vars, const std::vector<StridedView>& places) {
    for (std::size_t i = 0; i < vars.size(); ++i) put(vars[i], places[i]);
  }

  // ---- storages and steps
  using InPlace = std::vector<std::pair<int, int>>;               // DraftStep::in_place
  StridedView fresh(DType dtype, AxisSet distinct, Shape shape);  // a new temporary, dense
  StridedView fresh(DType dtype, const Anchors& axes, Shape shape);
  // A new storage [outer..., length, inner..., row...]: a place of distinct axes outer | inner, shape [length, row...].
  // For a result of the node: where it is wanted, or new, in the order that its kernel likes best.
  StridedView made(const ir::Node& n, ir::Var v, AxisSet distinct);
  // The same for one that lies in this order of axes, dense or in lines; nothing where it is not wanted so.
  const StridedView* wanted(ir::Var v, const Anchors& order, bool in_lines) const;
  StridedView arranged(DType dtype, AxisSet outer, std::optional<std::int64_t> length, AxisSet inner, Shape row);
  StridedView constant(DType dtype, Scalar value);  // of rank 0
  int constant_storage(runtime::BufferRef buffer);
  // One kernel from operands to fresh dense results; both sides get the same leading dimensions.
  void step(ir::BoundKernel kernel, const std::vector<StridedView>& in, const std::vector<StridedView>& out,
            InPlace in_place = {});
  void control(std::shared_ptr<const Control> c, const std::vector<StridedView>& in,
               const std::vector<StridedView>& out, InPlace in_place = {}, Most inside = {});
  void copies(std::int64_t bytes) const {  // of the node whose steps are made
    if (around_.copies) (*around_.copies)[node_] += bytes;
  }
  void copy_into(const StridedView& from, const StridedView& to);  // same shape; `to` may be of more axes
  StridedView dense(const StridedView& p, AxisSet distinct);       // p itself where it is
  StridedView through(runtime::ElementProgram program, const StridedView& p);
  StridedView scaled(const StridedView& p, std::int64_t by);
  StridedView converted(const StridedView& p, DType to);
  void of_node(const ir::Node& n) {  // the steps that follow
    span_ = n.span;
    node_ = originals_.empty() ? &n : originals_[static_cast<std::size_t>(&n - g_.nodes.data())];
  }
  void emit(const Unit& unit);
  // The concatenation or padding that v is, where programs read what it is made of in place of it; else null.
  const ir::Node* in_pieces(ir::Var v) const {
    const auto it = in_pieces_.find(v.id);
    return it == in_pieces_.end() ? nullptr : it->second;
  }

  struct Pieces {
    std::size_t along = 0;  // the dimension
    std::vector<StridedView> places;
  };
  Pieces pieces(const ir::Node& n) const;

 private:
  friend class OnMesh;
  void add(DraftStep step, const std::vector<StridedView>& in, const std::vector<StridedView>& out, InPlace in_place);
  StridedView whole_blocks(const StridedView& p);  // p itself where no two blocks lie within each other, else a copy
  std::optional<ResultRef> as_it_lies(const StridedView& p, std::size_t result, std::optional<std::size_t> shared,
                                      bool same_layout, const Donors* wanted);
  void emit_node(const ir::Node& n);
  void emit_view(const ir::Node& n, const ir::ViewOf& view);
  void find_pieces(const std::vector<Unit>& units);
  std::optional<std::size_t> padded_along(const ir::Node& n) const;  // the one dimension
  void lay_out_joins(const std::vector<Unit>& units);
  void emit_join(const ir::Node& n);
  StridedView framed(const StridedView& p, const ir::Pairs& frame);
  void emit_kernel(const ir::Node& n, const std::vector<AxisId>& summed, ir::Var out);
  Anchors order_for(const ir::Node& n, AxisSet distinct) const;  // of the result's memory

  const ir::Graph& g_;
  LoweringContext around_;
  const Mesh* mesh_;
  const transform::Distinct& distinct_;
  std::vector<StridedView> places_;
  std::vector<char> needed_;
  std::vector<int> result_;  // of each value: how many of the results it is
  bool body_ = false;
  std::vector<ir::Var> made_again_;  // as in MemoryUse
  std::vector<std::pair<ir::Var, const ir::Node*>> read_again_;
  std::map<std::int32_t, StridedView> wanted_places_;
  std::map<std::int32_t, std::vector<StridedView>> twins_;  // by value: where it is again
  std::map<std::int32_t, StridedView> joins_;               // what is joined of arrays of which some are written there
  std::map<std::int32_t, const ir::Node*> in_pieces_;
  std::vector<const ir::Node*> originals_;
  Draft draft_;
  std::vector<std::pair<std::pair<DType, Scalar>, int>> scalars_;  // constants made so far
  grammar::Span span_;
  const ir::Node* node_ = nullptr;  // whose steps are made
};

class OnMesh {  // for a block: places are over this mesh, which is wider than what is here
 public:
  OnMesh(Lowering& l, const Mesh& mesh) : l_(l), narrow_(std::exchange(l.mesh_, &mesh)) {}
  ~OnMesh() { l_.mesh_ = narrow_; }
  OnMesh(const OnMesh&) = delete;

 private:
  Lowering& l_;
  const Mesh* narrow_;
};

// ---- the parts: units and nodes of one kind each
void lower_elementwise(Lowering& l, const Unit& unit);          // lower_elementwise.cpp
bool changes_nothing(const Lowering& l, const Unit& unit);      // an elementwise one that gives its operand as it lies
void lower_collective(Lowering& l, const ir::Node& n);          // lower_collectives.cpp
void lower_loop_or_branch(Lowering& l, const ir::Node& n);      // lower_regions.cpp
void lower_effect(Lowering& l, const ir::Node& n);              // lower_regions.cpp
void lower_depth_first(Lowering& l, const Unit& unit);          // lower_depth_first.cpp
void lower_together(Lowering& l, std::span<const Unit> units);  // joined_sums.cpp
void check_nans(Lowering& l, const ir::Node& n);                // nan_check.cpp

}  // namespace shard::exec
