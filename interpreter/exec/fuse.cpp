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
#include "runtime/kernels/element_program.h"

namespace shard::exec {
namespace {

using ir::Node;
using runtime::AxisSet;
using runtime::Shape;

// A row stays in the first cache, and there are enough of them for all threads, or little is to be done.
constexpr std::int64_t kLongestRow = 8192, kFewRows = 32, kLittle = 32 * 1024;
// So few elements are one vector: what numbers they are and their sum can be one program whatever shape these have.
constexpr std::int64_t kShortRow = 16;
// A reduction of fewer elements, of a dimension so short or of so few columns is done by itself.
constexpr std::int64_t kMany = 64 * 1024, kLong = 64, kColumns = 16;
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
    for (ir::Var v : g.results) is_result_[at(v)] = true;
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
      points_.push_back(points_of(static_cast<int>(i)));
      of_short_row_.push_back(follows_short_row(static_cast<int>(i)));
    }
    rank_ = group_;
    summed_.assign(g.nodes.size(), false);
    seen_.assign(g.nodes.size(), 0);
    for (std::size_t i = g.nodes.size(); i-- > 0;) {
      runtime::Stop::ask_here();
      if (joins(static_cast<int>(i), with_sums))
        join_consumers(static_cast<int>(i), with_sums);
      else if (with_sums)
        join_sum(static_cast<int>(i));
    }
    join_small();
    if (with_sums) {
      settle_rows();
      for (std::size_t i = 0; i < g.nodes.size(); ++i) join_maker(static_cast<int>(i));
    }
  }

  std::vector<Unit> ordered() {
    std::vector<Unit> out;
    for (int group : order()) {
      Unit& u = out.emplace_back();
      u.nodes = members_[static_cast<std::size_t>(group)];
      u.elementwise = program(static_cast<std::size_t>(group));
      if (u.elementwise)
        u.points = points_[static_cast<std::size_t>(group)].value_or(Points{type(node(u.nodes[0]).outputs[0]).shape});
      u.summed = summed_[static_cast<std::size_t>(group)];
      u.effect = transform::has_effects(node(u.nodes.front()));
    }
    return out;
  }

 private:
  // Of all groups: each after what it uses.
  std::vector<int> order() {
    std::vector<std::size_t> waits(members_.size(), 0);
    std::vector<std::vector<int>> after(members_.size());
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
    std::vector<int> out;
    while (!ready.empty()) {
      out.push_back(ready.top().second);
      ready.pop();
      for (int next : after[static_cast<std::size_t>(out.back())])
        if (--waits[static_cast<std::size_t>(next)] == 0) offer(next);
    }
    return out;
  }

  const Node& node(int i) const { return g_.nodes[static_cast<std::size_t>(i)]; }
  void link(int from, int to) {
    auto& users = users_[static_cast<std::size_t>(from)];
    if (!users.empty() && users.back() == to) return;
    users.push_back(to);
    makers_[static_cast<std::size_t>(to)].push_back(from);
  }
  bool program(std::size_t group) const {  // of elements; else it is an instruction of another kind
    return !summed_[group] && (members_[group].size() > 1 || elementwise(members_[group].front()));
  }
  bool elementwise(int i) const { return std::holds_alternative<runtime::Code>(node(i).op->kernel); }
  // Only the weakness of the type changes, of what no program computes: what reads it reads that.
  bool renames(int i) const {
    const auto* code = std::get_if<runtime::Code>(&node(i).op->kernel);
    const auto& makers = makers_[static_cast<std::size_t>(i)];
    return code && *code == runtime::Code::Convert && !is_result_[at(node(i).outputs[0])] &&
           type(node(i).inputs[0]).dtype == type(node(i).outputs[0]).dtype &&
           std::none_of(makers.begin(), makers.end(),
                        [&](int m) { return points_[static_cast<std::size_t>(m)].has_value(); });
  }
  // Of a node that may be a part of a program: elementwise, a reduction of rows, or a view that shows what has one
  // element a row otherwise, or along the row. A copy to the host or back is an instruction of its own.
  std::optional<Points> points_of(int i) const {
    const Node& n = node(i);
    if (n.outputs.size() != 1 || ir::host_copy(n) != ir::HostCopy::None) return std::nullopt;
    const AxisSet distinct = distinct_[at(n.outputs[0])];
    if (renames(i)) return std::nullopt;
    if (elementwise(i)) return Points{type(n.outputs[0]).shape, distinct};
    if (n.inputs.size() != 1 || distinct_[at(n.inputs[0])] != distinct || runtime::is_complex(type(n.inputs[0]).dtype))
      return std::nullopt;
    Points out{{}, distinct};
    if (n.op->reduces) {
      out.shape = type(n.inputs[0]).shape;
      out.row = n.attrs.ints("axes").size();
      for (const std::int64_t axis : n.attrs.ints("axes"))  // the last ones, in any order
        if (axis < -static_cast<std::int64_t>(out.row)) return std::nullopt;
    } else if (const auto* view = std::get_if<ir::ViewOf>(&n.op->kernel)) {
      if (view->part) return std::nullopt;
      const Shape &from = type(n.inputs[0]).shape, &to = type(n.outputs[0]).shape;
      const auto seen = view->strides({from, runtime::row_major(from), 0}, n.attrs, to);
      if (!seen || seen->shape != to) return std::nullopt;
      out.shape = to;
      std::int64_t left = runtime::numel(to);
      for (; left > runtime::numel(from) && out.row < to.size(); ++out.row) {
        if (seen->strides[to.size() - 1 - out.row] != 0 && to[to.size() - 1 - out.row] != 1) return std::nullopt;
        left /= std::max<std::int64_t>(to[to.size() - 1 - out.row], 1);
      }
      const Shape lead(to.begin(), to.end() - static_cast<std::ptrdiff_t>(out.row));
      const Shape steps = runtime::row_major(lead);
      if (left != runtime::numel(from)) return std::nullopt;
      for (std::size_t d = 0; d < lead.size(); ++d)
        if (lead[d] != 1 && seen->strides[d] != steps[d]) return std::nullopt;
    } else {
      return std::nullopt;
    }
    return out.row == 0 || rows_fit(out) ? std::optional(out) : std::nullopt;
  }
  bool rows_fit(const Points& p) const {
    std::int64_t length = 1, rows = mesh_ ? mesh_->size_of(p.distinct) : 1;
    for (std::size_t d = 0; d < p.shape.size(); ++d) (d + p.row < p.shape.size() ? rows : length) *= p.shape[d];
    return length > 1 && length <= kLongestRow && (rows >= kFewRows || rows * length <= kLittle);
  }
  bool view(int i) const { return std::holds_alternative<ir::ViewOf>(node(i).op->kernel); }
  bool joins(int i, bool with_rows) const {
    return points_[static_cast<std::size_t>(i)].has_value() && (with_rows || elementwise(i));
  }
  // What remat makes again is not made with what it is made of: it would live as long.
  bool again(int i) const { return node(i).attrs.has("again"); }
  const ir::Type& type(ir::Var v) const { return g_.type(v); }

  // A number that is made of what a reduction leaves of a short row.
  bool follows_short_row(int i) const {
    const Node& n = node(i);
    if (n.op->reduces) return runtime::numel(type(n.inputs[0]).shape) <= kShortRow;
    const auto& makers = makers_[static_cast<std::size_t>(i)];
    return points_of(i) && runtime::numel(type(n.outputs[0]).shape) == 1 &&
           std::any_of(makers.begin(), makers.end(), [&](int m) { return of_short_row_[static_cast<std::size_t>(m)]; });
  }

  // What both groups are computed at, where they can be one.
  std::optional<Points> together(const Points& a, const Points& b, bool of_short_row) const {
    if (a.distinct != b.distinct) return std::nullopt;
    if (a.row == b.row && a.shape == b.shape) return a;
    if (a.row && b.row) return std::nullopt;
    const bool first = a.row || (!b.row && runtime::numel(a.shape) > runtime::numel(b.shape));
    Points rows = first ? a : b;
    const Shape& other = first ? b.shape : a.shape;
    if (rows.row == 0) {  // is the other one what broadcasting repeats along some last dimensions?
      const bool whole = of_short_row && runtime::numel(rows.shape) <= kShortRow;
      const std::size_t most = whole ? rows.shape.size() : other.size();
      while (rows.row < most && rows.of(other) == Points::Class::Other) ++rows.row;
      if (!rows_fit(rows)) return std::nullopt;
    }
    return rows.of(other) != Points::Class::Other ? std::optional(rows) : std::nullopt;
  }

  // Whether the node can read v, made in the same program, where it computes at these points.
  bool reads(int user, ir::Var v, const Points& p) const {
    const Points::Class mine = p.of(type(v).shape);
    if (p.row == 0) return mine == Points::Class::Each && !view(user);
    if (node(user).op->reduces) return mine == Points::Class::Each && points_of(user)->row == p.row;
    if (view(user)) return mine == Points::Class::OfRow;
    if (p.of(type(node(user).outputs[0]).shape) == mine) return true;
    return mine == Points::Class::OfRow &&  // spread along the row
           (type(v).shape.size() == p.shape.size() || type(v).shape.empty());
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
        connected({members_[static_cast<std::size_t>(b)][0]}, makers_, rank_[static_cast<std::size_t>(after.front())],
                  rank_[static_cast<std::size_t>(b)]);
    if (order.size() > kVisits) return false;
    order.insert(order.end(), after.begin(), after.end());
    std::vector<int> ranks;
    for (int g : order) ranks.push_back(rank_[static_cast<std::size_t>(g)]);
    std::sort(ranks.begin(), ranks.end());
    for (std::size_t i = 0; i < order.size(); ++i) rank_[static_cast<std::size_t>(order[i])] = ranks[i];
    return true;
  }

  void join_consumers(int i, bool with_rows) {
    std::vector<int> groups;
    for (int u : users_[static_cast<std::size_t>(i)]) {
      int g = group_[static_cast<std::size_t>(u)];
      if (joins(u, with_rows) && (again(i) || !again(u)) && std::find(groups.begin(), groups.end(), g) == groups.end())
        groups.push_back(g);
    }
    int home = group_[static_cast<std::size_t>(i)];
    for (int g : groups) {
      if (members_[static_cast<std::size_t>(g)].size() + members_[static_cast<std::size_t>(home)].size() > kProgram)
        continue;
      const auto points = together(*points_[static_cast<std::size_t>(home)], *points_[static_cast<std::size_t>(g)],
                                   of_short_row_[static_cast<std::size_t>(i)]);
      if (!points || !all_read(home, g, *points) || !adjacent(home, g)) continue;
      merge(home, g);
      points_[static_cast<std::size_t>(g)] = points;
      home = g;
    }
  }

  // Programs of few elements are one, though they may have nothing in common: in bodies of small loops, where no array
  // waits for them.
  void join_small() {
    constexpr std::size_t kHomes = 4;  // programs that others between them keep apart
    if (std::any_of(g_.types.begin(), g_.types.end(),
                    [](const ir::Type& t) { return runtime::numel(t.shape) > kMany; }))
      return;
    std::vector<int> homes;
    for (std::size_t i = g_.nodes.size(); i-- > 0;) {
      const int group = group_[i];
      const auto& points = points_[static_cast<std::size_t>(group)];
      if (!points || points->row || runtime::numel(points->shape) > runtime::kFewElements ||
          again(static_cast<int>(i)) || !program(static_cast<std::size_t>(group)) ||
          std::find(homes.begin(), homes.end(), group) != homes.end())
        continue;
      const auto home = std::find_if(homes.begin(), homes.end(), [&](int h) {
        const auto& its = *points_[static_cast<std::size_t>(h)];
        return its.shape == points->shape && its.distinct == points->distinct &&
               members_[static_cast<std::size_t>(h)].size() + members_[static_cast<std::size_t>(group)].size() <=
                   kProgram &&
               adjacent(group, h);
      });
      if (home != homes.end())
        merge(group, *home);
      else if (homes.size() < kHomes)
        homes.push_back(group);
    }
  }

  // Whether all that nodes of these groups take from one another can be read at these points.
  bool all_read(int a, int b, const Points& points) const {
    for (int g : {a, b})
      for (int m : members_[static_cast<std::size_t>(g)]) {
        if (points.row == 0 && !elementwise(m)) return false;
        for (int u : users_[static_cast<std::size_t>(m)]) {
          const int its = group_[static_cast<std::size_t>(u)];
          if ((its == a || its == b) && !reads(u, node(m).outputs[0], points)) return false;
        }
      }
    return true;
  }

  void single(int i) {  // a group of its own, with a new name
    std::erase(members_[static_cast<std::size_t>(group_[static_cast<std::size_t>(i)])], i);
    group_[static_cast<std::size_t>(i)] = static_cast<int>(members_.size());
    members_.push_back({i});
    points_.push_back(points_of(i));
    seen_.push_back(0);
    summed_.push_back(false);
  }

  // A view of what comes from outside is none of the program's business, and a program of rows is worth it where
  // something is done to each element; without, its nodes are instructions, or programs of less.
  void settle_rows() {
    std::vector<int> free;
    for (std::size_t group = 0, groups = members_.size(); group < groups; ++group) {
      std::sort(members_[group].begin(), members_[group].end());
      const std::vector<int> nodes = members_[group];
      const std::optional<Points> points = points_[group];
      if (nodes.size() < 2 || !points || points->row == 0) continue;
      const bool reduces = std::any_of(nodes.begin(), nodes.end(), [&](int i) { return node(i).op->reduces; });
      const bool worth =
          (reduces || runtime::numel(points->shape) > kShortRow) && std::any_of(nodes.begin(), nodes.end(), [&](int i) {
            return elementwise(i) && points->of(type(node(i).outputs[0]).shape) == Points::Class::Each;
          });
      for (int i : nodes) {
        const auto& makers = makers_[static_cast<std::size_t>(i)];
        const bool outside = makers.empty() || group_[static_cast<std::size_t>(makers[0])] != static_cast<int>(group);
        if (!worth) free.push_back(i);
        if (!worth || (view(i) && outside)) single(i);
      }
    }
    rank_.assign(members_.size(), 0);
    int rank = 0;
    for (int group : order()) rank_[static_cast<std::size_t>(group)] = rank++;
    std::sort(free.begin(), free.end());
    for (std::size_t k = free.size(); k-- > 0;)
      if (elementwise(free[k])) join_consumers(free[k], false);
  }

  // A reduction over any dimensions that lie together, of what a program computes: it makes the leaves of it.
  void join_maker(int i) {
    const auto& makers = makers_[static_cast<std::size_t>(i)];
    const Node& n = node(i);
    const bool alone = members_[static_cast<std::size_t>(group_[static_cast<std::size_t>(i)])].size() == 1;
    if (!n.op->reduces || makers.size() != 1 || !alone) return;
    const auto group = static_cast<std::size_t>(group_[static_cast<std::size_t>(makers[0])]);
    if (!points_[group] || !program(group) || members_[group].size() >= kProgram || again(i) != again(makers[0]))
      return;
    const auto with = reducing(*points_[group], n);
    if (!with) return;
    points_[group] = with;
    merge(i, static_cast<int>(group));
  }
  // These points where the node reduces them too.
  std::optional<Points> reducing(Points p, const Node& n) const {
    const Shape& shape = type(n.inputs[0]).shape;
    const runtime::DType dtype = type(n.inputs[0]).dtype;
    const AxisSet distinct = distinct_[at(n.outputs[0])];
    if (shape != p.shape || distinct != p.distinct || distinct_[at(n.inputs[0])] != distinct ||
        runtime::is_narrow(dtype) || runtime::is_complex(dtype))
      return std::nullopt;
    std::vector<bool> gone(shape.size(), false);
    for (const std::int64_t axis : n.attrs.ints("axes")) gone[shape.size() - static_cast<std::size_t>(-axis)] = true;
    const auto begin = std::find(gone.begin(), gone.end(), true), end = std::find(begin, gone.end(), false);
    if (begin == end || std::find(end, gone.end(), true) != gone.end()) return std::nullopt;
    const auto first = static_cast<std::size_t>(begin - gone.begin()),
               last = static_cast<std::size_t>(end - gone.begin());
    if (p.last > 0 && (p.first != first || p.last != last)) return std::nullopt;
    std::int64_t outer = mesh_ ? mesh_->size_of(distinct) : 1, length = 1, inner = 1;
    for (std::size_t d = 0; d < shape.size(); ++d) (d < first ? outer : d < last ? length : inner) *= shape[d];
    if (length < kLong || outer * length * inner < kMany || (inner < kColumns && inner != 1)) return std::nullopt;
    if (p.row > 0 && (inner == 1 || last + p.row > shape.size())) return std::nullopt;
    p.first = first, p.last = last;
    return p;
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
  std::vector<bool> of_short_row_;             // by node
  std::vector<int> group_;                     // by node: the group
  std::vector<std::vector<int>> members_;      // by group
  std::vector<std::optional<Points>> points_;  // by group: of one that is or could be a program
  std::vector<int> rank_;                      // by group: none but of higher rank use it
  std::vector<std::uint64_t> seen_;            // by group: the search that last came by
  std::uint64_t search_ = 0;
};

}  // namespace

