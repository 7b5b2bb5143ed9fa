// Fusion by growing groups backwards: a node joins the group of its consumers where that closes no cycle through other
// instructions. Nodes are visited last to first, so everything that is already grouped lies behind the node in
// question, and the only cycles to fear lead from its other consumers into the group. Searches for them go no further
// than an order of the groups that is kept up to date.
#include "interpreter/exec/fuse.h"

#include <algorithm>
#include <functional>
#include <queue>
#include <utility>

#include "interpreter/ir/op.h"
#include "interpreter/ir/region_edges.h"
#include "interpreter/transform/distinct.h"
#include "interpreter/transform/regions.h"
#include "runtime/array/stop.h"

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
        users_(g.nodes.size()),
        makers_(g.nodes.size()),
        is_result_(g.types.size(), false) {
    std::vector<int> producer(g.types.size(), -1);
    int last_effect = -1;
    for (std::size_t i = 0; i < g.nodes.size(); ++i) {
      const Node& n = g.nodes[i];
      for (ir::Var v : n.outputs) producer[at(v)] = static_cast<int>(i);
      for (ir::Var v : n.inputs)
        if (producer[at(v)] >= 0) link(producer[at(v)], static_cast<int>(i));
      if (transform::has_effects(n)) {
        if (last_effect >= 0) link(last_effect, static_cast<int>(i));
        last_effect = static_cast<int>(i);
      }
      group_.push_back(static_cast<int>(i));
      members_.push_back({static_cast<int>(i)});
    }
    rank_ = group_;
    for (ir::Var v : g.results) is_result_[at(v)] = true;
    summed_.assign(g.nodes.size(), false);
    seen_.assign(g.nodes.size(), 0);
    for (std::size_t i = g.nodes.size(); i-- > 0;) {
      runtime::Stop::ask_here();
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
    if (!users.empty() && users.back() == to) return;
    users.push_back(to);
    makers_[static_cast<std::size_t>(to)].push_back(from);
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

  // The groups that these nodes' groups lead to, or come from, as far as a rank that they do not pass; no more than
  // kVisits of them, sorted by rank.
  using Links = std::vector<std::vector<int>>;
  std::vector<int> connected(const std::vector<int>& from, const Links& links, int low, int high) {
    ++search_;
    std::vector<int> out;
    auto visit = [&](int n) {
      const int g = group_[static_cast<std::size_t>(n)], rank = rank_[static_cast<std::size_t>(g)];
      if (rank < low || rank > high || std::exchange(seen_[static_cast<std::size_t>(g)], search_) == search_) return;
      out.push_back(g);
    };
    for (int n : from) visit(n);
    for (std::size_t i = 0; i < out.size() && out.size() <= kVisits; ++i)
      for (int m : members_[static_cast<std::size_t>(out[i])])
        for (int n : links[static_cast<std::size_t>(m)]) visit(n);
    std::sort(out.begin(), out.end(),
              [&](int a, int b) { return rank_[static_cast<std::size_t>(a)] < rank_[static_cast<std::size_t>(b)]; });
    return out;
  }

  // Whether no other group lies between these two. Ranks are an order of the groups in which each is before what uses
  // it (Pearce and Kelly): where the two can be one, what follows the first has its rank after the second's.
  bool adjacent(int a, int b) {
    if (rank_[static_cast<std::size_t>(a)] > rank_[static_cast<std::size_t>(b)]) std::swap(a, b);
    const std::vector<int> after = connected(users_outside(a, b), users_, 0, rank_[static_cast<std::size_t>(b)]);
    if (after.empty()) return true;
    if (after.back() == b || after.size() > kVisits) return false;
    std::vector<int> order =
        connected({b}, makers_, rank_[static_cast<std::size_t>(after.front())], rank_[static_cast<std::size_t>(b)]);
    if (order.size() > kVisits) return false;
    order.insert(order.end(), after.begin(), after.end());
    std::vector<int> ranks;
    for (int g : order) ranks.push_back(rank_[static_cast<std::size_t>(g)]);
    std::sort(ranks.begin(), ranks.end());
    for (std::size_t i = 0; i < order.size(); ++i) rank_[static_cast<std::size_t>(order[i])] = ranks[i];
    return true;
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
      if (!adjacent(home, g)) continue;
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
    int& rank = rank_[static_cast<std::size_t>(into)];
    rank = std::max(rank, rank_[static_cast<std::size_t>(from)]);
  }

  const ir::Graph& g_;
  const std::vector<AxisSet>& distinct_;
  const runtime::Mesh* mesh_;
  AxisSet apart_;
  std::vector<std::vector<int>> users_, makers_;
  std::vector<bool> is_result_, summed_;
  std::vector<int> group_;                 // by node: the group, named by one of its nodes
  std::vector<std::vector<int>> members_;  // by group
  std::vector<int> rank_;                  // by group: none but of higher rank use it
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
