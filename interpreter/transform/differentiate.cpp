// Forward and reverse mode. A custom rule that a row gives in one direction only is turned round: a derivative is
// linear, and reverse mode transposes it.
#include "interpreter/transform/differentiate.h"

#include <algorithm>
#include <utility>

#include "grammar/diagnostic.h"
#include "interpreter/transform/regions.h"

namespace shard::transform {
namespace {

using ir::Builder;
using ir::Graph;
using ir::Node;
using ir::NodeView;
using ir::OpCall;
using ir::Type;
using ir::Var;
using ir::Vars;

ir::Ints ids(runtime::AxisSet axes) {
  ir::Ints out;
  for (auto a : axes.list()) out.push_back(a);
  return out;
}

// The sum over the dimensions that broadcasting had made, at once in the layout that is wanted where that leaves a sum
// unreduced.
Var sum_grown(Builder& b, Var x, const Type& want) {
  const Type have = b.type(x);
  const std::size_t rank = have.shape.size(), extra = rank - want.shape.size();
  ir::Ints axes;
  runtime::Sharding left = runtime::Sharding::replicated(0);
  for (std::size_t d = 0; d < rank; ++d) {
    if (d < extra || (want.shape[d - extra] == 1 && have.shape[d] != 1))
      axes.push_back(static_cast<std::int64_t>(d) - static_cast<std::int64_t>(rank));
    else
      left.dims.push_back(want.sharding.dims[d - extra]);
  }
  if (axes.empty()) return x;
  ir::Attrs attrs{{"axes", std::move(axes)}};
  auto unreduced = want.sharding.unreduced - have.sharding.unreduced;
  if (!unreduced.empty() && want.mesh && have.sharding.split_axes().contains(unreduced)) {
    left.unreduced = want.sharding.unreduced;
    attrs.set("out", ir::Layout{want.mesh, std::move(left)});
  }
  return b.emit1(*b.core().reduce_sum, {x}, std::move(attrs));
}

// "the derivative of NAME is not defined: WHY", at the builder's span.
[[noreturn]] void not_differentiable(const Builder& b, const ir::OpCall& call, std::string_view why) {
  if (call.op.internal)
    throw grammar::Error("not_differentiable", b.span(), "this has no derivative: " + std::string(why));
  throw grammar::Error("not_differentiable", b.span(),
                       "the derivative of " + std::string(call.op.name) + " is not defined: " + std::string(why),
                       {"in " + ir::use_of(call.op, call.in)});
}

bool listed(const ir::Transposes& linear, std::size_t operand) {
  const auto& all = linear.operands;
  return all.empty() || std::find(all.begin(), all.end(), static_cast<int>(operand)) != all.end();
}
void check_listed(const Builder& b, const ir::Transposes& linear, const OpCall& call, std::size_t operand) {
  if (!listed(linear, operand))
    not_differentiable(
        b, call,
        "it is linear in its other operands only; operand " + std::to_string(operand + 1) + " has no derivative");
}

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
  Graph linear = g.finish(std::move(results));
  Graph turned = vjp(b.table(), linear, wrt, std::vector<bool>(linear.results.size(), true), false);
  for (std::size_t k = 0, w = 0; k < outer.size(); ++k)  // a linear map does not look at where it is taken
    if (!outer[k].valid()) outer[k] = typed_zeros(b, types[w++]);
  for (std::size_t k = 0; k < given.size(); ++k) outer.push_back(fit(b, given[k], want[k]));
  Vars found = b.inline_graph(turned, outer);
  for (std::size_t k = 0; k < place.size(); ++k) back[static_cast<std::size_t>(place[k])] = found[k];
  return back;
}

// Cotangents of the operands from those of the results, by the row's jvp; and tangents of the results from those of the
// operands, by its vjp. Invalid Vars stand for zeros, in and out.
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

// One walk that makes each value and, beside it, its tangent.
class Forward {
 public:
  Forward(const ir::OpTable& table, const Graph& f)
      : b_(builder_like(table, f)), f_(f), now_(b_, f), tangent_(f.types.size()) {}

