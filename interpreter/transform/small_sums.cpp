// Small sums of gradients over devices (of gains, biases) are one message where none depends on another one: what they
// take is the time until the first byte is there. What reads them moves behind the last one.
#include <algorithm>
#include <utility>

#include "interpreter/ir/builder.h"
#include "interpreter/ir/collective.h"
#include "interpreter/ir/op.h"
#include "interpreter/transform/passes.h"
#include "interpreter/transform/regions.h"

namespace shard::transform {
namespace {

using ir::Graph;
using ir::Node;
using ir::Var;
using ir::Vars;

constexpr std::int64_t kSmall = 16 * 1024, kTogether = 256 * 1024;  // bytes

using Group = std::vector<std::size_t>;  // places of nodes, ascending

// Of gradients: what the forward part reads does not wait for them, nor they for it.
bool small_sum(const Graph& g, const Node& n) {
  return n.op->comm && n.span.backward && ir::sums_all(*n.op) && !n.attrs.has("groups") && n.attrs.has("written") &&
         !n.attrs.flag("written") && bytes_of(g.type(n.inputs[0])) <= kSmall;
}

// The small sum at `first` with those behind it that do not depend on one of them.
Group from(const Graph& g, std::size_t first) {
  constexpr std::size_t kFar = 4096;  // nodes
  const Node& start = g.nodes[first];
  const runtime::Type& type = g.type(start.inputs[0]);
  const auto alike = [&](const Node& n) {
    const runtime::Type& t = g.type(n.inputs[0]);
    return n.attrs.ints("axes") == start.attrs.ints("axes") && t.dtype == type.dtype && t.varying == type.varying;
  };
  Group out{first};
  std::int64_t bytes = bytes_of(type);
  Marks later(g.types.size(), 0);  // what depends on one of the group
  later[at(start.outputs[0])] = 1;
  for (std::size_t i = first + 1; i < std::min(g.nodes.size(), first + kFar); ++i) {
    const Node& n = g.nodes[i];
    bool depends = std::any_of(n.inputs.begin(), n.inputs.end(), [&](Var v) { return later[at(v)] != 0; });
    if (depends && has_effects(n)) break;  // effects keep their order
    if (!depends && small_sum(g, n) && alike(n) && bytes + bytes_of(g.type(n.inputs[0])) <= kTogether) {
      out.push_back(i);
      bytes += bytes_of(g.type(n.inputs[0]));
      depends = true;
    }
    for (Var v : depends ? n.outputs : Vars()) later[at(v)] = 1;
  }
  return out;
}

// None begins before another one ends.
std::vector<Group> groups_of(const Graph& g) {
  std::vector<Group> out;
  for (std::size_t i = 0; i < g.nodes.size(); ++i) {
    if (!small_sum(g, g.nodes[i])) continue;
    Group group = from(g, i);
    if (group.size() == 1) continue;
    i = group.back();
    out.push_back(std::move(group));
  }
  return out;
}

class Joiner {
 public:
  Joiner(const ir::OpTable& table, const Graph& g)
      : core_(table.core()), g_(g), b_(builder_like(table, g)), now_(b_, g) {}

  Graph run(const std::vector<Group>& groups) {
    std::vector<const Group*> ends(g_.nodes.size(), nullptr);
    std::vector<char> waits(g_.nodes.size(), 0);
    for (const Group& group : groups) {
      ends[group.back()] = &group;
      for (std::size_t i : group) waits[i] = 1;
    }
    now_.params();
    std::vector<std::size_t> late;  // nodes that wait for a sum
    const auto ready = [&](const Node& n) {
      return std::all_of(n.inputs.begin(), n.inputs.end(), [&](Var v) { return now_[v].valid(); });
    };
    const auto emit = [&](std::size_t i) {
      const ir::SpanScope scope(b_, g_.nodes[i].span);
      ends[i] ? join(*ends[i]) : now_.node(g_.nodes[i]);
    };
    for (std::size_t i = 0; i < g_.nodes.size(); ++i) {
      if (!ends[i] && (waits[i] || !ready(g_.nodes[i]))) {
        if (!waits[i]) late.push_back(i);
        continue;
      }
      emit(i);
      if (!ends[i]) continue;
      for (std::size_t each : std::exchange(late, {})) emit(each);
    }
    return now_.finish();
  }

 private:
  void join(const Group& group) {
    const Node& last = g_.nodes[group.back()];
    Vars lines;
    for (std::size_t i : group) {
      const Var x = now_[g_.nodes[i].inputs[0]];
      lines.push_back(ir::reshape(b_, x, {runtime::numel(b_.type(x).shape)}));
    }
    const Var all = b_.emit(*core_.concat, lines, {{"axis", std::int64_t{-1}}}).at(0);
    const Var sum = b_.emit1(*last.op, {all}, last.attrs);
    std::int64_t begin = 0;
    for (std::size_t i : group) {
      const Var out = g_.nodes[i].outputs[0];
      const std::int64_t n = runtime::numel(g_.type(out).shape);
      const Var part = b_.emit1(*core_.slice, {sum},
                                {{"start", ir::Ints{begin}}, {"limit", ir::Ints{begin + n}}, {"step", ir::Ints{1}}});
      now_[out] = ir::reshape(b_, part, g_.type(out).shape);
      begin += n;
    }
  }

  const ir::CoreOps& core_;
  const Graph& g_;
  ir::Builder b_;
  ir::GraphCopy now_;
};

}  // namespace

std::optional<Graph> with_small_sums_joined(const ir::OpTable& table, const Graph& graph) {
  std::optional<Graph> out =
      with_regions(graph, [&](const Graph& region) { return with_small_sums_joined(table, region); });
  const Graph& now = out ? *out : graph;
  const std::vector<Group> groups = groups_of(now);
  return groups.empty() ? out : Joiner(table, now).run(groups);
}

}  // namespace shard::transform
