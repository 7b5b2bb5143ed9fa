#include "interpreter/transform/derive_rule.h"

#include "grammar/diagnostic.h"
#include "interpreter/transform/cotangent.h"
#include "interpreter/transform/differentiate.h"
#include "interpreter/transform/regions.h"

namespace shard::transform {
namespace {

using ir::Builder;
using ir::NodeView;
using ir::Type;
using ir::Var;
using ir::Vars;

using LinearMap = std::function<Vars(Builder&, const NodeView&, std::span<const Var>)>;

// Transposes a linear map that may use the node's values. `from`: types of its arguments, `used`: which of them count;
// `ct`: cotangents of its results. The map is recorded in a graph of its own, with the node's values as parameters, and
// that graph is differentiated.
Vars transpose(Builder& b, const LinearMap& map, const NodeView& node, const std::vector<Type>& from,
               const std::vector<bool>& used, std::span<const Var> ct) {
  Builder g = builder_like(b.table(), b.graph());
  g.set_span(b.span());
  g.set_finishes_sums();
  Vars in, out, args(from.size()), outer;
  for (Var v : node.in) in.push_back(g.param(b.type(v))), outer.push_back(v);
  for (Var v : node.out) out.push_back(g.param(b.type(v))), outer.push_back(v);
  std::vector<int> wrt, place;
  std::vector<Type> types;
  for (std::size_t i = 0; i < from.size(); ++i) {
    if (!used[i]) continue;
    wrt.push_back(static_cast<int>(outer.size()));
    place.push_back(static_cast<int>(i));
    types.push_back(from[i]);
    args[i] = g.param(from[i]);
    outer.push_back(Var{});
  }
  Vars mapped = map(g, NodeView{node.call, in, out, {}}, args), results;
  Vars given;
  for (std::size_t r = 0; r < mapped.size(); ++r)
    if (mapped[r].valid() && ct[r].valid()) {
      results.push_back(mapped[r]);
      given.push_back(ct[r]);
    }
  Vars back(from.size());
  if (results.empty() || wrt.empty()) return back;
  std::vector<Type> want;
  for (Var r : results) want.push_back(cotangent_type(g.type(r)));
  ir::Graph linear = g.finish(std::move(results));
  ir::Graph turned = vjp(b.table(), linear, wrt, std::vector<bool>(linear.results.size(), true), false);
  for (std::size_t k = 0, w = 0; k < outer.size(); ++k)  // a linear map does not look at where it is taken
    if (!outer[k].valid()) outer[k] = typed_zeros(b, types[w++]);
  for (std::size_t k = 0; k < given.size(); ++k) outer.push_back(fit(b, given[k], want[k]));
  Vars found = b.inline_graph(turned, outer);
  for (std::size_t k = 0; k < place.size(); ++k) back[static_cast<std::size_t>(place[k])] = found[k];
  return back;
}

}  // namespace

Vars pull_by_jvp(Builder& b, const ir::Custom& rule, const NodeView& node, std::span<const Var> cotangents) {
  std::vector<Type> from(node.call.in.begin(), node.call.in.end());
  std::vector<bool> used;
  for (std::size_t i = 0; i < from.size(); ++i)
    used.push_back(differentiable(from[i]) && (node.wanted.empty() || node.wanted[i]));
  return transpose(
      b, [&](Builder& g, const NodeView& n, std::span<const Var> t) { return rule.jvp(g, n, t); }, node, from, used,
      cotangents);
}

Vars push_by_vjp(Builder& b, const ir::Custom& rule, const NodeView& node, std::span<const Var> tangents) {
  std::vector<Type> from;
  std::vector<bool> used;
  for (Var v : node.out) {
    from.push_back(cotangent_type(b.type(v)));
    used.push_back(differentiable(from.back()));
  }
  return transpose(
      b, [&](Builder& g, const NodeView& n, std::span<const Var> t) { return rule.vjp(g, n, t); }, node, from, used,
      tangents);
}

void not_differentiable(const Builder& b, const ir::OpCall& call, std::string_view why) {
  if (call.op.internal)
    throw grammar::Error("not_differentiable", b.span(), "this has no derivative: " + std::string(why));
  std::string uses = std::string(call.op.name) + "(";
  for (std::size_t i = 0; i < call.in.size(); ++i) uses += (i ? ", " : "") + runtime::to_string(call.in[i]);
  throw grammar::Error("not_differentiable", b.span(),
                       "the derivative of " + std::string(call.op.name) + " is not defined: " + std::string(why),
                       {"in " + uses + ")"});
}

}  // namespace shard::transform
