// Before propagation: calls, constants, and graphs of one device.
#include "interpreter/ir/builder.h"
#include "interpreter/transform/passes.h"
#include "interpreter/transform/regions.h"

namespace shard::transform {
namespace {

using ir::Graph;
using ir::GraphRef;
using ir::Node;
using ir::Structure;
using ir::Var;
using ir::Vars;

class Inliner {
 public:
  explicit Inliner(const ir::OpTable& table) : table_(table) {}

  Graph run(const Graph& g) {
    ir::Builder b = builder_like(table_, g);
    ir::GraphCopy copy(b, g);
    copy.params();
    for (const Node& n : g.nodes) node(b, copy, n, {});
    return copy.finish();
  }

 private:
  struct Around {              // the calls that a node stands in
    std::int64_t barrier = 0;  // the innermost that is not merged with what is outside
    bool again = false;        // one makes anew what there was
  };

  void node(ir::Builder& b, ir::GraphCopy& now, const Node& n, Around around) {
    ir::SpanScope scope(b, n.span);
    if (is(n, Structure::Call)) {
      const Graph& body = *n.regions[0];
      if (n.attrs.says("remat")) around.barrier = ++barriers_;
      around.again |= n.attrs.says("again");
      ir::GraphCopy inside(b, body);
      inside.become(body.params, now(n.inputs));
      for (const Node& m : body.nodes) node(b, inside, m, around);
      now.become(n.outputs, inside(body.results));
      return;
    }
    std::vector<GraphRef> regions;
    for (const auto& r : n.regions) regions.push_back(share(run(*r)));
    ir::Attrs attrs = n.attrs;
    if (around.barrier) attrs.set("barrier", around.barrier);
    if (around.again) attrs.set("again", true);
    now.node(n, std::move(attrs), std::move(regions));
  }

  const ir::OpTable& table_;
  std::int64_t barriers_ = 0;
};

class ConstantSplitter {
 public:
  ConstantSplitter(const ir::OpTable& table, const Graph& g)
      : table_(table), g_(g), b_(builder_like(table, g)), now_(b_, g), made_by_(g.types.size(), nullptr) {}

  Graph run() {
    now_.params();
    for (const Node& n : g_.nodes) {
      bool free = n.outputs.size() == 1 && n.regions.empty() && !n.op->comm && !ir::is_effect(*n.op) &&
                  (n.inputs.empty() || ir::shows_all(*n.op) || n.op == table_.core().convert);
      for (Var v : n.inputs) free &= made_by_[at(v)] != nullptr;
      if (free) {
        made_by_[at(n.outputs[0])] = &n;
        continue;
      }
      ir::SpanScope scope(b_, n.span);
      std::vector<GraphRef> regions;
      for (const auto& r : n.regions) regions.push_back(share(split_constants(table_, *r)));
      now_.node(n, used(n.inputs), n.attrs, std::move(regions));
    }
    return b_.finish(used(g_.results));
  }

 private:
  Vars used(const Vars& vars) {
    Vars out;
    for (Var v : vars) out.push_back(use(v));
    return out;
  }
  Var use(Var v) {
    if (now_[v].valid()) return now_[v];
    const Node& n = *made_by_[at(v)];
    now_.node(n, used(n.inputs), n.attrs, {});
    // Scalars have no layout: one is enough.
    return g_.type(v).shape.empty() ? now_[v] : std::exchange(now_[v], Var{});
  }

  const ir::OpTable& table_;
  const Graph& g_;
  ir::Builder b_;
  ir::GraphCopy now_;
  std::vector<const Node*> made_by_;
};

}  // namespace

Graph inline_calls(const ir::OpTable& table, const Graph& graph) {
  return has_regions(graph) ? Inliner(table).run(graph) : graph;
}
Graph split_constants(const ir::OpTable& table, const Graph& graph) { return ConstantSplitter(table, graph).run(); }

Graph on_one_device(const ir::OpTable& table, const Graph& graph) {
  ir::Builder b = builder_like(table, graph);
  ir::GraphCopy copy(b, graph);
  copy.params();
  for (const Node& n : graph.nodes) {
    if (is(n, Structure::Shard)) {
      copy[n.outputs[0]] = copy[n.inputs[0]];
      continue;
    }
    std::vector<GraphRef> regions;
    for (const auto& r : n.regions) regions.push_back(share(on_one_device(table, *r)));
    copy.node(n, n.attrs, std::move(regions));
  }
  Graph out = copy.finish();
  out.local = true;
  return out;
}

}  // namespace shard::transform
