// A sum over devices commutes with everything linear, as long as what else the operation takes is the same on all of
// them. Which operations are, and which without rounding, is ir/linear.h's to say.
#include "interpreter/transform/early_sums.h"

#include <algorithm>

#include "interpreter/ir/builder.h"
#include "interpreter/ir/linear.h"
#include "runtime/mesh/part.h"

namespace shard::transform {
namespace {

using ir::Node;
using ir::Var;
using ir::Vars;
using runtime::AxisSet;
using runtime::Mesh;

class EarlySums {
 public:
  EarlySums(const ir::OpTable& table, const ir::Graph& g, const Distinct& distinct, const Mesh& mesh)
      : g_(g),
        mesh_(mesh),
        b_(table),
        distinct_(distinct.of),
        uses_(g.types.size(), 0),
        producer_(g.types.size(), nullptr),
        now_(g.types.size()) {
    for (const Node& n : g.nodes) {
      for (Var v : n.inputs) ++uses_[at(v)];
      for (Var v : n.outputs) producer_[at(v)] = &n;
    }
    for (Var v : g.results) uses_[at(v)] += 2;  // kept as it is
    if (g.local) b_.set_local(g.mesh);
  }

  // `regions`: of each node, as they were rewritten; null where one stays.
  std::optional<ir::Graph> run(const std::vector<std::vector<ir::GraphRef>>& regions) {
    const bool any = std::any_of(g_.nodes.begin(), g_.nodes.end(), [&](const Node& n) { return rewritten(n); });
    if (!any && regions.empty()) return std::nullopt;
    std::vector<char> replaced(g_.types.size(), 0);  // values that only exist within a rewritten sum
    for (const Node& n : g_.nodes)
      if (rewritten(n) && moves(n)) mark(n.inputs[0], axes(n), replaced);
    for (Var p : g_.params) now_[at(p)] = b_.param(g_.type(p));
    for (std::size_t i = 0; i < g_.nodes.size(); ++i) {
      const Node& n = g_.nodes[i];
      if (!n.outputs.empty() && replaced[at(n.outputs[0])]) continue;
      ir::SpanScope scope(b_, n.span);
      if (rewritten(n)) {
        Var whole = moves(n) ? pushed(n.inputs[0], n) : sum(n.inputs[0], n);
        if (n.op->comm->split) {
          ir::Attrs attrs = n.attrs;
          attrs.erase("tiled");
          whole = b_.append(*b_.core().own_slice, {whole}, std::move(attrs), {}, {g_.type(n.outputs[0])}).at(0);
        }
        now_[at(n.outputs[0])] = whole;
        continue;
      }
      std::vector<ir::GraphRef> inside = n.regions;
      for (std::size_t r = 0; !regions.empty() && r < regions[i].size(); ++r)
        if (regions[i][r]) inside[r] = regions[i][r];
      Vars outputs = b_.append(*n.op, mapped(n.inputs), n.attrs, std::move(inside), types(n.outputs));
      for (std::size_t k = 0; k < outputs.size(); ++k) now_[at(n.outputs[k])] = outputs[k];
    }
    return b_.finish(mapped(g_.results));
  }

 private:
  Vars mapped(const Vars& vars) const {
    Vars out;
    for (Var v : vars) out.push_back(now_[at(v)]);
    return out;
  }
  std::vector<ir::Type> types(const Vars& vars) const {
    std::vector<ir::Type> out;
    for (Var v : vars) out.push_back(g_.type(v));
    return out;
  }
  AxisSet axes(const Node& n) const {
    AxisSet s;
    for (auto a : axes_of(n, mesh_, true)) s.add(a);
    return s;
  }
  static bool sums(const Node& n) {
    const auto& c = n.op->comm;
    if (!c || c->combine != runtime::Reduce::Sum || c->join || n.attrs.has("groups")) return false;
    return !c->split || ir::tiled(*c, n.attrs);
  }
  bool rewritten(const Node& n) const { return sums(n) && !scattered(n) && (moves(n) || n.op->comm->split); }
  // A sum of which each process shall have its own device's part alone: half as much is sent, and there are no terms of
  // other devices here.
  bool scattered(const Node& n) const {
    if (!n.op->comm->split || !mesh_.part) return false;
    const std::vector<runtime::AxisId> over = axes_of(n, mesh_, true);
    return !over.empty() &&
           std::all_of(over.begin(), over.end(), [&](runtime::AxisId a) { return mesh_.part->here.size_of(a) == 1; });
  }
  bool differs(Var v, AxisSet over) const { return !(distinct_[at(v)] & over).empty(); }

