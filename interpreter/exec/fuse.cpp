// Fusion by growing groups backwards: a node joins the group of its consumers where that closes no cycle through other
// instructions. Nodes are visited last to first, so everything that is already grouped lies behind the node in
// question, and the only cycles to fear lead from its other consumers into the group.
#include "interpreter/exec/fuse.h"

#include <algorithm>
#include <functional>
#include <queue>

#include "interpreter/ir/op.h"
#include "interpreter/ir/region_edges.h"
#include "interpreter/transform/distinct.h"
#include "interpreter/transform/regions.h"

namespace shard::exec {
namespace {

using ir::Node;
using runtime::AxisSet;

constexpr std::size_t kGroup =
    96;  // nodes of one program: what its registers hold of a tile stays in the second-level cache
constexpr std::size_t kVisits = 4096;  // of one search for a cycle; beyond it nothing is fused

class Fusion {
 public:
  Fusion(const ir::Graph& g, const std::vector<AxisSet>& distinct, const runtime::Mesh* mesh, bool with_sums,
         AxisSet apart)
      : g_(g),
        distinct_(distinct),
        mesh_(mesh),
        apart_(apart),
        producer_(g.types.size(), -1),
        users_(g.nodes.size()),
        is_result_(g.types.size(), false) {
    int last_effect = -1;
    for (std::size_t i = 0; i < g.nodes.size(); ++i) {
      const Node& n = g.nodes[i];
      for (ir::Var v : n.outputs) producer_[at(v)] = static_cast<int>(i);
      for (ir::Var v : n.inputs)
        if (producer_[at(v)] >= 0) link(producer_[at(v)], static_cast<int>(i));
      if (transform::has_effects(n)) {
        if (last_effect >= 0) link(last_effect, static_cast<int>(i));
        last_effect = static_cast<int>(i);
      }
      group_.push_back(static_cast<int>(i));
      members_.push_back({static_cast<int>(i)});
    }
    for (ir::Var v : g.results) is_result_[at(v)] = true;
    summed_.assign(g.nodes.size(), false);
    seen_.assign(g.nodes.size(), 0);
    for (std::size_t i = g.nodes.size(); i-- > 0;) {
      if (joins(static_cast<int>(i)))
        join_consumers(static_cast<int>(i));
      else if (with_sums)
        join_sum(static_cast<int>(i));
    }
  }

  std::vector<Unit> ordered() {
    std::vector<std::size_t> waits(g_.nodes.size(), 0);
    std::vector<std::vector<int>> after(g_.nodes.size());
    for (std::size_t i = 0; i < g_.nodes.size(); ++i)
      for (int u : users_[i])
        if (group_[i] != group_[static_cast<std::size_t>(u)]) {
          after[static_cast<std::size_t>(group_[i])].push_back(group_[static_cast<std::size_t>(u)]);
          ++waits[static_cast<std::size_t>(group_[static_cast<std::size_t>(u)])];
        }
    // Ready units in the order of their last nodes: close to the order of the program, which keeps lives short.
    using Ready = std::pair<int, int>;
    std::priority_queue<Ready, std::vector<Ready>, std::greater<>> ready;
    auto offer = [&](int group) { ready.emplace(members_[static_cast<std::size_t>(group)].back(), group); };
    for (std::size_t i = 0; i < members_.size(); ++i) {
      std::sort(members_[i].begin(), members_[i].end());
      if (!members_[i].empty() && waits[i] == 0) offer(static_cast<int>(i));
    }
    std::vector<Unit> out;
    while (!ready.empty()) {
      int group = ready.top().second;
      ready.pop();
      Unit u;
      u.nodes = members_[static_cast<std::size_t>(group)];
      u.elementwise = elementwise(u.nodes.front()) && !summed_[static_cast<std::size_t>(group)];
      u.summed = summed_[static_cast<std::size_t>(group)];
      u.effect = transform::has_effects(node(u.nodes.front()));
      out.push_back(std::move(u));
      for (int next : after[static_cast<std::size_t>(group)])
        if (--waits[static_cast<std::size_t>(next)] == 0) offer(next);
    }
    return out;
  }

 private:
  const Node& node(int i) const { return g_.nodes[static_cast<std::size_t>(i)]; }
  void link(int from, int to) {
    auto& users = users_[static_cast<std::size_t>(from)];
    if (users.empty() || users.back() != to) users.push_back(to);
  }
  bool elementwise(int i) const { return std::holds_alternative<runtime::Code>(node(i).op->kernel); }
  // A copy to the host or back is an instruction of its own.
  bool joins(int i) const { return elementwise(i) && ir::host_copy(node(i)) == ir::HostCopy::None; }
  // What remat makes again is not made with what it is made of: it would live as long.
  bool again(int i) const { return node(i).attrs.has("again"); }
  // The points that a node is computed at: its blocks and their elements.
  bool same_points(int a, int b) const {
    ir::Var x = node(a).outputs[0], y = node(b).outputs[0];
    return distinct_[at(x)] == distinct_[at(y)] && g_.type(x).shape == g_.type(y).shape;
  }