bool Points::reduced_by(const ir::Node& n) const {
  if (!n.op->reduces || last == 0) return false;
  const auto axes = n.attrs.ints("axes");
  return std::all_of(axes.begin(), axes.end(), [&](std::int64_t axis) {
    const std::size_t d = shape.size() - static_cast<std::size_t>(-axis);
    return d >= first && d < last;
  });
}

Points::Class Points::of(const runtime::Shape& other) const {
  if (other == shape) return Class::Each;
  if (row == 0 || row > shape.size()) return Class::Other;
  runtime::Shape of_row(shape.begin(), shape.end() - static_cast<std::ptrdiff_t>(row));
  if (other == of_row) return Class::OfRow;
  of_row.resize(shape.size(), 1);
  return other == of_row ? Class::OfRow : Class::Other;
}

std::vector<Unit> units_of(const ir::Graph& g, const std::vector<AxisSet>& distinct, const runtime::Mesh* mesh,
                           bool with_sums, AxisSet apart) {
  return Fusion(g, distinct, mesh, with_sums, apart).ordered();
}

std::vector<Unit> units_alone(const ir::Graph& g) {
  std::vector<Unit> out;
  for (const Node& n : g.nodes) {
    Unit& u = out.emplace_back();
    u.nodes = {static_cast<int>(out.size()) - 1};
    u.elementwise = std::holds_alternative<runtime::Code>(n.op->kernel);
    if (u.elementwise) u.points.shape = g.type(n.outputs[0]).shape;
  }
  return out;
}

}  // namespace shard::exec
