// Structural rows: constants, loops, branches, effects. What a region tells (reports.h) comes out behind its results: a
// claim as one truth value, what is shown with a dimension of the turns of each loop.
#include <algorithm>
#include <stdexcept>

#include "grammar/kept.h"
#include "interpreter/hlo/emitter.h"

namespace shard::hlo {
namespace {

using ir::Structure;

bool communicates(const ir::Graph& g) {
  return std::any_of(g.nodes.begin(), g.nodes.end(), [](const ir::Node& n) {
    return (n.op->comm && n.op->comm->communicates()) ||
           std::any_of(n.regions.begin(), n.regions.end(), [](const auto& r) { return communicates(*r); });
  });
}

Values typed(Writer& to, const ir::Graph& g, std::span<const ir::Var> vars) {
  Values out;
  for (ir::Var v : vars) out.push_back({&to, {}, g.type(v).dtype, g.type(v).shape});
  return out;
}

Values starts_at(const Value& x, const Value& i) {  // of row i
  Values starts{i};
  for (std::size_t d = 1; d < x.shape.size(); ++d) starts.push_back(x.to->constant(i.dtype, {}, 0));
  return starts;
}

Value row_at(const Value& x, const Value& i) {
  const Values starts = starts_at(x, i);
  Shape one = x.shape;
  one[0] = 1;
  return reshape(dynamic_slice(x, starts, one), Shape(x.shape.begin() + 1, x.shape.end()));
}

Value with_row(const Value& x, const Value& row, const Value& i) {
  const Values starts = starts_at(x, i);
  Shape one = row.shape;
  one.insert(one.begin(), 1);
  return dynamic_update(x, reshape(row, one), starts);
}

void append(Values& to, std::span<const Value> more) { to.insert(to.end(), more.begin(), more.end()); }

}  // namespace

Values Emitter::structure(const Inside& at) {
  const ir::Node& n = at.node;
  switch (*ir::structure_of(*n.op)) {
    case Structure::Constant: {
      if (const auto* whole = n.attrs.get<std::int64_t>("value")) return {to_.integer(at.out[0].dtype, {}, *whole)};
      return {to_.constant(at.out[0].dtype, {}, n.attrs.number("value"))};
    }
    case Structure::Call: return region(at, 0, at.in);
    case Structure::Collective: return {collective(n, at.in, at.out[0])};
    case Structure::Shard: return {at.in[0]};
    case Structure::Effect: return effect(at);
    case Structure::Manual: return per_device(at);
    default: break;  // a loop or a branch
  }
  const ir::RegionEdges wiring = ir::region_edges(n);
  const bool uncounted = wiring.verdict || (at.distinct && !at.distinct->blocks.empty());
  const grammar::Kept hidden(hidden_, hidden_ || uncounted);
  return wiring.chooser ? branch(at) : wiring.verdict ? loop(at, wiring) : scan(at, wiring);
}

// What is shown leaves the program as results; what must hold is a truth value.
Values Emitter::effect(const Inside& at) {
  if (!at.node.attrs.says("shows") || !how_.shows) return row(at.node, at.in, at.out);
  if (hidden_)
    refuse(at.node.attrs.text("what"),
           "not in a `while`, whose turns nobody counts, nor under a condition that differs between devices; make what "
           "it shows a result, and show that after the call");
  return {at.in.begin(), at.in.end()};
}

Values Emitter::region(const Inside& at, std::size_t which, std::span<const Value> params) {
  const bool known = at.distinct && which < at.distinct->regions.size();
  return graph(*at.node.regions[which], params,
               {known ? &at.distinct->regions[which] : nullptr, at.layouts ? &(*at.layouts)[which] : nullptr});
}

// Engines start a collective on all devices together: one that some devices skip never ends.
void Emitter::refuse_divergence(const Inside& at) const {
  if (!at.distinct || at.distinct->blocks.empty()) return;
  const auto& regions = at.node.regions;
  if (std::none_of(regions.begin(), regions.end(), [](const auto& r) { return communicates(*r); })) return;
  std::string axes;
  for (runtime::AxisId a : at.distinct->blocks.list())
    axes += (axes.empty() ? "@" : ", @") + program_.mesh->axes[a].name;
  throw runtime::RuntimeError("engine", "engine xla has no communication under a condition that differs along " + axes +
                                            ": compute it on all devices and choose with `where`");
}

// A `while` that compares its counter with the length: readers multiply by it.
Values Emitter::scan(const Inside& at, const ir::RegionEdges& wiring) {
  const std::size_t carry = wiring.carried(), fixed = wiring.constants(0).count;
  const std::vector<Told> told = told_by(at.node);
  const std::span<const Value> consts = at.in.subspan(0, fixed), rows = at.in.subspan(fixed + carry);
  Values start{to_.constant(runtime::DType::I32, {}, 0)};
  append(start, at.in.subspan(fixed, carry));
  for (std::size_t i = carry; i < at.out.size(); ++i) {
    const Value zero = to_.constant(at.out[i].dtype, {}, 0);
    start.push_back(broadcast(zero, at.out[i].shape));
  }
  for (const Told& t : told) start.push_back(t.nothing(to_));
  if (wiring.turns == 0) return {start.begin() + 1, start.end()};  // there is no row to take

  const auto more = [&](const Values& turn) {
    return compare(turn[0], to_.integer(runtime::DType::I32, {}, wiring.turns), "LT");
  };
  const Values all = repeated(to_, start, more, [&](const Values& turn) {
    const Value i = turn[0], row = wiring.reverse ? to_.integer(i.dtype, {}, wiring.turns - 1) - i : i;
    Values params(consts.begin(), consts.end()), next{i + 1};
    append(params, std::span(turn).subspan(1, carry));
    for (const Value& x : rows) params.push_back(row_at(x, row));
    const Values made = region(at, 0, params);
    append(next, std::span(made).subspan(0, carry));
    for (std::size_t k = carry; k < at.out.size(); ++k) next.push_back(with_row(turn[1 + k], made[k], row));
    for (std::size_t k = at.out.size(); k < made.size(); ++k)
      next.push_back(told[k - at.out.size()].claim ? both(turn[1 + k], made[k]) : with_row(turn[1 + k], made[k], i));
    return next;
  });
  return {all.begin() + 1, all.end()};
}

Values Emitter::loop(const Inside& at, const ir::RegionEdges& wiring) {
  refuse_divergence(at);
  const std::size_t of_cond = wiring.constants(0).count, of_body = wiring.constants(1).count;
  const std::span<const Value> asks = at.in.subspan(0, of_cond), consts = at.in.subspan(of_cond, of_body),
                               carry = at.in.subspan(of_cond + of_body);
  if (!told_in(*at.node.regions[0]).empty()) refuse("assert", "none in the condition of a loop; put it into the body");
  Values start(carry.begin(), carry.end());
  for (const Told& t : told_in(*at.node.regions[1])) start.push_back(t.nothing(to_));

  const auto of = [&](std::size_t which, std::span<const Value> given, const Values& turn) {
    Values params(given.begin(), given.end());
    append(params, std::span(turn).subspan(0, carry.size()));
    return region(at, which, params);
  };
  const auto more = [&](const Values& turn) { return of(0, asks, turn)[0]; };
  return repeated(to_, start, more, [&](const Values& turn) {
    Values made = of(1, consts, turn);
    for (std::size_t k = carry.size(); k < made.size(); ++k) made[k] = both(turn[k], made[k]);
    return made;
  });
}

Values Emitter::branch(const Inside& at) {
  refuse_divergence(at);
  const ir::Graph& first = *at.node.regions[0];
  const std::vector<Told> told[] = {told_in(*at.node.regions[0]), told_in(*at.node.regions[1])};
  Values like = typed(to_, first, first.results);
  const auto results = static_cast<std::ptrdiff_t>(like.size());
  bool shows = false;
  for (const auto& of_region : told)
    for (const Told& t : of_region) {
      like.push_back({&to_, {}, t.dtype, t.shape});
      shows = shows || !t.claim;
    }
  std::string text;
  for (std::size_t r = 0; r < 2; ++r) {
    to_.begin({});
    const Values made = region(at, r, at.in.subspan(1));
    Values out(made.begin(), made.begin() + results), other;
    for (const Told& t : told[1 - r]) other.push_back(t.nothing(to_));
    if (r == 1) append(out, other);
    append(out, std::span(made).subspan(static_cast<std::size_t>(results)));
    if (r == 0) append(out, other);
    text += (text.empty() ? "" : ", ") + to_.end(out);
  }
  Values all = to_.ops("stablehlo.if", at.in.subspan(0, 1), like, {}, text);
  if (shows) all.insert(all.begin() + results, at.in[0]);  // which of them was taken
  return all;
}

}  // namespace shard::hlo
