// Sums over devices that wait: of s + t, where t is still to be added up and s is whole, both are kept side by side, so
// that the next term joins t and all are summed once. A loop that does so with what it carries carries the terms, and
// they are summed behind it: gradients of micro batches once a step, not once a batch.
#include <algorithm>
#include <array>

#include "interpreter/ir/linear.h"
#include "interpreter/transform/partitioner.h"
#include "interpreter/transform/uneven.h"

namespace shard::transform {

using ir::Node;
using ir::Var;

namespace {

Sharding split_only(Sharding layout) {
  layout.unreduced = {};
  layout.unreduced_kind = runtime::UnreducedKind::Sum;
  return layout;
}

}  // namespace

// Both parts of v, split as `layout`.
Partitioner::Parts Partitioner::parts(Var v, const Sharding& layout) {
  if (unfinished(v).empty()) return {{}, need(v, split_only(layout))};
  const PlacedValue& x = values_[at(v)];
  const ir::WhyScope because(b_, same_split(x.layout, layout) ? nullptr : why(v, layout, asking(v)));
  Sharding terms = split_only(layout);
  terms.unreduced = x.layout.unreduced;
  const auto brought = [&](Var part, const Sharding& from, const Sharding& to) {
    return part.valid() ? reshard_blocks(b_, part, g_.type(v), *context_.mesh, from, to) : part;
  };
  return {brought(x.var, x.layout, terms), brought(x.whole, split_only(x.layout), split_only(layout))};
}

// Whether a sum may wait in v: another one may join it, or the next turn of the loop adds to it.
bool Partitioner::goes_on(Var v) const {
  if (uses_[at(v)] != 1) return false;
  const Node* user = user_[at(v)];
  return user ? user->op == b_.core().add || user->op == b_.core().sub : loop_ != nullptr;
}

// A sum or difference, one of whose operands is whole and one still to be added up. False: it is none, or nothing is
// gained, and nothing was done.
bool Partitioner::waits(const Node& n) {
  const ir::CoreOps& core = b_.core();
  if (n.op != core.add && n.op != core.sub) return false;
  const ir::Type& type = g_.type(n.outputs[0]);
  AxisSet over, split = wanted(n.outputs[0]).split_axes();
  const PlacedValue* cause = nullptr;
  bool whole = false;
  int sums = 0;
  for (Var v : n.inputs) {
    const PlacedValue& x = values_[at(v)];
    const AxisSet open = unfinished(v);
    if (g_.type(v).shape != type.shape || g_.type(v).dtype != type.dtype || x.layout.unreduced != open) return false;
    whole |= open.empty() || x.whole.valid();
    if (open.empty()) split |= x.layout.split_axes();
    if (open.empty()) continue;
    if (uses_[at(v)] != 1 || x.layout.unreduced_kind != runtime::UnreducedKind::Sum) return false;
    if (cause && open != over) return false;
    over = open;
    if (sums++ == 0) cause = &x;
  }
  if (sums == 1 && !goes_on(n.outputs[0])) return false;
  if (!cause || !whole || !(split & over).empty() || !wanted(n.outputs[0]).unreduced.empty()) return false;
  const RuleRef rule = rule_of(g_, n);
  if (!rule) return false;

  const FactorAxes axes = split_of(n, *rule, over);
  const std::array layouts{layout_of(*rule, rule->results[0], axes, *context_.mesh)};
  const Parts x = parts(n.inputs[0], layout_of(*rule, rule->operands[0], axes, *context_.mesh)),
              y = parts(n.inputs[1], layout_of(*rule, rule->operands[1], axes, *context_.mesh));
  const auto both = [&](Var a, Var b) {
    if (!b.valid()) return a;
    if (!a.valid()) return n.op == core.add ? b : ir::neg(b_, b);
    return emit_local(n, *rule, axes, {a, b}, layouts)[0];
  };
  const grammar::Span span = cause->span;
  const auto terms = cause->terms;
  Sharding layout = layouts[0];
  layout.unreduced = over;
  const Var sum = both(x.terms, y.terms), rest = both(x.whole, y.whole);
  set(n.outputs[0], sum, layout, span);
  values_[at(n.outputs[0])].terms = terms;
  values_[at(n.outputs[0])].whole = rest;
  return true;
}

// ---- loops
// A sum still to be done over these axes, which nobody else needs.
bool Partitioner::sums_over(Var v, AxisSet axes) const {
  return unfinished(v) == axes && uses_[at(v)] == 1 &&
         values_[at(v)].layout.unreduced_kind == runtime::UnreducedKind::Sum;
}

bool Partitioner::is_zero(const Node& n, std::size_t operand) const {
  const std::vector<ir::Type> in = types_of(g_, n.inputs);
  return ir::known_number({*n.op, in, n.attrs, n.regions, &g_, n.inputs}, operand) == 0.0;
}

// The axes over which what goes round may be carried as terms, from a run in which it was carried whole: it comes out
// as a sum to be done, and goes in as zeros, or as such a sum, or is what the terms are added to and nothing else.
AxisSet Partitioner::waiting_over(const Node& n, const ir::RegionEdge& e, const Sharding& layout,
                                  const Bodies& bodies) const {
  if (!e.carried() || e.results.size() != 1) return {};
  const auto [region, index] = e.results[0];
  const Partitioner& inside = bodies.parts[region];
  const Var result = n.regions[region]->results[index], start = n.inputs[*e.operand];
  const AxisSet over = inside.unfinished(result);
  const PlacedValue& made = inside.values_[at(result)];
  if (over.empty() || inside.uses_[at(result)] != 1 || made.layout.unreduced_kind != runtime::UnreducedKind::Sum ||
      !(layout.split_axes() & over).empty())
    return {};
  bool only_added_to = false;
  for (auto [r, i] : e.params) {
    const Partitioner& taker = bodies.parts[r];
    const Var p = n.regions[r]->params[i];
    if (taker.uses_[at(p)] > (r == region ? 1 : 0)) return {};
    if (r == region) only_added_to = made.whole.valid() && made.whole == taker.values_[at(p)].var;
  }
  const bool alone = sums_over(start, over) ? !values_[at(start)].whole.valid() : is_zero(n, *e.operand);
  return alone || only_added_to ? over : AxisSet{};
}

// Whether it did: no turn has summed what it took.
bool Partitioner::waited(const Node& n, const ir::RegionEdge& e, const Sharding& layout, const Bodies& bodies) {
  const auto as_terms = [&](const ir::RegionPort& port, const ir::Vars& vars) {
    const PlacedValue& x = bodies.parts[port.region].values_[at(vars[port.index])];
    return x.layout.unreduced == layout.unreduced && !x.whole.valid() && x.copies.empty();
  };
  return std::all_of(e.params.begin(), e.params.end(),
                     [&](const ir::RegionPort& p) { return as_terms(p, n.regions[p.region]->params); }) &&
         std::all_of(e.results.begin(), e.results.end(),
                     [&](const ir::RegionPort& p) { return as_terms(p, n.regions[p.region]->results); });
}

// The regions, partitioned. What a loop can carry as terms is carried so, and says it in `layouts`.
Bodies Partitioner::run_waiting(const Node& n, std::size_t index, const ir::RegionEdges& wiring,
                                std::vector<Sharding>& layouts) {
  Bodies bodies = run_bodies(n, index, wiring, layouts);
  std::vector<std::size_t> waiting;
  for (std::size_t e = 0; wiring.repeats && e < wiring.edges.size(); ++e)
    if (const AxisSet over = waiting_over(n, wiring.edges[e], layouts[e], bodies); !over.empty()) {
      layouts[e].unreduced |= over;
      waiting.push_back(e);
    }
  for (bool again = !waiting.empty(); again;) {
    bodies = run_bodies(n, index, wiring, layouts);
    again = std::erase_if(waiting, [&](std::size_t e) {
              if (waited(n, wiring.edges[e], layouts[e], bodies)) return false;
              layouts[e] = layout_inside(wiring.edges[e], n, index);
              return true;
            }) > 0;
  }
  return bodies;
}

// What a loop that carries terms starts with, and what their sum is added to behind it.
Partitioner::Parts Partitioner::start_of(const Node& n, std::size_t operand, const Sharding& layout) {
  const Var v = n.inputs[operand];
  if (!sums_over(v, layout.unreduced - wanted(v).unreduced)) finish(v);
  Parts start = parts(v, layout);
  if (start.terms.valid()) return start;
  if (is_zero(n, operand)) return {start.whole, {}};  // zero in each of the terms
  const runtime::Shape shape = runtime::block_shape(*context_.mesh, g_.type(v).shape, layout);
  return {ir::broadcast_to(b_, ir::constant(b_, 0, g_.type(v).dtype, g_.type(v).weak), shape), start.whole};
}

}  // namespace shard::transform
