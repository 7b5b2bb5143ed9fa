// The state of partitioning one graph or region. Private to partition.cpp, partition_regions.cpp and waiting_sums.cpp.
#pragma once
#include <deque>
#include <functional>

#include "interpreter/ir/region_edges.h"
#include "interpreter/ir/why.h"
#include "interpreter/transform/factor_layout.h"
#include "interpreter/transform/passes.h"

namespace shard::transform {

struct ProgramContext {  // the same for all regions of a program
  const ir::OpTable& table;
  runtime::MeshRef mesh;
  bool uneven;  // blocks need not divide sizes
};

struct PlacedValue {
  ir::Var var;      // in the local graph
  Sharding layout;  // what it is now; unreduced: axes whose reduction is still to be done
  ir::Origin span;  // of the node that made it
  struct Copy {
    Sharding layout;
    std::int64_t barrier;  // of who needed it: what is computed again stays apart
    ir::Var var;
  };
  std::vector<Copy> copies;                                       // other layouts it was brought into
  std::shared_ptr<const std::vector<ir::Why::Value>> terms = {};  // the operands that left what is unreduced
  int argument = -1;                  // it is this one of the call, or what a turn of a loop gets of it
  int outer = -1;                     // a loop's constant: its position among the node's inputs
  const ir::Node* repeats = nullptr;  // it only has elements of a smaller value, and this made it
  ir::Var whole = {};  // of what is unreduced: to be added to the sum, laid out alike; none where nothing is
};

// Who needs a value in another layout.
struct Asking {
  const ir::OpDef* by = nullptr;  // null: it is a result
  grammar::Span where;
  std::vector<ir::Why::Value> beside;
};

// A loop's constant in one more layout: brought into it once, outside the loop.
struct ExtraConst {
  int outer;
  Sharding layout;
  ir::Var param;
  Asking asking;
};

struct Bodies;  // the regions of a node, partitioned

class Partitioner {
 public:
  // `loop`: the partitioner of the graph around, where this one is the body of a loop (what does not change in it is
  // moved out).
  Partitioner(ProgramContext& context, ir::Builder& builder, const ir::Graph& graph, const Layouts& layouts,
              AxisSet blocked, Partitioner* loop);

  void run();
  ir::Var add_param(const ir::Type& global, const Sharding& layout);
  void set(ir::Var global, ir::Var local, const Sharding& layout, ir::Origin span, int argument = -1);
  void set_steady(ir::Var global, int outer_index);
  // v in this layout; reductions that the layout does not keep are finished. `asking`: who needs it, where that is not
  // the node at hand.
  ir::Var need(ir::Var v, const Sharding& layout, const Asking* asking = nullptr);
  const std::vector<ExtraConst>& extra() const { return extra_; }
  const Sharding& wanted(ir::Var v) const;
  ir::Why::Value seen(ir::Var v, const Sharding& layout) const;

 private:
  AxisSet unfinished(ir::Var v) const;
  Asking asking(ir::Var v) const;
  std::shared_ptr<const ir::Why> why(ir::Var v, const Sharding& want, Asking asked) const;
  void finish(ir::Var v);  // into the layout that propagation wants
  void place(ir::Var v);
  void finish_as(ir::Var v, const Sharding& layout);
  Sharding finished(const ir::Node& n, std::size_t i) const;
  AxisSet settle_unreduced(const ir::Node& n);

  void operation(const ir::Node& n);
  FactorAxes split_of(const ir::Node& n, const ir::FactorRule& rule, AxisSet kept) const;

  // prices.cpp
  FactorAxes cheaper(const ir::Node& n, const ir::FactorRule& rule, FactorAxes axes) const;
  bool disputed(const ir::Node& n, const ir::FactorRule& rule, const FactorAxes& axes, std::size_t f) const;
  struct Anew {  // a value is made again, in another layout
    const ir::Node* node;
    RuleRef rule;
    FactorAxes axes;
    Sharding operand;
  };
  bool repeats(const ir::Node& n) const;
  std::optional<Anew> anew(ir::Var v, const Sharding& want) const;
  ir::Var made_anew(ir::Var v, const Sharding& want);
  std::int64_t bytes_to(ir::Var v, const Sharding& want) const;
  double price(const ir::Node& n, const ir::FactorRule& rule, const FactorAxes& axes) const;
  double share_summed(ir::Var v) const;
  void whole_operation(const ir::Node& n);
  ir::Var filled_where_reduced(const ir::FactorRule& rule, std::size_t i, const FactorAxes& axes, ir::Var local,
                               const runtime::Shape& whole);
  ir::Vars emit_local(const ir::Node& n, const ir::FactorRule& rule, const FactorAxes& axes, const ir::Vars& inputs,
                      std::span<const Sharding> layouts);
  using Terms = std::function<std::shared_ptr<const std::vector<ir::Why::Value>>()>;  // the operands that met
  void leave_unreduced(const ir::FactorRule& rule, std::size_t result, const FactorAxes& axes, Sharding& layout,
                       ir::Var& local, const Terms& terms);
  ir::Type local_type(const ir::Type& global, const Sharding& layout, AxisSet varying) const;
  std::vector<ir::Type> result_types(const ir::Node& n, std::span<const ir::Var> inputs,
                                     std::span<const Sharding> layouts) const;

  // partition_regions.cpp
  void structure(const ir::Node& n, std::size_t index);
  void constrain(const ir::Node& n);
  void effect(const ir::Node& n);
  void regions(const ir::Node& n, std::size_t index);
  void call(const ir::Node& n, std::size_t index);
  void per_device(const ir::Node& n, std::size_t index);
  Sharding layout_inside(const ir::RegionEdge& edge, const ir::Node& n, std::size_t index) const;
  Bodies run_bodies(const ir::Node& n, std::size_t index, const ir::RegionEdges& wiring,
                    std::span<const Sharding> layouts);

  // waiting_sums.cpp
  struct Parts {  // a value is the sum over the devices' terms, plus what is whole; either may be missing
    ir::Var terms, whole;
  };
  Parts parts(ir::Var v, const Sharding& layout);
  bool waits(const ir::Node& n);
  bool goes_on(ir::Var v) const;
  bool sums_over(ir::Var v, AxisSet axes) const;
  Bodies run_waiting(const ir::Node& n, std::size_t index, const ir::RegionEdges& wiring,
                     std::vector<Sharding>& layouts);
  AxisSet waiting_over(const ir::Node& n, const ir::RegionEdge& edge, const Sharding& layout,
                       const Bodies& bodies) const;
  static bool waited(const ir::Node& n, const ir::RegionEdge& edge, const Sharding& layout, const Bodies& bodies);
  bool is_zero(const ir::Node& n, std::size_t operand) const;
  Parts start_of(const ir::Node& n, std::size_t operand, const Sharding& layout);

  ProgramContext& context_;
  ir::Builder& b_;
  const ir::Graph& g_;
  const Layouts& wanted_;
  AxisSet blocked_;
  Partitioner* loop_;
  std::vector<PlacedValue> values_;
  std::vector<int> uses_;
  std::vector<const ir::Node*> user_;  // by value, of those that are used once; none where it is a result
  std::vector<ExtraConst> extra_;
  const ir::Node* now_ = nullptr;  // the node at hand; none: what is left are the results
};

struct Bodies {
  std::deque<ir::Builder> builders;
  std::deque<Partitioner> parts;
};

}  // namespace shard::transform
