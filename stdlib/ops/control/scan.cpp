// `scan`: a body run once for each row of its inputs, with values carried from turn to turn. Its derivative is a scan
// again: forward mode carries tangents along; reverse mode runs a forward scan that also stacks what the backward one
// needs, then a scan in the other direction, whose carry holds the cotangents of the carry and the growing cotangents
// of the constants.
#include "interpreter/ir/region_edges.h"
#include "interpreter/transform/batch.h"
#include "interpreter/transform/differentiate.h"
#include "stdlib/ops/control/control.h"

namespace shard::stdlib {
namespace {

using transform::cotangent_type;
using transform::differentiable;
using transform::fit;

struct ScanParts {  // one use of scan, read
  std::size_t consts, carry, xs, ys;
  std::int64_t length;
  bool reverse;
  const Graph& body;
  explicit ScanParts(const OpCall& call) : ScanParts(ir::scan_wiring(call.attrs), call.in.size(), *call.regions[0]) {}
  ScanParts(const ir::ScanWiring& w, std::size_t operands, const Graph& body_)
      : consts(w.consts),
        carry(w.carry),
        xs(operands - consts - carry),
        ys(body_.results.size() - carry),
        length(w.length),
        reverse(w.reverse),
        body(body_) {}
  Var const_param(std::size_t i) const { return body.params[i]; }
  Var carry_param(std::size_t i) const { return body.params[consts + i]; }
  Var x_param(std::size_t i) const { return body.params[consts + carry + i]; }
};

std::vector<Type> infer_scan(const OpCall& call) {
  ScanParts s(call);
  std::vector<Type> params(call.in.begin(), call.in.begin() + static_cast<std::ptrdiff_t>(s.consts + s.carry));
  if (s.length < 0) fail("shape", "the length of scan is negative: " + std::to_string(s.length));
  for (std::size_t i = 0; i < s.xs; ++i) {
    const Type& x = call.in[s.consts + s.carry + i];
    if (x.shape.empty())
      fail("shape", "scan goes along the first dimension of its inputs, and " + runtime::to_string(x) + " has none");
    if (x.shape[0] != s.length)
      fail("shape", "scan of " + std::to_string(s.length) + " turns: an input of type " + runtime::to_string(x) +
                        " has " + std::to_string(x.shape[0]) + " rows");
    if (!x.sharding.dims[0].axes.empty())
      fail("layout", "scan goes along dimension 0 of its inputs, which must be whole, and " + runtime::to_string(x) +
                         " is split there: `shard` it first");
    params.push_back(row_type(x));
  }
  check_params(call, 0, params);
  check_carry("scan", call.attrs, call.in.subspan(s.consts, s.carry), s.body, 0);
  std::vector<Type> out;
  for (std::size_t i = 0; i < s.carry; ++i) {
    Type t = call.in[s.consts + i];
    t.weak = t.weak && s.body.type(s.body.results[i]).weak;
    out.push_back(std::move(t));
  }
  for (std::size_t i = 0; i < s.ys; ++i) {
    out.push_back(stacked_type(s.body.type(s.body.results[s.carry + i]), s.length));
    runtime::bytes_of(out.back().shape, runtime::size_of(out.back().dtype));
  }
  return out;
}

Marks active_values(const ScanParts& s, std::span<const char> wanted, const std::vector<char>& carry) {
  Vars from;
  for (std::size_t i = 0; i < s.body.params.size(); ++i)
    if (i >= s.consts && i < s.consts + s.carry ? carry[i - s.consts] : wanted[i]) from.push_back(s.body.params[i]);
  return transform::active(s.body, from);
}

// Which carried values have a derivative: a fixpoint, since a value may become active in the turn after another did.
std::vector<char> active_carry(const ScanParts& s, std::span<const char> wanted) {
  std::vector<char> carry(wanted.begin() + static_cast<std::ptrdiff_t>(s.consts),
                          wanted.begin() + static_cast<std::ptrdiff_t>(s.consts + s.carry));
  for (bool changed = true; changed;) {
    changed = false;
    Marks m = active_values(s, wanted, carry);
    for (std::size_t j = 0; j < s.carry; ++j)
      if (m[at(s.body.results[j])] && !carry[j]) carry[j] = 1, changed = true;
  }
  return carry;
}

// ---- forward mode

ir::Pushed push_scan(Builder& b, const OpCall& call, const Vars& in, std::span<const Var> tangents) {
  ScanParts s(call);
  std::vector<char> has(in.size());
  for (std::size_t i = 0; i < in.size(); ++i) has[i] = tangents[i].valid();
  std::vector<char> carried = active_carry(s, has);
  Marks live = active_values(s, has, carried);
  std::vector<int> wrt;
  for (std::size_t i = 0; i < in.size(); ++i)
    if (i >= s.consts && i < s.consts + s.carry ? carried[i - s.consts] : has[i]) wrt.push_back(static_cast<int>(i));
  Graph both = transform::jvp(b.table(), s.body, wrt);

  // Parameters in scan's order: each kind's values, then its tangents.
  Builder r = transform::builder_like(b.table(), s.body);
  Vars params(both.params.size()), operands;
  std::size_t sizes[] = {s.consts, s.carry, s.xs}, begin = 0, consts = 0, carry = 0;
  for (int kind = 0; kind < 3; ++kind) {
    std::size_t end = begin + sizes[kind], before = operands.size();
    for (std::size_t i = begin; i < end; ++i) {
      params[i] = r.param(both.type(both.params[i]));
      operands.push_back(in[i]);
    }
    for (std::size_t w = 0; w < wrt.size(); ++w) {
      auto i = static_cast<std::size_t>(wrt[w]);
      if (i < begin || i >= end) continue;
      params[in.size() + w] = r.param(both.type(both.params[in.size() + w]));
      operands.push_back(zeros_or(b, tangents[i], call.in[i]));
    }
    if (kind == 0) consts = operands.size() - before;
    if (kind == 1) carry = operands.size() - before;
    begin = end;
  }
  Vars values = r.inline_graph(both, params), results;
  std::size_t n = s.carry + s.ys;
  std::vector<char> out_live(n);
  for (std::size_t j = 0; j < n; ++j) out_live[j] = j < s.carry ? carried[j] : live[at(s.body.results[j])];
  std::vector<std::size_t> value_at(n), tangent_at(n);
  auto hand_back = [&](std::size_t from, std::size_t to) {
    for (std::size_t j = from; j < to; ++j) value_at[j] = results.size(), results.push_back(values[j]);
    for (std::size_t j = from; j < to; ++j) {
      if (!out_live[j]) continue;
      tangent_at[j] = results.size();
      results.push_back(j < s.carry ? fit(r, values[n + j], s.body.type(s.carry_param(j))) : values[n + j]);
    }
  };
  hand_back(0, s.carry);
  hand_back(s.carry, n);
  Attrs attrs = call.attrs;
  attrs.erase("names");
  attrs = ir::with_wiring(std::move(attrs), ir::ScanWiring{consts, carry, s.length, s.reverse});
  Graph body = transform::without_dead_code(b.table(), r.finish(std::move(results)));
  Vars out = b.emit(call.op, operands, std::move(attrs), {share(std::move(body))});
  ir::Pushed pushed{Vars(n), Vars(n)};
  for (std::size_t j = 0; j < n; ++j) {
    pushed.results[j] = out[value_at[j]];
    if (out_live[j]) pushed.tangents[j] = out[tangent_at[j]];
  }
  return pushed;
}

// ---- reverse mode

struct Backward {  // the scan in the other direction, ready to be given cotangents
  const OpDef* op;
  GraphRef body;
  Attrs attrs;
  Vars consts, xs;                                                // of the outer graph; xs follow the cotangents of ys
  std::vector<std::size_t> wrt_consts, wrt_carry, wrt_xs, ct_ys;  // indices of their kind
  std::vector<Type> acc_types, carry_types, y_types;
  std::size_t inputs, first_carry, first_x, carry_results;
};

Vars run_backward(Builder& b, const Backward& k, std::span<const Var> ct) {
  Vars operands = k.consts;
  for (const Type& t : k.acc_types) operands.push_back(transform::typed_zeros(b, t));
  for (std::size_t i = 0; i < k.wrt_carry.size(); ++i)
    operands.push_back(zeros_or(b, ct[k.wrt_carry[i]], k.carry_types[i]));
  for (std::size_t i = 0; i < k.ct_ys.size(); ++i)
    operands.push_back(zeros_or(b, ct[k.carry_results + k.ct_ys[i]], k.y_types[i]));
  append(operands, k.xs);
  Vars out = b.emit(*k.op, operands, k.attrs, {k.body}), found(k.inputs);
  std::size_t at_out = 0;
  for (std::size_t i : k.wrt_consts) found[i] = out[at_out++];
  for (std::size_t i : k.wrt_carry) found[k.first_carry + i] = out[at_out++];
  for (std::size_t i : k.wrt_xs) found[k.first_x + i] = out[at_out++];
  return found;
}

// What is differentiated with respect to what: indices into `k`, and the body's parameters and results as vjp wants
// them.
struct Choice {
  std::vector<int> wrt;
  std::vector<bool> with_ct;
};
Choice choose(const ScanParts& s, std::span<const char> wanted, std::span<const char> given, Backward& k) {
  const std::vector<char> carried = active_carry(s, wanted);
  const Marks live = active_values(s, wanted, carried);
  std::vector<char> asked(given.begin(), given.begin() + static_cast<std::ptrdiff_t>(s.carry));
  Marks use;
  for (bool changed = true; changed;) {  // carried values that a cotangent may reach, in some turn
    changed = false;
    Vars to;
    for (std::size_t j = 0; j < s.carry + s.ys; ++j)
      if (j < s.carry ? asked[j] : given[j]) to.push_back(s.body.results[j]);
    use = transform::useful(s.body, to);
    for (std::size_t j = 0; j < s.carry; ++j)
      if (use[at(s.carry_param(j))] && differentiable(s.body.type(s.carry_param(j))) && !asked[j])
        asked[j] = 1, changed = true;
  }
  Choice c;
  for (std::size_t i = 0; i < s.consts; ++i)
    if (wanted[i] && use[at(s.const_param(i))]) k.wrt_consts.push_back(i), c.wrt.push_back(static_cast<int>(i));
  for (std::size_t i = 0; i < s.carry; ++i)
    if (carried[i] && asked[i]) k.wrt_carry.push_back(i), c.wrt.push_back(static_cast<int>(s.consts + i));
  for (std::size_t i = 0; i < s.xs; ++i)
    if (wanted[s.consts + s.carry + i] && use[at(s.x_param(i))])
      k.wrt_xs.push_back(i), c.wrt.push_back(static_cast<int>(s.consts + s.carry + i));
  c.with_ct.assign(s.carry + s.ys, false);
  for (std::size_t i : k.wrt_carry) c.with_ct[i] = true;
  for (std::size_t i = 0; i < s.ys; ++i)
    if (given[s.carry + i] && live[at(s.body.results[s.carry + i])])
      c.with_ct[s.carry + i] = true, k.ct_ys.push_back(i);
  return c;
}

// The body of the backward scan from `second`, the part of the joint graph that gives gradients. Its parameters are the
// constants (again), what was hoisted, the cotangents, what the forward scan stacked, and xs (again); those that it
// does not use are left out. The carry is the sums for the constants, then the cotangents of the carry.
void make_body(const ir::OpTable& table, const ScanParts& s, const Graph& second, std::span<const Type> operands,
               const Vars& in, const Vars& hoisted, std::span<const Var> stored, Backward& k) {
  Marks used = marks_of(second, second.results);
  for (const ir::Node& n : second.nodes)
    for (Var v : n.inputs) used[at(v)] = 1;
  Builder r = transform::builder_like(table, s.body);
  Vars args(second.params.size()), acc;
  const auto take = [&](std::size_t i) { return args[i] = r.param(second.type(second.params[i])); };
  const auto is_used = [&](std::size_t i) { return used[at(second.params[i])] != 0; };
  const std::size_t carry_cts = k.wrt_carry.size(), cts = carry_cts + k.ct_ys.size();
  const std::size_t i_ct = s.consts + hoisted.size(), i_stored = i_ct + cts, i_xs = i_stored + stored.size();
  for (std::size_t i = 0; i < i_ct; ++i)
    if (is_used(i)) take(i), k.consts.push_back(i < s.consts ? in[i] : hoisted[i - s.consts]);
  for (std::size_t i : k.wrt_consts) {
    k.acc_types.push_back(cotangent_type(operands[i]));
    acc.push_back(r.param(k.acc_types.back()));
  }
  for (std::size_t i = 0; i < carry_cts; ++i) k.carry_types.push_back(r.type(take(i_ct + i)));
  for (std::size_t i = carry_cts; i < cts; ++i) k.y_types.push_back(stacked_type(r.type(take(i_ct + i)), s.length));
  for (std::size_t i = 0; i < stored.size(); ++i)
    if (is_used(i_stored + i)) take(i_stored + i), k.xs.push_back(stored[i]);
  for (std::size_t i = 0; i < s.xs; ++i)
    if (is_used(i_xs + i)) take(i_xs + i), k.xs.push_back(in[s.consts + s.carry + i]);
  Vars g = r.inline_graph(second, args), results;
  for (std::size_t i = 0; i < acc.size(); ++i) results.push_back(fit(r, ir::add(r, acc[i], g[i]), k.acc_types[i]));
  for (std::size_t i = 0; i < carry_cts; ++i) results.push_back(fit(r, g[acc.size() + i], k.carry_types[i]));
  for (std::size_t i = acc.size() + carry_cts; i < g.size(); ++i) results.push_back(g[i]);
  k.attrs = ir::with_wiring({}, ir::ScanWiring{k.consts.size(), acc.size() + carry_cts, s.length, !s.reverse});
  k.body = share(transform::without_dead_code(table, r.finish(std::move(results))));
}

ir::Pullback pull_scan(Builder& b, const OpCall& call, const Vars& in, std::span<const char> wanted,
                       std::span<const char> given) {
  ScanParts s(call);
  const ir::OpTable& table = b.table();
  Backward k;
  const Choice c = choose(s, wanted, given, k);
  Graph joint = transform::vjp(table, s.body, c.wrt, c.with_ct, true);
  const std::size_t np = s.body.params.size(), nr = s.carry + s.ys, nct = joint.params.size() - np;
  auto params = part(joint.params, 0, np), cts = part(joint.params, np, nct),
       grads = part(joint.results, nr, c.wrt.size()), consts = part(joint.params, 0, s.consts);
  auto turning = part(joint.params, s.consts, s.carry + s.xs), xs_params = part(joint.params, s.consts + s.carry, s.xs);

  // What the backward part is handed: constants and rows of xs again; stacked values; and once, outside, what no turn
  // changes.
  Marks late = transform::reached(joint, cts), moving = transform::reached(joint, turning), steady(joint.types.size());
  for (std::size_t v = 0; v < steady.size(); ++v) steady[v] = !late[v] && !moving[v];
  Vars free_vars(consts.begin(), consts.end());
  append(free_vars, xs_params);
  transform::Residuals kept = transform::keep(joint, late, grads, marks_of(joint, free_vars), steady);

  Vars forward_results = first_of(joint.results, nr);
  append(forward_results, kept.stored);
  Vars out = b.emit(call.op, in, call.attrs, {share(transform::extract(table, joint, params, forward_results, true))});
  Vars hoisted;
  if (!kept.hoisted.empty())
    hoisted = b.inline_graph(transform::extract(table, joint, consts, kept.hoisted, false), part(in, 0, s.consts));

  Vars candidates(consts.begin(), consts.end());
  append(candidates, kept.hoisted);
  append(candidates, cts);
  append(candidates, kept.stored);
  append(candidates, xs_params);
  Graph second = transform::extract(table, joint, candidates, grads, false);
  make_body(table, s, second, call.in, in, hoisted, part(out, nr, kept.stored.size()), k);
  k.op = &call.op;
  k.inputs = in.size();
  k.first_carry = s.consts;
  k.first_x = s.consts + s.carry;
  k.carry_results = s.carry;
  out.resize(nr);
  return {out, [k](Builder& outer, std::span<const Var> ct) { return run_backward(outer, k, ct); }};
}

// ---- batching: the mapped dimension stays in front of carry and constants and comes behind the turns in xs and ys

Var swap_front(Builder& b, Var x) {
  std::vector<std::int64_t> perm;
  for (int d = 0; d < b.type(x).rank(); ++d) perm.push_back(d < 2 ? 1 - d : d);
  return ir::transpose(b, x, perm);
}

std::vector<Mapped> batch_scan(Builder& b, const OpCall& call, std::span<const Mapped> in, std::int64_t size) {
  ScanParts s(call);
  auto front = transform::front_of(b, in);
  std::vector<bool> mapped = mapped_of(in, 0, in.size()), force(s.carry + s.ys, false);
  transform::Batched body;
  while (true) {  // a carried value that becomes mapped in one turn is mapped in all
    body = transform::batch(b.table(), s.body, mapped, size, force, front);
    bool changed = false;
    for (std::size_t j = 0; j < s.carry; ++j) {
      bool now = body.mapped[j] || mapped[s.consts + j];
      changed |= now != mapped[s.consts + j] || (now && !force[j]);
      mapped[s.consts + j] = force[j] = now;
    }
    if (!changed) break;
  }
  Vars operands;
  for (std::size_t i = 0; i < in.size(); ++i) {
    Var v = in[i].var;
    if (i >= s.consts + s.carry && in[i].mapped) v = swap_front(b, v);
    if (i >= s.consts && i < s.consts + s.carry && mapped[i]) v = transform::front_mapped(b, in[i], size, front);
    operands.push_back(v);
  }
  Vars out = b.emit(call.op, operands, call.attrs, {share(std::move(body.graph))});
  std::vector<Mapped> results;
  for (std::size_t j = 0; j < out.size(); ++j)
    results.push_back(
        {j >= s.carry && body.mapped[j] ? swap_front(b, out[j]) : out[j], static_cast<bool>(body.mapped[j])});
  return results;
}

}  // namespace

OpDef scan_row() {
  return region_row("scan(values: arrays)",
                    "A body run once for each row of its inputs, with a carry from turn to turn.", ir::Structure::Scan,
                    push_scan, pull_scan, batch_scan, infer_scan);
}

}  // namespace shard::stdlib
