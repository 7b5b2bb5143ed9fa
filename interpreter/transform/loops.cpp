#include "interpreter/transform/loops.h"

#include "interpreter/ir/builder.h"
#include "interpreter/transform/layout.h"
#include "interpreter/transform/regions.h"

namespace shard::transform {
namespace {

using ir::Graph;
using ir::GraphRef;
using ir::Node;
using ir::Structure;
using ir::Var;
using ir::Vars;

std::size_t at(Var v) { return static_cast<std::size_t>(v.id); }
std::size_t count(const Node& n, const char* name) { return static_cast<std::size_t>(n.attrs.integer(name)); }
GraphRef share(Graph g) { return std::make_shared<const Graph>(std::move(g)); }
bool is(const Node& n, Structure kind) {
  const Structure* s = ir::structure_of(*n.op);
  return s && *s == kind;
}

// A region without some of its results and parameters.
GraphRef without(const ir::OpTable& table, const Graph& g, const Marks& keep_param, const Marks& keep_result) {
  Graph less = g;
  less.results.clear();
  for (std::size_t i = 0; i < g.results.size(); ++i)
    if (keep_result[i]) less.results.push_back(g.results[i]);
  less = without_dead_code(table, less);
  Vars params;
  for (std::size_t i = 0; i < less.params.size(); ++i)
    if (keep_param[i]) params.push_back(less.params[i]);
  less.params = std::move(params);
  return share(std::move(less));
}

// ---- trimming

// Nodes are walked from the last to the first, so that what a loop no longer takes is not used any more when its makers
// are seen.
class Trimmer {
 public:
  Trimmer(const ir::OpTable& table, const Graph& g) : table_(table), g_(g), used_(g.types.size(), 0) {
    for (Var r : g.results) used_[at(r)] = 1;
  }

  Graph run() {
    std::vector<Node> nodes;
    for (std::size_t i = g_.nodes.size(); i-- > 0;) {
      Node n = g_.nodes[i];
      bool wanted = has_effects(n);
      for (Var v : n.outputs) wanted |= used_[at(v)] != 0;
      if (!wanted) continue;
      for (auto& r : n.regions) r = share(trim_loops(table_, *r));
      if (is(n, Structure::Scan)) scan(n);
      if (is(n, Structure::Branch)) branch(n);
      for (Var v : n.inputs) used_[at(v)] = 1;
      nodes.push_back(std::move(n));
    }
    ir::Builder b = builder_like(table_, g_);
    Vars now(g_.types.size());
    for (Var p : g_.params) now[at(p)] = b.param(g_.type(p));
    for (std::size_t i = nodes.size(); i-- > 0;) {
      Node& n = nodes[i];
      ir::SpanScope scope(b, n.span);
      Vars inputs;
      std::vector<ir::Type> types;
      for (Var v : n.inputs) inputs.push_back(now[at(v)]);
      for (Var v : n.outputs) types.push_back(g_.type(v));
      Vars outputs = b.append(*n.op, std::move(inputs), std::move(n.attrs), std::move(n.regions), std::move(types));
      for (std::size_t k = 0; k < outputs.size(); ++k) now[at(n.outputs[k])] = outputs[k];
    }
    Vars results;
    for (Var r : g_.results) results.push_back(now[at(r)]);
    return b.finish(std::move(results));
  }

 private:
  // Which parameters of a region its kept results and effects depend on.
  Marks needed(const Graph& body, const Marks& keep) const {
    Marks need(body.types.size(), 0);
    for (std::size_t i = 0; i < body.results.size(); ++i)
      if (keep[i]) need[at(body.results[i])] = 1;
    for (std::size_t i = body.nodes.size(); i-- > 0;) {
      const Node& n = body.nodes[i];
      bool wanted = has_effects(n);
      for (Var v : n.outputs) wanted |= need[at(v)] != 0;
      if (wanted)
        for (Var v : n.inputs) need[at(v)] = 1;
    }
    return need;
  }

  void scan(Node& n) {
    const Graph& body = *n.regions[0];
    std::size_t consts = count(n, "consts"), carry = count(n, "carry");
    Marks keep_result(body.results.size(), 0), keep_param(body.params.size(), 0);
    for (std::size_t i = 0; i < n.outputs.size(); ++i) keep_result[i] = used_[at(n.outputs[i])];
    for (bool more = true; more;) {  // a carry that another one reads is kept too
      more = false;
      Marks need = needed(body, keep_result);
      for (std::size_t i = 0; i < body.params.size(); ++i) {
        keep_param[i] = need[at(body.params[i])];
        bool carried = i >= consts && i < consts + carry;
        if (carried && keep_param[i] && !keep_result[i - consts]) keep_result[i - consts] = 1, more = true;
      }
    }
    for (std::size_t i = 0; i < carry; ++i) keep_param[consts + i] = keep_result[i];
    rebuild(n, {keep_param}, keep_param, keep_result);
    auto kept = [&](std::size_t from, std::size_t size) {
      std::int64_t k = 0;
      for (std::size_t i = from; i < from + size; ++i) k += keep_param[i];
      return k;
    };
    n.attrs.set("consts", kept(0, consts));
    n.attrs.set("carry", kept(consts, carry));
  }

  void branch(Node& n) {
    Marks keep_result, keep_input(n.inputs.size(), 0);
    for (Var v : n.outputs) keep_result.push_back(used_[at(v)]);
    keep_input[0] = 1;
    for (const auto& r : n.regions) {
      Marks need = needed(*r, keep_result);
      for (std::size_t i = 0; i < r->params.size(); ++i) keep_input[i + 1] |= need[at(r->params[i])];
    }
    Marks keep_param(keep_input.begin() + 1, keep_input.end());
    rebuild(n, std::vector<Marks>(n.regions.size(), keep_param), keep_input, keep_result);
  }

