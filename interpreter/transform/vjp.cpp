// Reverse mode: one walk forward that makes the values, one backward that makes cotangents, both in the same graph.
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

class Reverse {
 public:
  Reverse(const ir::OpTable& table, const Graph& f, std::span<const int> wrt, const std::vector<bool>& with_ct)
      : b_(builder_like(table, f)), f_(f), now_(f.types.size()), ct_(f.types.size()), pulls_(f.nodes.size()) {
    b_.set_finishes_sums();
    Vars from, to;
    for (int w : wrt) from.push_back(f.params.at(static_cast<std::size_t>(w)));
    for (std::size_t i = 0; i < f.results.size(); ++i)
      if (with_ct.at(i) && differentiable(f.type(f.results[i]))) to.push_back(f.results[i]);
    active_ = active(f, from);
    useful_ = useful(f, to);
  }

  Graph run(const ir::OpTable& table, std::span<const int> wrt, const std::vector<bool>& with_ct, bool values) {
    for (Var p : f_.params) now_[at(p)] = b_.param(f_.type(p));
    for (std::size_t i = 0; i < f_.results.size(); ++i) {
      if (!with_ct[i]) continue;
      Var r = f_.results[i], seed = b_.param(cotangent_type(f_.type(r)));
      if (on_path(r)) seeds_.emplace_back(r, seed);
    }
    for (std::size_t i = 0; i < f_.nodes.size(); ++i)
      if (values || !ir::is_effect(*f_.nodes[i].op)) forward(i);
    for (auto [r, seed] : seeds_) give(r, seed);
    for (std::size_t i = f_.nodes.size(); i-- > 0;) backward(i);
    Vars results;
    if (values)
      for (Var r : f_.results) results.push_back(now_[at(r)]);
    for (int w : wrt) {
      Var p = f_.params[static_cast<std::size_t>(w)];
      const Type want = cotangent_type(f_.type(p));
      results.push_back(ct_[at(p)].valid() ? ct_[at(p)] : typed_zeros(b_, want));
    }
    return without_dead_code(table, b_.finish(std::move(results)));
  }

 private:
  bool on_path(Var v) const { return active_[at(v)] && useful_[at(v)]; }

  std::vector<char> wanted(const Node& n) const {
    std::vector<char> out;
    for (Var v : n.inputs) out.push_back(on_path(v));
    return out;
  }

  std::vector<Type> types(const Vars& vars) const {
    std::vector<Type> out;
    for (Var v : vars) out.push_back(f_.type(v));
    return out;
  }

  void forward(std::size_t i) {
    const Node& n = f_.nodes[i];
    ir::SpanScope scope(b_, n.span);
    Vars in;
    for (Var v : n.inputs) in.push_back(now_[at(v)]);
    std::vector<char> given;
    bool any = false;
    for (Var v : n.outputs) given.push_back(on_path(v)), any |= given.back() != 0;
    auto* custom = std::get_if<ir::Custom>(&n.op->derivative);
    std::vector<char> want = wanted(n);
    Vars out;
    if (any && custom && custom->pull) {
      std::vector<Type> in_types = types(n.inputs);
      pulls_[i] = custom->pull(b_, OpCall{*n.op, in_types, n.attrs, n.regions}, in, want, given);
      out = pulls_[i].results;
    } else {
      out = b_.append(*n.op, in, n.attrs, n.regions, types(n.outputs));
    }
    for (std::size_t k = 0; k < out.size(); ++k) now_[at(n.outputs[k])] = out[k];
  }

  // Adds to the cotangent of a value of f, brought to the cotangent's type.
  void give(Var v, Var cotangent) {
    if (!cotangent.valid() || !on_path(v)) return;
    cotangent = fit(b_, cotangent, cotangent_type(f_.type(v)));
    ct_[at(v)] = sum_of(b_, ct_[at(v)], cotangent);
  }

  void backward(std::size_t i) {
    const Node& n = f_.nodes[i];
    Vars ct;
    bool any = false;
    for (Var v : n.outputs) ct.push_back(ct_[at(v)]), any |= ct.back().valid();
    std::vector<char> want = wanted(n);
    bool asked = false;
    for (char w : want) asked |= w != 0;
    if (!any || !asked) return;
    ir::SpanScope scope(b_, n.span);
    Vars in, out;
    for (Var v : n.inputs) in.push_back(now_[at(v)]);
    for (Var v : n.outputs) out.push_back(now_[at(v)]);
    std::vector<Type> in_types = types(n.inputs);
    const ir::NodeView view{OpCall{*n.op, in_types, n.attrs, n.regions}, in, out, want};
    Vars found(n.inputs.size());
    if (pulls_[i].of)
      found = pulls_[i].of(b_, ct);
    else
      found = pull(n, view, ct);
    for (std::size_t k = 0; k < found.size(); ++k)
      if (want[k]) give(n.inputs[k], found[k]);
  }

  Vars pull(const Node& n, const ir::NodeView& view, Vars& ct) {
    Vars found(n.inputs.size());
    const ir::Derivative& d = n.op->derivative;
    if (auto* partials = std::get_if<ir::Partials>(&d)) {
      Vars p = partials->of(b_, view);
      for (std::size_t k = 0; k < found.size(); ++k)
        if (view.wanted[k] && p.at(k).valid()) found[k] = ir::mul(b_, ct[0], p[k]);
    } else if (auto* linear = std::get_if<ir::Transposes>(&d)) {
      for (std::size_t r = 0; r < ct.size(); ++r)
        if (!ct[r].valid()) ct[r] = typed_zeros(b_, cotangent_type(f_.type(n.outputs[r])));
      for (std::size_t k = 0; k < found.size(); ++k) {
        if (!view.wanted[k]) continue;
        bool listed = linear->operands.empty();
        for (int o : linear->operands) listed |= o == static_cast<int>(k);
        if (!listed)
          not_differentiable(
              b_, view.call,
              "it is linear in its other operands only; operand " + std::to_string(k + 1) + " has no derivative");
        found[k] = linear->of(b_, view, static_cast<int>(k), ct, cotangent_type(f_.type(n.inputs[k])));
      }
    } else if (auto* custom = std::get_if<ir::Custom>(&d)) {
      if (custom->vjp)
        found = custom->vjp(b_, view, ct);
      else if (custom->jvp)
        found = pull_by_jvp(b_, *custom, view, ct);
      else
        not_differentiable(b_, view.call, "it has no rule for reverse mode");
    } else if (auto* no = std::get_if<ir::NotDifferentiable>(&d)) {
      not_differentiable(b_, view.call, no->why);
    }
    return found;
  }

  Builder b_;
  const Graph& f_;
  Vars now_, ct_;                           // by Var of f: its value, its cotangent so far
  std::vector<ir::Pullback> pulls_;         // by node
  std::vector<std::pair<Var, Var>> seeds_;  // a result of f and the parameter that holds its cotangent
  Marks active_, useful_;
};

}  // namespace

Graph vjp(const ir::OpTable& table, const Graph& f, std::span<const int> wrt, const std::vector<bool>& with_ct,
          bool values) {
  return Reverse(table, f, wrt, with_ct).run(table, wrt, with_ct, values);
}

}  // namespace shard::transform
