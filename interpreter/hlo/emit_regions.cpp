// Structural rows: constants, loops, branches, effects. What must hold inside a region comes out as one more carried
// truth value a claim.
#include <algorithm>
#include <stdexcept>

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

class Deeper {
 public:
  explicit Deeper(int& depth) : depth_(depth) { ++depth_; }
  ~Deeper() { --depth_; }
  Deeper(const Deeper&) = delete;

 private:
  int& depth_;
};

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
  const Deeper deeper(turns_);
  return wiring.chooser ? branch(at) : wiring.verdict ? loop(at, wiring) : scan(at, wiring);
}

// What is shown leaves the program as results; what must hold is a truth value.
Values Emitter::effect(const Inside& at) {
  const bool shows = at.node.attrs.says("shows");
  if (!shows || !how_.shows || turns_ > 0) return row(at.node, at.in, at.out);
  Shown one{&at.node, {}, {}};
  for (std::size_t i = 0; i < at.in.size(); ++i) {
    const ir::Var v = at.node.inputs[i];
    one.types.push_back(at.graph.type(v));
    one.differs.push_back(at.around ? at.around->of[v.id] : runtime::AxisSet());
    shown_values.push_back(at.in[i]);
  }
  shown.push_back(std::move(one));
  return {};
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
  const ir::Graph& body = *at.node.regions[0];
  std::vector<Claim> claims;
  claims_in(body, claims);
  const std::span<const Value> consts = at.in.subspan(0, fixed), rows = at.in.subspan(fixed + carry);
  Values start{to_.constant(runtime::DType::I32, {}, 0)};
  append(start, at.in.subspan(fixed, carry));
  for (std::size_t i = carry; i < at.out.size(); ++i) {
    const Value zero = to_.constant(at.out[i].dtype, {}, 0);
    start.push_back(broadcast(zero, at.out[i].shape));
  }
  for (std::size_t i = 0; i < claims.size(); ++i) start.push_back(to_.constant(runtime::DType::Bool, {}, 1));
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
    for (std::size_t k = at.out.size(); k < made.size(); ++k) next.push_back(both(turn[1 + k], made[k]));
    return next;
  });
  return {all.begin() + 1, all.end()};
}

Values Emitter::loop(const Inside& at, const ir::RegionEdges& wiring) {
  refuse_divergence(at);
  const std::size_t of_cond = wiring.constants(0).count, of_body = wiring.constants(1).count;
  const std::span<const Value> asks = at.in.subspan(0, of_cond), consts = at.in.subspan(of_cond, of_body),
                               carry = at.in.subspan(of_cond + of_body);
  std::vector<Claim> asked, claims;
  claims_in(*at.node.regions[0], asked);
  if (!asked.empty()) refuse("assert", "none in the condition of a loop; put it into the body");
  claims_in(*at.node.regions[1], claims);
  Values start(carry.begin(), carry.end());
  for (std::size_t i = 0; i < claims.size(); ++i) start.push_back(to_.constant(runtime::DType::Bool, {}, 1));

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
  std::vector<std::vector<Claim>> claims(2);
  for (std::size_t r = 0; r < 2; ++r) claims_in(*at.node.regions[r], claims[r]);
  const ir::Graph& first = *at.node.regions[0];
  Values like = typed(to_, first, first.results);
  const std::size_t results = like.size();
  for (std::size_t i = 0; i < claims[0].size() + claims[1].size(); ++i)
    like.push_back({&to_, {}, runtime::DType::Bool, {}});
  std::string text;
  for (std::size_t r = 0; r < 2; ++r) {
    to_.begin({});
    const Values made = region(at, r, at.in.subspan(1));
    Values out(made.begin(), made.begin() + static_cast<std::ptrdiff_t>(results));
    const auto held = [&](std::size_t count) {  // what the other region claims holds here
      for (std::size_t i = 0; i < count; ++i) out.push_back(to_.constant(runtime::DType::Bool, {}, 1));
    };
    if (r == 1) held(claims[0].size());
    append(out, std::span(made).subspan(results));
    if (r == 0) held(claims[1].size());
    text += (text.empty() ? "" : ", ") + to_.end(out);
  }
  return to_.ops("stablehlo.if", at.in.subspan(0, 1), like, {}, text);
}

}  // namespace shard::hlo
