#include "interpreter/exec/recompute.h"

#include <algorithm>
#include <set>
#include <tuple>
#include <utility>

#include "interpreter/exec/depth_first.h"
#include "interpreter/ir/op.h"
#include "interpreter/ir/region_edges.h"
#include "runtime/array/shape.h"
#include "runtime/kernels/codes.h"

namespace shard::exec {
namespace {

using ir::Node;
using runtime::Code;

// What stays in the caches is read at no cost. An array that is neither written nor read again is worth so many
// additions an element: those of one pass over memory.
constexpr std::int64_t kInCaches = 1 << 15;
constexpr int kCheap = 6;

class Recompute {
 public:
  Recompute(const ir::Graph& g, const std::vector<runtime::AxisSet>& distinct, const runtime::Mesh* mesh,
            const std::vector<Unit>& units)
      : g_(g), distinct_(distinct), mesh_(mesh), maker_(g.types.size(), -1), readers_(g.types.size(), 0) {
    for (const Unit& u : units) {
      std::set<std::int32_t> reads;
      for (int i : u.nodes)
        for (ir::Var v : node(i).inputs) reads.insert(v.id);
      for (int i : u.nodes)
        for (ir::Var v : node(i).outputs) reads.erase(v.id);
      for (const std::int32_t id : reads) ++readers_[static_cast<std::size_t>(id)];
    }
    for (ir::Var v : g.results) ++readers_[at(v)];
    for (const Unit& u : units)
      if (u.segment)
        for (const Unit& part : u.segment->parts) made_by(part);
      else
        made_by(u);
  }

  void of(Unit& u) {
    if (!u.elementwise || u.segment || runtime::numel(u.points.shape) * devices(u) < kInCaches) return;
    if (ir::host_copy(node(u.nodes.front())) != ir::HostCopy::None) return;
    unit_ = &u;
    own_.clear();
    reads_.clear();
    for (int i : u.nodes)
      for (ir::Var v : node(i).outputs) own_.insert(v.id);
    for (int i : u.nodes)
      for (ir::Var v : node(i).inputs)
        if (!own_.contains(v.id) && large(v)) reads_.insert(v.id);
    // The last ones first: what they are made of may be made again in its turn. Then what one more read saves two of,
    // or one that nobody else reads, which is not written then.
    shrink();
    for (const ir::Var more : sources()) {
      const auto before = std::pair(reads_, u.again);
      reads_.insert(more.id);
      shrink();
      if (reads_.size() > before.first.size() || (reads_.size() == before.first.size() && !spares(before.first, more)))
        std::tie(reads_, u.again) = before;
    }
    std::sort(u.again.begin(), u.again.end());
  }

 private:
  void made_by(const Unit& u) {
    for (int i : u.nodes)
      if (u.elementwise && std::holds_alternative<Code>(node(i).op->kernel) &&
          ir::host_copy(node(i)) == ir::HostCopy::None)
        maker_[at(node(i).outputs[0])] = i;
  }
  const Node& node(int i) const { return g_.nodes[static_cast<std::size_t>(i)]; }
  std::int64_t devices(const Unit& u) const { return mesh_ ? mesh_->size_of(u.points.distinct) : 1; }
  bool each(ir::Var v) const {
    return g_.type(v).shape == unit_->points.shape && distinct_[at(v)] == unit_->points.distinct;
  }
  bool large(ir::Var v) const { return runtime::numel(g_.type(v).shape) * 16 > runtime::numel(unit_->points.shape); }

  void shrink() {
    const std::vector<std::int32_t> all(reads_.begin(), reads_.end());
    std::vector<std::pair<int, std::int32_t>> made;  // by node
    for (const std::int32_t id : all)
      if (const ir::Var v{id}; each(v) && maker_[at(v)] >= 0) made.emplace_back(maker_[at(v)], id);
    std::sort(made.rbegin(), made.rend());
    for (const auto& [i, id] : made) {
      std::vector<int> nodes;
      int cost = 0;
      reads_.erase(id);
      if (makes(i, nodes, cost) && unit_->nodes.size() + unit_->again.size() + nodes.size() <= kProgram)
        unit_->again.insert(unit_->again.end(), nodes.begin(), nodes.end());
      else
        reads_.insert(id);
    }
  }

  // The nodes that make what node i does of what the unit reads and makes again; false where that is too much.
  bool makes(int i, std::vector<int>& nodes, int& cost) const {
    const auto holds = [](const std::vector<int>& list, int x) {
      return std::find(list.begin(), list.end(), x) != list.end();
    };
    if (holds(unit_->again, i) || holds(nodes, i)) return true;
    const auto* code = std::get_if<Code>(&node(i).op->kernel);
    if (!code || (cost += runtime::facts(*code).cost) > kCheap) return false;
    for (ir::Var v : node(i).inputs) {
      if (reads_.contains(v.id) || !large(v)) continue;
      if (own_.contains(v.id) || !each(v) || maker_[at(v)] < 0 || !makes(maker_[at(v)], nodes, cost)) return false;
    }
    nodes.push_back(i);
    return true;
  }

  // Whether what is read no longer is read by this unit alone, and as large at least as what is read instead; what has
  // a name (checkpoint_name) is to be kept.
  bool spares(const std::set<std::int32_t>& before, ir::Var more) const {
    const auto item = [&](std::int32_t id) { return runtime::size_of(g_.type(ir::Var{id}).dtype); };
    return std::any_of(before.begin(), before.end(), [&](std::int32_t id) {
      return !reads_.contains(id) && readers_[static_cast<std::size_t>(id)] == 1 && item(more.id) <= item(id) &&
             !node(maker_[static_cast<std::size_t>(id)]).attrs.has("name");
    });
  }

  // Values that the unit does not read and those that it reads are made of.
  ir::Vars sources() const {
    ir::Vars out;
    for (const std::int32_t id : reads_)
      if (const ir::Var v{id}; each(v) && maker_[at(v)] >= 0)
        for (ir::Var from : node(maker_[at(v)]).inputs)
          if (each(from) && !reads_.contains(from.id) && !own_.contains(from.id) &&
              std::none_of(out.begin(), out.end(), [&](ir::Var x) { return x.id == from.id; }))
            out.push_back(from);
    return out;
  }

  const ir::Graph& g_;
  const std::vector<runtime::AxisSet>& distinct_;
  const runtime::Mesh* mesh_;
  std::vector<int> maker_;        // by value: the elementwise node of a program
  std::vector<int> readers_;      // by value: units that it goes to, and who asked for the graph's results
  Unit* unit_ = nullptr;          // and of it, by value:
  std::set<std::int32_t> own_;    // made by its own nodes
  std::set<std::int32_t> reads_;  // large ones from outside
};

}  // namespace

void recompute(const ir::Graph& g, const std::vector<runtime::AxisSet>& distinct, const runtime::Mesh* mesh,
               std::vector<Unit>& units) {
  Recompute each(g, distinct, mesh, units);
  for (Unit& u : units) each.of(u);
}

}  // namespace shard::exec