  Graph run(const ir::OpTable& table, std::span<const int> wrt) {
    now_.params();
    for (int w : wrt) {
      Var p = f_.params.at(static_cast<std::size_t>(w)), t = b_.param(f_.type(p));
      if (differentiable(f_.type(p))) tangent_[at(p)] = t;
    }
    for (const Node& n : f_.nodes) node(n);
    Vars results = now_(f_.results);
    for (Var r : f_.results) results.push_back(tangent_[at(r)].valid() ? tangent_[at(r)] : typed_zeros(b_, f_.type(r)));
    return without_dead_code(table, b_.finish(std::move(results)));
  }

 private:
  void node(const Node& n) {
    ir::SpanScope scope(b_, n.span);
    const Vars in = now_(n.inputs);
    Vars t, out_t;
    bool any = false;
    for (Var v : n.inputs) t.push_back(tangent_[at(v)]), any |= t.back().valid();
    auto* custom = std::get_if<ir::Custom>(&n.op->derivative);
    const std::vector<Type> in_types = types_of(f_, n.inputs);
    const OpCall call{*n.op, in_types, n.attrs, n.regions};
    if (any && custom && custom->push) {
      ir::Pushed p = custom->push(b_, call, in, t);
      now_.become(n.outputs, p.results);
      out_t = std::move(p.tangents);
    } else {
      now_.node(n);
      const Vars out = now_(n.outputs);
      if (any) out_t = push(n, ir::NodeView{call, in, out, {}}, t);
    }
    for (std::size_t k = 0; k < n.outputs.size(); ++k) {
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
    for (std::size_t k = 0; k < t.size(); ++k)
      if (t[k].valid()) check_listed(b_, linear, view.call, k);
    if (linear.jointly) {
      Vars args = view.in;
      for (std::size_t k = 0; k < t.size(); ++k)
        if (listed(linear, k) && differentiable(f_.type(n.inputs[k])))
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
  ir::GraphCopy now_;
  Vars tangent_;  // by Var of f; an invalid one is zero
};

// One walk forward that makes the values, one backward that makes cotangents, both in the same graph.
class Reverse {
 public:
  Reverse(const ir::OpTable& table, const Graph& f, std::span<const int> wrt, const std::vector<bool>& with_ct)
      : b_(builder_like(table, f)), f_(f), now_(b_, f), ct_(f.types.size()), pulls_(f.nodes.size()) {
    b_.set_finishes_sums();
    Vars from, to;
    for (int w : wrt) from.push_back(f.params.at(static_cast<std::size_t>(w)));
    for (std::size_t i = 0; i < f.results.size(); ++i)
      if (with_ct.at(i) && differentiable(f.type(f.results[i]))) to.push_back(f.results[i]);
    active_ = active(f, from);
    useful_ = useful(f, to);
  }

  Graph run(const ir::OpTable& table, std::span<const int> wrt, const std::vector<bool>& with_ct, bool values) {
    now_.params();
    for (std::size_t i = 0; i < f_.results.size(); ++i) {
      if (!with_ct[i]) continue;
      Var r = f_.results[i], seed = b_.param(cotangent_type(f_.type(r)));
      if (on_path(r)) seeds_.emplace_back(r, seed);
    }
    for (std::size_t i = 0; i < f_.nodes.size(); ++i)
      if (values || !ir::is_effect(*f_.nodes[i].op)) forward(i);
    for (auto [r, seed] : seeds_) give(r, seed);
    for (std::size_t i = f_.nodes.size(); i-- > 0;) backward(i);
    Vars results = values ? now_(f_.results) : Vars{};
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

  void forward(std::size_t i) {
    const Node& n = f_.nodes[i];
    ir::SpanScope scope(b_, n.span);
    std::vector<char> given;
    bool any = false;
    for (Var v : n.outputs) given.push_back(on_path(v)), any |= given.back() != 0;
    auto* custom = std::get_if<ir::Custom>(&n.op->derivative);
    std::vector<char> want = wanted(n);
    if (!any || !custom || !custom->pull) return now_.node(n);
    const Vars in = now_(n.inputs);
    const std::vector<Type> in_types = types_of(f_, n.inputs);
    pulls_[i] = custom->pull(b_, OpCall{*n.op, in_types, n.attrs, n.regions}, in, want, given);
    now_.become(n.outputs, pulls_[i].results);
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
    ir::SpanScope scope(b_, n.span.turned());
    const Vars in = now_(n.inputs), out = now_(n.outputs);
    const std::vector<Type> in_types = types_of(f_, n.inputs);
    const ir::NodeView view{OpCall{*n.op, in_types, n.attrs, n.regions}, in, out, want};
    const Vars found = pulls_[i].of ? pulls_[i].of(b_, ct) : pull(n, view, ct);
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
        check_listed(b_, *linear, view.call, k);
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
  ir::GraphCopy now_;
  Vars ct_;                                 // by Var of f: its cotangent so far
  std::vector<ir::Pullback> pulls_;         // by node
  std::vector<std::pair<Var, Var>> seeds_;  // a result of f and the parameter that holds its cotangent
  Marks active_, useful_;
};

}  // namespace

Graph jvp(const ir::OpTable& table, const Graph& f, std::span<const int> wrt) {
  return Forward(table, f).run(table, wrt);
}

Graph vjp(const ir::OpTable& table, const Graph& f, std::span<const int> wrt, const std::vector<bool>& with_ct,
          bool values) {
  return Reverse(table, f, wrt, with_ct).run(table, wrt, with_ct, values);
}

Type cotangent_type(const Type& primal) {
  Type t = primal;
  std::swap(t.sharding.reduced, t.sharding.unreduced);
  t.sharding.unreduced_kind = runtime::UnreducedKind::Sum;
  return t;
}

Var fit(Builder& b, Var x, const Type& want) {
  if (b.type(x) == want) return x;
  const runtime::Shape have = b.type(x).shape;
  if (have != want.shape) {
    bool smaller = have.size() < want.shape.size();
    for (std::size_t d = 0; !smaller && d < want.shape.size(); ++d)
      smaller = have[have.size() - want.shape.size() + d] < want.shape[d];
    if (smaller) x = ir::broadcast_to(b, x, want.shape);
  }
  x = ir::convert(b, ir::reshape(b, sum_grown(b, x, want), want.shape), want.dtype, want.weak);
  Type now = b.type(x);
  if (!(now.sharding == want.sharding)) {
    ir::Layout layout{want.mesh ? want.mesh : now.mesh, want.sharding};
    if (layout.mesh && !layout.mesh->of_kind(runtime::AxisKind::Auto).empty())
      for (auto& d : layout.sharding.dims) d.open = true;  // automatic axes of the mesh are left to the partitioner
    x = b.emit1(*b.core().shard, {x}, {{"layout", std::move(layout)}});
    now = b.type(x);
  }
  if (auto extra = now.varying - want.varying; !extra.empty()) x = b.emit1(*b.core().psum, {x}, {{"axes", ids(extra)}});
  if (auto less = want.varying - now.varying; !less.empty()) {
    ir::Attrs attrs{{"axes", ids(less)}, {"to", std::string("varying")}};
    if (!now.mesh) attrs.set("mesh", ir::Layout{want.mesh ? want.mesh : b.graph().mesh, {}});
    x = b.emit1(*b.core().pcast, {x}, std::move(attrs));
  }
  return x;
}

Var typed_zeros(Builder& b, const Type& want) { return fit(b, ir::zeros(b, want), want); }

Var sum_of(Builder& b, Var x, Var y) {
  if (!x.valid()) return y;
  if (!y.valid()) return x;
  return ir::add(b, x, y);
}

}  // namespace shard::transform
