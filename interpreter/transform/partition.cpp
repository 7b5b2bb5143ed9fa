// Partitioning of one graph or region: node by node, in order. What a value is (its variable, its layout, an unreduced
// reduction) is kept beside what propagation wants it to be; a value is brought into another layout only where
// something needs it. Loops, branches and per-device code are in partition_regions.cpp.
#include "interpreter/transform/passes.h"

#include <algorithm>
#include <array>

#include "interpreter/ir/linear.h"
#include "interpreter/transform/partitioner.h"
#include "interpreter/transform/uneven.h"

namespace shard::transform {

using ir::FactorKind;
using ir::FactorReduce;
using ir::Node;
using ir::Type;
using ir::Var;
using ir::Vars;

namespace {

// ---- unreduced sums: whether an operation shall work on the terms of a sum instead of the sum. That it may is said by
// ir/linear.h, that it pays is said here.
struct CarryOperand {
  bool unreduced;  // a sum over `axes` is to be done, and nobody else uses the value
  const Sharding* layout;
  std::int64_t bytes;  // global
};

// True where the result's terms can be computed from the operands' terms: the operation is linear in all unreduced
// operands together and exact, every other operand is the same for all terms, and nothing is made larger. `wish`: the
// layout that the result shall have; where it is split over the axes of the sum the sum is better done (and scattered)
// before.
bool carries(const ir::OpCall& call, std::span<const CarryOperand> operands, AxisSet axes, const Sharding& wish,
             std::int64_t result_bytes) {
  const std::optional<ir::Linear> lin = ir::linear(call);
  if (!lin || !lin->exact || lin->in.size() != operands.size()) return false;
  std::size_t unreduced = 0;
  std::int64_t bytes = 0;
  for (std::size_t i = 0; i < operands.size(); ++i) {
    const CarryOperand& o = operands[i];
    if (o.unreduced) {
      if (!lin->in[i]) return false;
      ++unreduced;
      bytes = std::max(bytes, o.bytes);
    } else {
      if (lin->jointly && lin->in[i]) return false;
      if (!(o.layout->split_axes() & axes).empty() || !(o.layout->unreduced & axes).empty()) return false;
    }
  }
  if (unreduced == 0 || (!lin->jointly && unreduced > 1)) return false;
  if (result_bytes > bytes) return false;
  if (lin->scales && result_bytes == bytes && call.op.flops >= 2)
    return false;  // a product of terms costs as much as one of sums
  if (unreduced == 1 && result_bytes == bytes && !(wish.split_axes() & axes).empty()) return false;
  return true;
}

}  // namespace

Partitioner::Partitioner(ProgramContext& context, ir::Builder& builder, const ir::Graph& graph, const Layouts& layouts,
                         AxisSet blocked, Partitioner* loop)
    : context_(context),
      b_(builder),
      g_(graph),
      wanted_(layouts),
      blocked_(blocked),
      loop_(loop),
      values_(graph.types.size()),
      uses_(ir::count_uses(graph)),
      user_(graph.types.size(), nullptr) {
  for (const Node& n : graph.nodes)
    for (Var v : n.inputs) user_[at(v)] = &n;
}

Type Partitioner::local_type(const Type& global, const Sharding& layout, AxisSet varying) const {
  Type t = Type::of(global.dtype, runtime::block_shape(*context_.mesh, global.shape, layout), global.weak);
  t.mesh = context_.mesh;
  t.varying = varying;
  return t;
}

Var Partitioner::add_param(const Type& global, const Sharding& layout) {
  return b_.param(local_type(global, layout, layout.split_axes() | layout.unreduced | (global.varying & blocked_)));
}

void Partitioner::set(Var global, Var local, const Sharding& layout, ir::Origin span, int argument) {
  values_[at(global)] = PlacedValue{local, closed(layout), span, {}};
  values_[at(global)].argument = argument;
}

void Partitioner::set_steady(Var global, int outer_index) { values_[at(global)].outer = outer_index; }

const Sharding& Partitioner::wanted(Var v) const { return wanted_.of[at(v)]; }

ir::Why::Value Partitioner::seen(Var v, const Sharding& layout) const {
  Type t = g_.type(v);
  t.mesh = context_.mesh;
  t.sharding = closed(layout);
  return {std::move(t), values_[at(v)].span, values_[at(v)].argument};
}

// The node at hand, and what v meets there.
Asking Partitioner::asking(Var v) const {
  constexpr std::size_t kBeside = 2;
  if (!now_ || (is(*now_, ir::Structure::Shard) && !now_->span.known())) return {};  // a result
  Asking out{now_->op, now_->span, {}};
  for (Var w : now_->inputs)
    if (w != v && values_[at(w)].var.valid() && !g_.type(w).shape.empty() && out.beside.size() < kBeside)
      out.beside.push_back(seen(w, values_[at(w)].layout));
  return out;
}

std::shared_ptr<const ir::Why> Partitioner::why(Var v, const Sharding& want, Asking asked) const {
  const PlacedValue& x = values_[at(v)];
  ir::Why out{seen(v, x.layout), seen(v, want).type, asked.by, asked.where, std::move(asked.beside), {}};
  if (x.terms && !(x.layout.unreduced - want.unreduced).empty()) out.terms = *x.terms;
  return std::make_shared<const ir::Why>(std::move(out));
}

Var Partitioner::need(Var v, const Sharding& layout, const Asking* asked) {
  PlacedValue& x = values_[at(v)];
  Sharding want = closed(layout);
  if (want.unreduced.empty()) want.unreduced_kind = runtime::UnreducedKind::Sum;
  if (same_split(x.layout, want) && x.layout.unreduced == want.unreduced) return x.var;
  for (const auto& [known, barrier, var] : x.copies)
    if (barrier == b_.barrier() && same_split(known, want) && known.unreduced == want.unreduced) return var;
  Var made = made_anew(v, want);
  if (!made.valid() && x.outer >= 0 && loop_) {
    made = add_param(g_.type(v), want);
    extra_.push_back({x.outer, want, made, asking(v)});
  } else if (!made.valid()) {
    const ir::WhyScope because(b_, why(v, want, asked ? *asked : asking(v)));
    ir::SpanScope scope(
        b_, x.layout.unreduced.empty() ? ir::Origin() : x.span);  // a sum is caused by the node that left it
    made = reshard_blocks(b_, x.var, g_.type(v), *context_.mesh, x.layout, want);
    if (x.whole.valid()) {
      Sharding whole = x.layout;
      whole.unreduced = {};
      made = ir::add(b_, reshard_blocks(b_, x.whole, g_.type(v), *context_.mesh, whole, want), made);
    }
  }
  x.copies.push_back({want, b_.barrier(), made});
  return made;
}

// What is still to be added up beyond what the type itself leaves unreduced.
AxisSet Partitioner::unfinished(Var v) const {
  const PlacedValue& x = values_[at(v)];
  return x.layout.unreduced - wanted_.of[at(v)].unreduced;
}

void Partitioner::finish(Var v) {
  if (unfinished(v).empty()) return;
  finish_as(v, wanted_.of[at(v)]);
}

void Partitioner::finish_as(Var v, const Sharding& layout) {
  Var made = need(v, layout);
  PlacedValue& x = values_[at(v)];
  x = PlacedValue{made, closed(layout), x.span, {}};
}

void Partitioner::run() {
  for (std::size_t i = 0; i < g_.nodes.size(); ++i) {
    const Node& n = g_.nodes[i];
    now_ = &n;
    ir::SpanScope scope(b_, n.span);
    b_.set_barrier(n.attrs.has("barrier") ? n.attrs.integer("barrier") : 0);
    if (ir::structure_of(*n.op))
      structure(n, i);
    else
      operation(n);
  }
  now_ = nullptr;
  b_.set_barrier(0);
}

std::vector<Type> Partitioner::result_types(const Node& n, std::span<const Var> inputs,
                                            std::span<const Sharding> layouts) const {
  AxisSet varying;
  for (Var v : inputs) varying |= b_.type(v).varying - blocked_;
  std::vector<Type> out;
  for (std::size_t r = 0; r < n.outputs.size(); ++r) {
    const Type& t = g_.type(n.outputs[r]);
    out.push_back(local_type(t, layouts[r], varying | (t.varying & blocked_)));
  }
  return out;
}

// How the node is split. `kept`: axes that operands and results are unreduced over.
FactorAxes Partitioner::split_of(const Node& n, const ir::FactorRule& rule, AxisSet kept) const {
  const bool masks = static_cast<bool>(n.op->partition);
  std::vector<SplitValue> operands, results;
  const auto value = [&](const ir::ValueFactors& dims, const Sharding& layout, Var v) {
    return SplitValue{&dims, &layout, &g_.type(v), bytes_of(g_.type(v))};
  };
  for (std::size_t i = 0; i < n.inputs.size(); ++i)
    operands.push_back(value(rule.operands[i], values_[at(n.inputs[i])].layout, n.inputs[i]));
  for (std::size_t r = 0; r < n.outputs.size(); ++r)
    results.push_back(value(rule.results[r], wanted(n.outputs[r]), n.outputs[r]));
  return cheaper(n, rule, choose(rule, operands, results, kept | blocked_, masks, context_.uneven, *context_.mesh));
}

// An operation with a factor rule; one without is done whole on every device.
void Partitioner::operation(const Node& n) {
  if (waits(n)) return;
  const RuleRef rule = rule_of(g_, n);
  AxisSet carried = settle_unreduced(n);
  if (!rule) return whole_operation(n);

  AxisSet kept, typed_unreduced;  // unreduced in the types of operands and results alike
  for (Var v : n.outputs) typed_unreduced |= wanted(v).unreduced;
  for (Var v : n.inputs) kept |= values_[at(v)].layout.unreduced & typed_unreduced;
  const FactorAxes axes = split_of(n, *rule, carried | kept);

  Vars inputs;
  for (std::size_t i = 0; i < n.inputs.size(); ++i) {
    Sharding want = layout_of(*rule, rule->operands[i], axes, *context_.mesh);
    const Sharding& now = values_[at(n.inputs[i])].layout;
    want.unreduced = now.unreduced & (carried | kept);
    want.unreduced_kind = now.unreduced_kind;
    inputs.push_back(filled_where_reduced(*rule, i, axes, need(n.inputs[i], want), g_.type(n.inputs[i]).shape));
  }
  std::vector<Sharding> layouts;
  for (std::size_t r = 0; r < n.outputs.size(); ++r)
    layouts.push_back(layout_of(*rule, rule->results[r], axes, *context_.mesh));
  ir::Origin cause = n.span;  // of a sum that is carried on: the node that left it
  decltype(PlacedValue::terms) terms;
  for (Var v : n.inputs)
    if (!carried.empty() && !unfinished(v).empty()) {
      cause = values_[at(v)].span;
      terms = values_[at(v)].terms;
      break;
    }
  const auto met = [&] {
    std::vector<ir::Why::Value> all;
    for (std::size_t i = 0; i < n.inputs.size(); ++i)
      all.push_back(seen(n.inputs[i], layout_of(*rule, rule->operands[i], axes, *context_.mesh)));
    return std::make_shared<const std::vector<ir::Why::Value>>(std::move(all));
  };
  Vars outputs = emit_local(n, *rule, axes, inputs, layouts);
  for (std::size_t r = 0; r < n.outputs.size(); ++r) {
    leave_unreduced(*rule, r, axes, layouts[r], outputs[r], met);
    if (!terms && !layouts[r].unreduced.empty()) terms = met();
    layouts[r].unreduced |= carried | kept;
    if (!kept.empty()) layouts[r].unreduced_kind = wanted(n.outputs[r]).unreduced_kind;
    set(n.outputs[r], outputs[r], layouts[r], cause);
    values_[at(n.outputs[r])].terms = terms;
    if (repeats(n) && layouts[r].unreduced.empty()) values_[at(n.outputs[r])].repeats = &n;
    place(n.outputs[r]);
  }
}

// Operand i with what changes nothing in the padding of dimensions that are reduced.
Var Partitioner::filled_where_reduced(const ir::FactorRule& rule, std::size_t i, const FactorAxes& axes, Var local,
                                      const runtime::Shape& whole) {
  for (std::size_t d = 0; d < whole.size(); ++d) {
    if (rule.operands[i][d].size() != 1) continue;
    const int f = rule.operands[i][d][0];
    const Axes& of = axes[static_cast<std::size_t>(f)];
    if (rule.factor(f).kind == FactorKind::Reduced && !of.empty())
      local = filled(b_, local, {d, of, whole[d]}, rule.factor(f).reduce);
  }
  return local;
}

// What explicit code asked to be unreduced though nothing is left to add up (`out:` of an operation that sums nothing,
// or one that the layouts did not split): the value is placed, so that it counts once. Maxima and minima may count many
// times.
void Partitioner::place(Var v) {
  Sharding with = values_[at(v)].layout;
  const AxisSet owed = wanted(v).unreduced - with.unreduced;
  if (owed.empty() || wanted(v).unreduced_kind != runtime::UnreducedKind::Sum) return;
  with.unreduced |= owed;
  for (auto& d : with.dims)
    while (!d.axes.empty() && owed.has(d.axes.back())) d.axes.pop_back();
  if ((with.split_axes() & owed).empty()) finish_as(v, with);
}

Vars Partitioner::emit_local(const Node& n, const ir::FactorRule& rule, const FactorAxes& axes, const Vars& inputs,
                             std::span<const Sharding> layouts) {
  ir::Attrs attrs = n.attrs;
  attrs.erase("out");  // the layout that explicit code asked for has become the layout of the result
  bool split = false;
  for (const Axes& a : axes) split |= !a.empty();
  if (split && attrs.has("shape") && !layouts.empty())
    attrs.set("shape", runtime::block_shape(*context_.mesh, g_.type(n.outputs[0]).shape, layouts[0]));
  if (split && n.op->partition) {
    std::vector<Type> in = types_of(g_, n.inputs);
    ir::OpCall call{*n.op, in, n.attrs, n.regions};
    const bool moves = !n.op->comm && !n.inputs.empty();
    const ir::WhyScope because(
        b_, moves ? why(n.inputs[0], layout_of(rule, rule.operands[0], axes, *context_.mesh), asking(n.inputs[0]))
                  : nullptr);
    return n.op->partition(b_, ir::LocalCall{call, rule, *context_.mesh, axes, std::move(attrs)}, inputs);
  }
  RuleRef local = local_rule(*n.op, types_of(b_.graph(), inputs), attrs);
  return b_.append(*n.op, inputs, std::move(attrs), n.regions, result_types(n, inputs, layouts), std::move(local));
}

// Factors that are split and not in the result leave a reduction over their axes. Truth values are reduced at once, as
// integers, and products.
void Partitioner::leave_unreduced(const ir::FactorRule& rule, std::size_t result, const FactorAxes& axes,
                                  Sharding& layout, Var& local, const Terms& terms) {
  AxisSet truth, product;
  bool any_of = false;
  for (std::size_t f = 0; f < rule.factors.size(); ++f) {
    const ir::Factor& factor = rule.factors[f];
    if (axes[f].empty() || factor.kind == FactorKind::Pass) continue;
    if (ir::dimension_with(rule.results[result], static_cast<int>(f))) continue;
    const FactorReduce how = factor.reduce;
    const bool logical = how == FactorReduce::And || how == FactorReduce::Or;
    for (AxisId a : axes[f])
      if (context_.mesh->size_of(a) > 1)
        (logical ? truth : how == FactorReduce::Prod ? product : layout.unreduced).add(a);
    any_of |= how == FactorReduce::Or;
    if (how == FactorReduce::Max) layout.unreduced_kind = runtime::UnreducedKind::Max;
    if (how == FactorReduce::Min) layout.unreduced_kind = runtime::UnreducedKind::Min;
  }
  if (truth.empty() && product.empty()) return;
  Type number = Type::of(truth.empty() ? b_.type(local).dtype : runtime::DType::I32, {});
  number.shape = b_.type(local).shape;
  Sharding from = Sharding::replicated(number.shape.size()), to = from;
  from.unreduced = truth | product;
  from.unreduced_kind = any_of ? runtime::UnreducedKind::Max : runtime::UnreducedKind::Min;
  Type was = number, is = number;
  was.mesh = is.mesh = context_.mesh;
  was.sharding = from;
  is.sharding = to;
  ir::Why note{{was, now_->span}, is, now_->op, now_->span, {}, {}};
  if (truth.empty()) note.terms = *terms(), note.product = true;
  const ir::WhyScope because(b_, std::make_shared<const ir::Why>(std::move(note)));
  if (truth.empty()) {
    const auto list = product.list();
    local = b_.emit1(
        *b_.core().pprod, {local},
        {{"axes", ir::Ints(list.begin(), list.end())}, {"mesh", ir::Layout{context_.mesh, {}}}, {"written", false}});
  } else {
    const runtime::DType dtype = b_.type(local).dtype;
    Var x = ir::convert(b_, local, runtime::DType::I32);
    local = ir::convert(b_, reshard(b_, x, number, *context_.mesh, from, to), dtype);
  }
}

void Partitioner::whole_operation(const Node& n) {
  Vars inputs;
  for (Var v : n.inputs) {
    finish(v);
    inputs.push_back(need(v, Sharding::replicated(g_.type(v).shape.size())));
  }
  std::vector<Sharding> layouts;
  for (Var v : n.outputs) layouts.push_back(Sharding::replicated(g_.type(v).shape.size()));
  Vars outputs = b_.append(*n.op, inputs, n.attrs, n.regions, result_types(n, inputs, layouts));
  for (std::size_t r = 0; r < outputs.size(); ++r) set(n.outputs[r], outputs[r], layouts[r], n.span);
}

// Sums that the node can be done before stay unreduced (the axes are returned), all others are finished now.
AxisSet Partitioner::settle_unreduced(const Node& n) {
  AxisSet axes;
  bool any = false, equal = true;
  std::vector<CarryOperand> operands;
  for (Var v : n.inputs) {
    AxisSet open = unfinished(v);
    const PlacedValue& x = values_[at(v)];
    bool unreduced = !open.empty();
    if (unreduced) {
      if (any) equal &= open == axes;
      equal &= uses_[at(v)] == 1 && x.layout.unreduced_kind == runtime::UnreducedKind::Sum && !x.whole.valid();
      axes = open;
      any = true;
    }
    operands.push_back({unreduced, &x.layout, bytes_of(g_.type(v))});
  }
  if (!any) return {};
  const std::vector<Type> in = types_of(g_, n.inputs);
  if (equal && n.outputs.size() == 1 && n.regions.empty() &&
      carries({*n.op, in, n.attrs, {}, &g_, n.inputs}, operands, axes, wanted(n.outputs[0]),
              bytes_of(g_.type(n.outputs[0]))))
    return axes;
  for (std::size_t i = 0; i < n.inputs.size(); ++i)
    if (!unfinished(n.inputs[i]).empty()) finish_as(n.inputs[i], finished(n, i));
  return {};
}

// How operand i of n is finished: as propagation says, or where nobody else uses it scattered as the result wants it.
Sharding Partitioner::finished(const Node& n, std::size_t i) const {
  const Var v = n.inputs[i];
  const Sharding& usual = wanted_.of[at(v)];
  const RuleRef rule = uses_[at(v)] == 1 ? rule_of(g_, n) : nullptr;
  if (!rule || n.outputs.size() != 1) return usual;
  const FactorAxes axes = project(*rule, rule->results[0], wanted(n.outputs[0]), *context_.mesh);
  Sharding out = layout_of(*rule, rule->operands[i], axes, *context_.mesh);
  if (!out.split_axes().contains(unfinished(v) | values_[at(v)].layout.split_axes())) return usual;
  out.unreduced = usual.unreduced;
  out.unreduced_kind = usual.unreduced_kind;
  return out;
}

namespace {

// What leaves automatic code by no border (a gradient of what it took from around it) may be split over explicit axes
// that its type does not show. Results are as their types say.
Sharding as_typed(Sharding layout, const Type& type, AxisSet shown) {
  for (std::size_t d = 0; d < layout.dims.size(); ++d)
    std::erase_if(layout.dims[d].axes, [&](AxisId a) {
      const Axes& typed = type.sharding.dims[d].axes;
      return shown.has(a) && std::find(typed.begin(), typed.end(), a) == typed.end();
    });
  return layout;
}

}  // namespace

Partitioned partition(const ir::OpTable& table, const ir::Graph& graph, const runtime::MeshRef& mesh,
                      const Layouts& layouts, bool uneven) {
  ProgramContext context{table, mesh, uneven};
  ir::Builder b(table);
  b.set_local(mesh);
  Partitioner top(context, b, graph, layouts, {}, nullptr);
  for (int argument = 0; Var p : graph.params)
    top.set(p, top.add_param(graph.type(p), layouts.of[at(p)]), layouts.of[at(p)], {}, argument++);
  top.run();
  Partitioned out;
  Vars results;
  for (Var r : graph.results) {
    Sharding layout = as_typed(evened(*mesh, graph.type(r).shape, layouts.of[at(r)]), graph.type(r),
                               mesh->of_kind(runtime::AxisKind::Explicit));
    const ir::SpanScope made(b, top.seen(r, layout).made);  // what a result is moved by has the line that made it
    results.push_back(top.need(r, layout));
    layout.reduced = graph.type(r).sharding.reduced;
    out.results.push_back(std::move(layout));
  }
  out.local = b.finish(std::move(results));
  return out;
}

}  // namespace shard::transform