  // Operands of the node that makes v through which a sum over these axes passes; empty where it does not pass: where
  // the sum would be one of larger values, or of a type that rounds otherwise.
  Vars passes(const Node& n, AxisSet over) const {
    const std::vector<ir::Type> in = types(n.inputs);
    const auto lin = ir::linear({*n.op, in, n.attrs, n.regions, &g_, n.inputs});
    if (!lin || !lin->exact || n.outputs.size() != 1) return {};
    const ir::Type& out = g_.type(n.outputs[0]);
    Vars through;
    for (std::size_t i = 0; i < n.inputs.size(); ++i) {
      const bool differs_here = differs(n.inputs[i], over);
      if (!differs_here && !(lin->jointly && lin->in[i])) continue;
      if (!lin->in[i] || in[i].dtype != out.dtype || runtime::numel(in[i].shape) > runtime::numel(out.shape)) return {};
      through.push_back(n.inputs[i]);
    }
    if (!lin->jointly && through.size() != 1) return {};
    return through;
  }

  // Whether a sum of v over these axes can be moved to contractions.
  bool reaches(Var v, AxisSet over, int depth = 0) const {
    const Node* n = producer_[at(v)];
    if (!n || uses_[at(v)] != 1 || depth > 32) return false;
    if (n->op->kernel_sum) return true;
    Vars through = passes(*n, over);
    if (through.empty()) return false;
    for (Var x : through)
      if (differs(x, over) && !reaches(x, over, depth + 1)) return false;
    return true;
  }
  bool moves(const Node& n) const {
    Var x = n.inputs[0];
    const Node* made = producer_[at(x)];
    return differs(x, axes(n)) && made && !made->op->kernel_sum && reaches(x, axes(n));
  }

  void mark(Var v, AxisSet over, std::vector<char>& replaced) const {
    const Node* n = producer_[at(v)];
    if (n->op->kernel_sum) return;
    replaced[at(v)] = 1;
    for (Var x : passes(*n, over))
      if (differs(x, over)) mark(x, over, replaced);
  }

  Var sum(Var v, const Node& like) {
    ir::Attrs attrs = like.attrs;
    for (const char* name : {"axis", "tiled"}) attrs.erase(name);
    return b_.append(*b_.core().psum, {now_[at(v)]}, std::move(attrs), {}, {g_.type(v)}).at(0);
  }
  Var pushed(Var v, const Node& like) {
    const Node* n = producer_[at(v)];
    if (!differs(v, axes(like)) || n->op->kernel_sum) return sum(v, like);
    Vars through = passes(*n, axes(like)), inputs;
    for (Var x : n->inputs)
      inputs.push_back(std::find(through.begin(), through.end(), x) != through.end() ? pushed(x, like) : now_[at(x)]);
    return b_.append(*n->op, std::move(inputs), n->attrs, n->regions, types(n->outputs)).at(0);
  }

  const ir::Graph& g_;
  const Mesh& mesh_;
  ir::Builder b_;
  const std::vector<AxisSet>& distinct_;
  std::vector<int> uses_;
  std::vector<const Node*> producer_;
  Vars now_;
};

}  // namespace

std::optional<ir::Graph> with_early_sums(const ir::OpTable& table, const ir::Graph& g, const Distinct& distinct,
                                         const Mesh& mesh) {
  std::vector<std::vector<ir::GraphRef>> regions;
  for (std::size_t i = 0; i < g.nodes.size(); ++i)
    for (std::size_t r = 0; r < g.nodes[i].regions.size(); ++r) {
      auto inside = with_early_sums(table, *g.nodes[i].regions[r], distinct.inside[i].regions[r], mesh);
      if (!inside) continue;
      regions.resize(g.nodes.size());
      regions[i].resize(g.nodes[i].regions.size());
      regions[i][r] = std::make_shared<const ir::Graph>(std::move(*inside));
    }
  return EarlySums(table, g, distinct, mesh).run(regions);
}

}  // namespace shard::transform
