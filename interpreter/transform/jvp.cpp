// Forward mode: one walk that makes each value and, beside it, its tangent.
#include "interpreter/transform/cotangent.h"
#include "interpreter/transform/derive_rule.h"
#include "interpreter/transform/differentiate.h"
#include "interpreter/transform/nodes.h"
#include "interpreter/transform/regions.h"

namespace shard::transform {
namespace {

using ir::Builder;
using ir::Graph;
using ir::Node;
using ir::OpCall;
using ir::Type;
using ir::Var;
using ir::Vars;

class Forward {
 public:
  Forward(const ir::OpTable& table, const Graph& f)
      : b_(builder_like(table, f)), f_(f), now_(f.types.size()), tangent_(f.types.size()) {}

  Graph run(const ir::OpTable& table, std::span<const int> wrt) {
    for (Var p : f_.params) now_[at(p)] = b_.param(f_.type(p));
    for (int w : wrt) {
      Var p = f_.params.at(static_cast<std::size_t>(w)), t = b_.param(f_.type(p));
      if (differentiable(f_.type(p))) tangent_[at(p)] = t;
    }
    for (const Node& n : f_.nodes) node(n);
    Vars results;
    for (Var r : f_.results) results.push_back(now_[at(r)]);
    for (Var r : f_.results) results.push_back(tangent_[at(r)].valid() ? tangent_[at(r)] : typed_zeros(b_, f_.type(r)));
    return without_dead_code(table, b_.finish(std::move(results)));
  }

 private:
  std::vector<Type> types(const Vars& vars) const {
    std::vector<Type> out;
    for (Var v : vars) out.push_back(f_.type(v));
    return out;
  }

  void node(const Node& n) {
    ir::SpanScope scope(b_, n.span);
    Vars in, t;
    bool any = false;
    for (Var v : n.inputs) {
      in.push_back(now_[at(v)]);
      t.push_back(tangent_[at(v)]);
      any |= t.back().valid();
    }
    auto* custom = std::get_if<ir::Custom>(&n.op->derivative);
    std::vector<Type> in_types = types(n.inputs);
    const OpCall call{*n.op, in_types, n.attrs, n.regions};
    Vars out, out_t;
    if (any && custom && custom->push) {
      ir::Pushed p = custom->push(b_, call, in, t);
      out = std::move(p.results);
      out_t = std::move(p.tangents);
    } else {
      out = b_.append(*n.op, in, n.attrs, n.regions, types(n.outputs));
      if (any) out_t = push(n, ir::NodeView{call, in, out, {}}, t);
    }
    for (std::size_t k = 0; k < out.size(); ++k) {
      now_[at(n.outputs[k])] = out[k];
      const Type& type = f_.type(n.outputs[k]);
      if (k < out_t.size() && out_t[k].valid() && differentiable(type))
        tangent_[at(n.outputs[k])] = fit(b_, out_t[k], type);
    }
  }

  Vars push(const Node& n, const ir::NodeView& view, Vars& t) {
    const ir::Derivative& d = n.op->derivative;
    if (auto* partials = std::get_if<ir::Partials>(&d)) {
      Vars p = partials->of(b_, view);
      Var sum;
      for (std::size_t k = 0; k < t.size(); ++k)
        if (t[k].valid() && p.at(k).valid()) sum = sum_of(b_, sum, ir::mul(b_, t[k], p[k]));
      return {sum};
    }
    if (auto* linear = std::get_if<ir::Transposes>(&d)) return push_linear(n, *linear, view, t);
    if (auto* custom = std::get_if<ir::Custom>(&d)) {
      if (custom->jvp) return custom->jvp(b_, view, t);
      if (custom->vjp) return push_by_vjp(b_, *custom, view, t);
      not_differentiable(b_, view.call, "it has no rule for forward mode");
    }
    if (auto* no = std::get_if<ir::NotDifferentiable>(&d)) {
      for (Var v : n.outputs)
        if (differentiable(f_.type(v))) not_differentiable(b_, view.call, no->why);
    }
    return {};
  }

  Vars push_linear(const Node& n, const ir::Transposes& linear, const ir::NodeView& view, const Vars& t) {
    std::vector<char> listed(t.size(), linear.operands.empty());
    for (int o : linear.operands) listed.at(static_cast<std::size_t>(o)) = 1;
    for (std::size_t k = 0; k < t.size(); ++k)
      if (t[k].valid() && !listed[k])
        not_differentiable(
            b_, view.call,
            "it is linear in its other operands only; operand " + std::to_string(k + 1) + " has no derivative");
    if (linear.jointly) {
      Vars args = view.in;
      for (std::size_t k = 0; k < t.size(); ++k)
        if (listed[k] && differentiable(f_.type(n.inputs[k])))
          args[k] = t[k].valid() ? t[k] : typed_zeros(b_, f_.type(n.inputs[k]));
      return b_.emit(*n.op, std::span<const Var>(args), n.attrs, n.regions);
    }
    Vars sum(n.outputs.size());
    for (std::size_t k = 0; k < t.size(); ++k) {
      if (!t[k].valid()) continue;
      Vars args = view.in;
      args[k] = t[k];
      Vars term = b_.emit(*n.op, std::span<const Var>(args), n.attrs, n.regions);
      for (std::size_t r = 0; r < sum.size(); ++r) sum[r] = sum_of(b_, sum[r], term[r]);
    }
    return sum;
  }

  Builder b_;
  const Graph& f_;
  Vars now_, tangent_;  // by Var of f; an invalid tangent is zero
};

}  // namespace

Graph jvp(const ir::OpTable& table, const Graph& f, std::span<const int> wrt) {
  return Forward(table, f).run(table, wrt);
}

}  // namespace shard::transform