  // Whether one of `from` (nodes outside of `group`) leads into `group`.
  bool reaches(const std::vector<int>& from, int group) {
    ++search_;
    std::size_t visits = 0;
    std::vector<int> open;
    auto visit = [&](int g) {
      if (seen_[static_cast<std::size_t>(g)] == search_) return;
      seen_[static_cast<std::size_t>(g)] = search_;
      open.push_back(g);
    };
    for (int n : from) visit(group_[static_cast<std::size_t>(n)]);
    while (!open.empty()) {
      int g = open.back();
      open.pop_back();
      if (++visits > kVisits) return true;
      for (int m : members_[static_cast<std::size_t>(g)])
        for (int u : users_[static_cast<std::size_t>(m)]) {
          int next = group_[static_cast<std::size_t>(u)];
          if (next == group) return true;
          visit(next);
        }
    }
    return false;
  }

  void join_consumers(int i) {
    std::vector<int> groups;
    for (int u : users_[static_cast<std::size_t>(i)]) {
      int g = group_[static_cast<std::size_t>(u)];
      if (joins(u) && same_points(i, u) && (again(i) || !again(u)) &&
          std::find(groups.begin(), groups.end(), g) == groups.end())
        groups.push_back(g);
    }
    int home = i;
    for (int g : groups) {
      if (members_[static_cast<std::size_t>(g)].size() + members_[static_cast<std::size_t>(home)].size() > kGroup)
        continue;
      if (reaches(users_outside(home, g), g)) continue;
      if (home != i && reaches(users_outside(g, home), home)) continue;  // the other way round as well
      merge(home, g);
      home = g;
    }
  }

  // What uses a node of the group, outside of it and of the other one.
  std::vector<int> users_outside(int group, int other) const {
    std::vector<int> out;
    for (int m : members_[static_cast<std::size_t>(group)])
      for (int u : users_[static_cast<std::size_t>(m)])
        if (const int its = group_[static_cast<std::size_t>(u)]; its != group && its != other) out.push_back(u);
    return out;
  }

  // A psum whose operand nobody else uses.
  void join_sum(int i) {
    const Node& n = node(i);
    if (n.op->comm || !n.op->kernel_sum || n.outputs.size() != 1 || !mesh_) return;
    const auto& users = users_[static_cast<std::size_t>(i)];
    if (users.size() != 1 || is_result_[at(n.outputs[0])]) return;
    const Node& sum = node(users[0]);
    if (!ir::sums_all(*sum.op) || sum.attrs.has("groups")) return;
    // Also one along which this process has a single device: the others are elsewhere.
    const AxisSet axes = AxisSet::of(transform::axes_of(sum, *mesh_));
    if ((axes & distinct_[at(n.outputs[0])]).empty() || !(axes & apart_).empty()) return;
    int home = group_[static_cast<std::size_t>(users[0])];
    merge(i, home);
    summed_[static_cast<std::size_t>(home)] = true;
  }

  void merge(int from, int into) {
    auto& a = members_[static_cast<std::size_t>(from)];
    auto& b = members_[static_cast<std::size_t>(into)];
    for (int m : a) group_[static_cast<std::size_t>(m)] = into;
    b.insert(b.end(), a.begin(), a.end());
    a.clear();
  }

  const ir::Graph& g_;
  const std::vector<AxisSet>& distinct_;
  const runtime::Mesh* mesh_;
  AxisSet apart_;
  std::vector<int> producer_;
  std::vector<std::vector<int>> users_;
  std::vector<bool> is_result_, summed_;
  std::vector<int> group_;                 // by node: the group, named by one of its nodes
  std::vector<std::vector<int>> members_;  // by group
  std::vector<std::uint64_t> seen_;        // by group: the search that last came by
  std::uint64_t search_ = 0;
};

}  // namespace

std::vector<Unit> units_of(const ir::Graph& g, const std::vector<AxisSet>& distinct, const runtime::Mesh* mesh,
                           bool with_sums, AxisSet apart) {
  return Fusion(g, distinct, mesh, with_sums, apart).ordered();
}

std::vector<Unit> units_alone(const ir::Graph& g) {
  std::vector<Unit> out;
  for (const Node& n : g.nodes)
    out.push_back({{static_cast<int>(out.size())}, std::holds_alternative<runtime::Code>(n.op->kernel), false});
  return out;
}

}  // namespace shard::exec