  void rebuild(Node& n, const std::vector<Marks>& keep_param, const Marks& keep_input, const Marks& keep_result) {
    bool all = true;
    for (char k : keep_input) all &= k != 0;
    for (char k : keep_result) all &= k != 0;
    if (all) return;
    for (std::size_t r = 0; r < n.regions.size(); ++r)
      n.regions[r] = without(table_, *n.regions[r], keep_param[r], keep_result);
    Vars inputs, outputs;
    for (std::size_t i = 0; i < n.inputs.size(); ++i)
      if (keep_input[i]) inputs.push_back(n.inputs[i]);
    for (std::size_t i = 0; i < n.outputs.size(); ++i)
      if (keep_result[i]) outputs.push_back(n.outputs[i]);
    n.inputs = std::move(inputs);
    n.outputs = std::move(outputs);
  }

  const ir::OpTable& table_;
  const Graph& g_;
  Marks used_;
};

// ---- hoisting

class Hoister {
 public:
  Hoister(const ir::OpTable& table, const Graph& g)
      : table_(table), g_(g), b_(builder_like(table, g)), now_(g.types.size()) {}

  Graph run() {
    for (Var p : g_.params) now_[at(p)] = b_.param(g_.type(p));
    for (const Node& n : g_.nodes) {
      ir::SpanScope scope(b_, n.span);
      Vars inputs;
      std::vector<ir::Type> types;
      for (Var v : n.inputs) inputs.push_back(now_[at(v)]);
      for (Var v : n.outputs) types.push_back(g_.type(v));
      std::vector<GraphRef> regions;
      for (const auto& r : n.regions) regions.push_back(share(hoist_invariants(table_, *r)));
      ir::Attrs attrs = n.attrs;
      if (is(n, Structure::Scan)) move_out(attrs, "consts", regions[0], inputs, 0);
      if (is(n, Structure::While)) {
        std::size_t first = count(n, "cond_consts");
        move_out(attrs, "body_consts", regions[1], inputs, first);
        move_out(attrs, "cond_consts", regions[0], inputs, 0);
      }
      Vars outputs = b_.append(*n.op, std::move(inputs), std::move(attrs), std::move(regions), std::move(types));
      for (std::size_t k = 0; k < outputs.size(); ++k) now_[at(n.outputs[k])] = outputs[k];
    }
    Vars results;
    for (Var r : g_.results) results.push_back(now_[at(r)]);
    return b_.finish(std::move(results));
  }

 private:
  // Nodes of a loop's body that take only its constants are appended here; their results become constants of the loop.
  // `first`: where the constants begin among the inputs.
  void move_out(ir::Attrs& attrs, const char* name, GraphRef& region, Vars& inputs, std::size_t first) {
    const Graph& body = *region;
    auto consts = static_cast<std::size_t>(attrs.integer(name));
    Vars outside(body.types.size());
    for (std::size_t i = 0; i < consts; ++i) outside[at(body.params[i])] = inputs[first + i];
    Marks moved(body.nodes.size(), 0);
    bool any = false;
    for (std::size_t i = 0; i < body.nodes.size(); ++i) {
      const Node& n = body.nodes[i];
      if (!movable(body, n, outside)) continue;
      moved[i] = 1;
      any = true;
      ir::SpanScope scope(b_, n.span);
      Vars in;
      std::vector<ir::Type> types;
      for (Var v : n.inputs) in.push_back(outside[at(v)]);
      for (Var v : n.outputs) types.push_back(body.type(v));
      Vars out = b_.append(*n.op, std::move(in), n.attrs, n.regions, std::move(types));
      for (std::size_t k = 0; k < out.size(); ++k) outside[at(n.outputs[k])] = out[k];
    }
    if (!any) return;
    Graph rest = body;
    rest.nodes.clear();
    Marks used(body.types.size(), 0);
    for (Var r : body.results) used[at(r)] = 1;
    for (std::size_t i = 0; i < body.nodes.size(); ++i) {
      if (moved[i]) continue;
      rest.nodes.push_back(body.nodes[i]);
      for (Var v : body.nodes[i].inputs) used[at(v)] = 1;
    }
    std::size_t more = 0;
    for (std::size_t i = 0; i < body.nodes.size(); ++i) {
      if (!moved[i]) continue;
      for (Var v : body.nodes[i].outputs) {
        if (!used[at(v)]) continue;
        rest.params.insert(rest.params.begin() + static_cast<std::ptrdiff_t>(consts + more), v);
        inputs.insert(inputs.begin() + static_cast<std::ptrdiff_t>(first + consts + more), outside[at(v)]);
        ++more;
      }
    }
    attrs.set(name, static_cast<std::int64_t>(consts + more));
    region = share(std::move(rest));
  }

  static bool movable(const Graph& body, const Node& n, const Vars& outside) {
    if (n.inputs.empty() || !n.regions.empty() || ir::is_effect(*n.op) || n.op->comm != ir::Comm::None ||
        n.attrs.has("barrier"))
      return false;
    std::int64_t in = 0, out = 0;
    for (Var v : n.inputs) {
      if (!outside[at(v)].valid()) return false;
      in += bytes_of(body.type(v));
    }
    for (Var v : n.outputs) out += bytes_of(body.type(v));
    return out <= in;
  }

  const ir::OpTable& table_;
  const Graph& g_;
  ir::Builder b_;
  Vars now_;
};

}  // namespace

Graph trim_loops(const ir::OpTable& table, const Graph& graph) { return Trimmer(table, graph).run(); }
Graph hoist_invariants(const ir::OpTable& table, const Graph& graph) { return Hoister(table, graph).run(); }

}  // namespace shard::transform
