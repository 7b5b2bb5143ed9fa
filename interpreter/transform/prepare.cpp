#include "interpreter/transform/prepare.h"
#include "interpreter/transform/nodes.h"

#include <map>

#include "interpreter/ir/builder.h"
#include "interpreter/transform/regions.h"

namespace shard::transform {
namespace {

using ir::Graph;
using ir::GraphRef;
using ir::Node;
using ir::Structure;
using ir::Var;
using ir::Vars;

std::vector<ir::Type> output_types(const Graph& g, const Node& n) {
  std::vector<ir::Type> out;
  for (Var v : n.outputs) out.push_back(g.type(v));
  return out;
}

Vars mapped(const Vars& now, const Vars& vars) {
  Vars out;
  out.reserve(vars.size());
  for (Var v : vars) out.push_back(now[at(v)]);
  return out;
}

// Copies a graph node by node; `visit` appends a node in its own way and says so.
template <class F>
Graph copied(const ir::OpTable& table, const Graph& g, F visit) {
  ir::Builder b = builder_like(table, g);
  Vars now(g.types.size());
  for (Var p : g.params) now[at(p)] = b.param(g.type(p));
  for (const Node& n : g.nodes) {
    ir::SpanScope scope(b, n.span);
    visit(b, now, n);
  }
  return b.finish(mapped(now, g.results));
}

class Inliner {
 public:
  explicit Inliner(const ir::OpTable& table) : table_(table) {}

  Graph run(const Graph& g) {
    return copied(table_, g, [&](ir::Builder& b, Vars& now, const Node& n) { node(b, g, now, n, {}); });
  }

 private:
  struct Around {              // the calls that a node stands in
    std::int64_t barrier = 0;  // the innermost that is not merged with what is outside
    bool again = false;        // one makes anew what there was
  };

  void node(ir::Builder& b, const Graph& g, Vars& now, const Node& n, Around around) {
    ir::SpanScope scope(b, n.span);
    if (is(n, Structure::Call)) {
      const Graph& body = *n.regions[0];
      if (n.attrs.has("remat") && n.attrs.flag("remat")) around.barrier = ++barriers_;
      around.again |= n.attrs.has("again") && n.attrs.flag("again");
      Vars inside(body.types.size());
      for (std::size_t i = 0; i < n.inputs.size(); ++i) inside[at(body.params[i])] = now[at(n.inputs[i])];
      for (const Node& m : body.nodes) node(b, body, inside, m, around);
      for (std::size_t i = 0; i < n.outputs.size(); ++i) now[at(n.outputs[i])] = inside[at(body.results[i])];
      return;
    }
    std::vector<GraphRef> regions;
    for (const auto& r : n.regions) regions.push_back(std::make_shared<const Graph>(run(*r)));
    ir::Attrs attrs = n.attrs;
    if (around.barrier) attrs.set("barrier", around.barrier);
    if (around.again) attrs.set("again", true);
    Vars outputs = b.append(*n.op, mapped(now, n.inputs), std::move(attrs), std::move(regions), output_types(g, n));
    for (std::size_t i = 0; i < outputs.size(); ++i) now[at(n.outputs[i])] = outputs[i];
  }

  const ir::OpTable& table_;
  std::int64_t barriers_ = 0;
};

class ConstantSplitter {
 public:
  ConstantSplitter(const ir::OpTable& table, const Graph& g)
      : table_(table), g_(g), made_by_(g.types.size(), nullptr) {}

  Graph run() {
    const ir::CoreOps& core = table_.core();
    ir::Builder b = builder_like(table_, g_);
    Vars now(g_.types.size());
    for (Var p : g_.params) now[at(p)] = b.param(g_.type(p));
    for (const Node& n : g_.nodes) {
      bool free = n.outputs.size() == 1 && n.regions.empty() && !n.op->comm && !ir::is_effect(*n.op) &&
                  (n.inputs.empty() || ir::shows_all(*n.op) || n.op == core.convert);
      for (Var v : n.inputs) free &= made_by_[at(v)] != nullptr;
      if (free) {
        made_by_[at(n.outputs[0])] = &n;
        continue;
      }
      ir::SpanScope scope(b, n.span);
      std::vector<GraphRef> regions;
      for (const auto& r : n.regions) regions.push_back(std::make_shared<const Graph>(split_constants(table_, *r)));
      Vars inputs;
      for (Var v : n.inputs) inputs.push_back(use(b, now, v));
      Vars outputs = b.append(*n.op, std::move(inputs), n.attrs, std::move(regions), output_types(g_, n));
      for (std::size_t i = 0; i < outputs.size(); ++i) now[at(n.outputs[i])] = outputs[i];
    }
    Vars results;
    for (Var v : g_.results) results.push_back(use(b, now, v));
    return b.finish(std::move(results));
  }

 private:
  Var use(ir::Builder& b, Vars& now, Var v) {
    if (now[at(v)].valid()) return now[at(v)];
    const Node& n = *made_by_[at(v)];
    Vars inputs;
    for (Var i : n.inputs) inputs.push_back(use(b, now, i));
    ir::SpanScope scope(b, n.span);
    Var out = b.append(*n.op, std::move(inputs), n.attrs, {}, output_types(g_, n))[0];
    if (g_.type(v).shape.empty()) now[at(v)] = out;  // scalars have no layout: one is enough
    return out;
  }

  const ir::OpTable& table_;
  const Graph& g_;
  std::vector<const Node*> made_by_;
};

}  // namespace

Graph inline_calls(const ir::OpTable& table, const Graph& graph) { return Inliner(table).run(graph); }
Graph split_constants(const ir::OpTable& table, const Graph& graph) { return ConstantSplitter(table, graph).run(); }

Graph on_one_device(const ir::OpTable& table, const Graph& graph) {
  Graph out = copied(table, graph, [&](ir::Builder& b, Vars& now, const Node& n) {
    if (is(n, Structure::Shard)) {
      now[at(n.outputs[0])] = now[at(n.inputs[0])];
      return;
    }
    std::vector<GraphRef> regions;
    for (const auto& r : n.regions) regions.push_back(std::make_shared<const Graph>(on_one_device(table, *r)));
    Vars outputs = b.append(*n.op, mapped(now, n.inputs), n.attrs, std::move(regions), output_types(graph, n));
    for (std::size_t i = 0; i < outputs.size(); ++i) now[at(n.outputs[i])] = outputs[i];
  });
  out.local = true;
  return out;
}

}  // namespace shard::transform
