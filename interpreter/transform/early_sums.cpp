// A sum over devices commutes with everything linear, as long as what else the operation takes is the same on all of
// them. Which operations are, and which without rounding, is ir/linear.h's to say.
#include <algorithm>

#include "interpreter/ir/builder.h"
#include "interpreter/ir/linear.h"
#include "interpreter/transform/passes.h"
#include "interpreter/transform/regions.h"
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
        b_(builder_like(table, g)),
        distinct_(distinct.of),
        uses_(ir::count_uses(g)),
        producer_(ir::producers(g)),
        now_(b_, g) {
    for (Var v : g.results) ++uses_[at(v)];  // kept as it is
  }

  std::optional<ir::Graph> run(const Distinct& distinct) {
    bool any = std::any_of(g_.nodes.begin(), g_.nodes.end(), [&](const Node& n) { return rewritten(n); });
    std::vector<std::vector<ir::GraphRef>> regions;
    for (std::size_t i = 0; i < g_.nodes.size(); ++i) {
      auto& inside = regions.emplace_back(g_.nodes[i].regions);
      for (std::size_t r = 0; r < inside.size(); ++r)
        if (auto less = with_early_sums(b_.table(), *inside[r], distinct.inside[i].regions[r], mesh_))
          inside[r] = share(std::move(*less)), any = true;
    }
    if (!any) return std::nullopt;
    std::vector<char> replaced(g_.types.size(), 0);  // values that only exist within a rewritten sum
    for (const Node& n : g_.nodes)
      if (rewritten(n) && moves(n)) mark(n.inputs[0], axes(n), replaced);
    now_.params();
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
        now_[n.outputs[0]] = whole;
        continue;
      }
      now_.node(n, n.attrs, std::move(regions[i]));
    }
    return now_.finish();
  }

 private:
  AxisSet axes(const Node& n) const { return AxisSet::of(axes_of(n, mesh_, true)); }
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
    const AxisSet over = axes(n);
    return !over.empty() && mesh_.part->here.size_of(over) == 1;
  }
  bool differs(Var v, AxisSet over) const { return !(distinct_[at(v)] & over).empty(); }

  // Operands of the node that makes v through which a sum over these axes passes; empty where it does not pass: where
  // the sum would be one of larger values, or of a type that rounds otherwise.
  Vars passes(const Node& n, AxisSet over) const {
    const std::vector<ir::Type> in = types_of(g_, n.inputs);
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
    return b_.append(*b_.core().psum, {now_[v]}, std::move(attrs), {}, {g_.type(v)}).at(0);
  }
  Var pushed(Var v, const Node& like) {
    const Node* n = producer_[at(v)];
    if (!differs(v, axes(like)) || n->op->kernel_sum) return sum(v, like);
    Vars through = passes(*n, axes(like)), inputs;
    for (Var x : n->inputs)
      inputs.push_back(std::find(through.begin(), through.end(), x) != through.end() ? pushed(x, like) : now_[x]);
    return b_.append(*n->op, std::move(inputs), n->attrs, n->regions, types_of(g_, n->outputs), n->rule).at(0);
  }

  const ir::Graph& g_;
  const Mesh& mesh_;
  ir::Builder b_;
  const std::vector<AxisSet>& distinct_;
  std::vector<int> uses_;
  std::vector<const Node*> producer_;
  ir::GraphCopy now_;
};

}  // namespace

std::optional<ir::Graph> with_early_sums(const ir::OpTable& table, const ir::Graph& g, const Distinct& distinct,
                                         const Mesh& mesh) {
  return EarlySums(table, g, distinct, mesh).run(distinct);
}

}  // namespace shard::transform
