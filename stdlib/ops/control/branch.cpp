// `branch`: one of two regions, chosen by a truth value. Its derivatives are branches over the regions' derivatives;
// what the forward region keeps for the backward one comes out in slots that both regions fill, by type. Mapped over
// the condition, both regions are computed and the results selected.
#include "grammar/diagnostic.h"
#include "interpreter/transform/batch.h"
#include "interpreter/transform/differentiate.h"
#include "stdlib/ops/control/control.h"

namespace shard::stdlib {
namespace {

using transform::fit;

std::vector<Type> infer_branch(const OpCall& call) {
  const Type& condition = call.in[0];
  if (condition.dtype != DType::Bool || !condition.shape.empty())
    fail("condition", "a condition must be one truth value, and it is " + runtime::to_string(condition));
  check_params(call, 0, call.in.subspan(1));
  check_params(call, 1, call.in.subspan(1));
  check_quiet(call, condition, "`if`");
  const Graph &yes = *call.regions[0], &no = *call.regions[1];
  if (yes.results.size() != no.results.size())
    fail("branch", "the branches give " + std::to_string(yes.results.size()) + " and " +
                       std::to_string(no.results.size()) + " values");
  std::vector<Type> out;
  for (std::size_t i = 0; i < yes.results.size(); ++i) {
    Type a = yes.type(yes.results[i]), c = no.type(no.results[i]);
    if (!same_type(a, c)) {
      std::string which = leaf_name(call.attrs, i, yes.results.size() > 1 ? " " + std::to_string(i + 1) : "");
      bool first_varies = (c.varying - a.varying).empty();
      fail("branch",
           "both branches of an `if` must give the same type: result" + which + " is " + runtime::to_string(a) +
               " in the first and " + runtime::to_string(c) + " in the second; " +
               (first_varies ? way_out(c, a, "the second one's result") : way_out(a, c, "the first one's result")));
    }
    if (!a.mesh) a.mesh = c.mesh;
    a.weak = a.weak && c.weak;
    a.varying |= condition.varying;
    if (!condition.varying.empty() && !a.mesh) a.mesh = condition.mesh;
    out.push_back(std::move(a));
  }
  return out;
}

ir::Pushed push_branch(Builder& b, const OpCall& call, const Vars& in, std::span<const Var> tangents) {
  std::vector<int> wrt;
  Vars operands = in;
  for (std::size_t i = 1; i < in.size(); ++i)
    if (tangents[i].valid()) wrt.push_back(static_cast<int>(i - 1)), operands.push_back(tangents[i]);
  const std::size_t n = call.regions[0]->results.size();
  std::vector<char> live(n);
  for (const GraphRef& g : call.regions) {
    Vars from;
    for (int w : wrt) from.push_back(g->params[static_cast<std::size_t>(w)]);
    Marks m = transform::active(*g, from);
    for (std::size_t j = 0; j < n; ++j) live[j] |= m[at(g->results[j])];
  }
  std::vector<GraphRef> regions;
  for (const GraphRef& g : call.regions) {
    Graph both = transform::jvp(b.table(), *g, wrt);
    Vars results = both.results;
    results.resize(n);
    for (std::size_t j = 0; j < n; ++j)
      if (live[j]) results.push_back(both.results[n + j]);
    regions.push_back(share(transform::extract(b.table(), both, both.params, results, true)));
  }
  Vars out = b.emit(call.op, operands, {}, std::move(regions));
  ir::Pushed pushed{first_of(out, n), Vars(n)};
  for (std::size_t j = 0, t = n; j < n; ++j)
    if (live[j]) pushed.tangents[j] = out[t++];
  return pushed;
}

ir::Pullback pull_branch(Builder& b, const OpCall& call, const Vars& in, std::span<const char> wanted,
                         std::span<const char> given) {
  const ir::OpTable& table = b.table();
  const std::size_t np = in.size() - 1, n = call.regions[0]->results.size();
  std::vector<int> wrt;
  for (std::size_t i = 1; i < in.size(); ++i)
    if (wanted[i]) wrt.push_back(static_cast<int>(i - 1));
  const std::vector<Type> types = result_types(*call.regions[0]);
  const std::vector<bool> with_ct = with_cotangents(types, given);
  // Slots for what is kept: a value takes the first slot of its type that its region has not filled.
  std::vector<Type> slots;
  std::vector<Graph> joint;
  std::vector<Vars> stored;
  std::vector<std::vector<std::size_t>> slot_of;
  for (const GraphRef& g : call.regions) {
    Graph j = transform::vjp(table, *g, wrt, with_ct, true);
    auto cts = part(j.params, np, j.params.size() - np), grads = part(j.results, n, wrt.size());
    auto kept = transform::keep(j, transform::reached(j, cts), grads, marks_of(j, part(j.params, 0, np)), {});
    std::vector<char> filled(slots.size(), 0);
    std::vector<std::size_t> mine;
    for (Var v : kept.stored) {
      std::size_t s = 0;
      while (s < slots.size() && (filled[s] || !(slots[s] == j.type(v)))) ++s;
      if (s == slots.size()) slots.push_back(j.type(v)), filled.push_back(0);
      filled[s] = 1;
      mine.push_back(s);
    }
    stored.push_back(kept.stored);
    slot_of.push_back(std::move(mine));
    joint.push_back(std::move(j));
  }
  std::vector<GraphRef> forward, backward;
  for (std::size_t k = 0; k < 2; ++k) {
    const Graph& j = joint[k];
    Vars first_results = first_of(j.results, n), second_params = first_of(j.params, np);
    append(first_results, stored[k]);
    append(second_params, stored[k]);
    append(second_params, part(j.params, np, j.params.size() - np));
    Graph first = transform::extract(table, j, part(j.params, 0, np), first_results, true);
    Graph second = transform::extract(table, j, second_params, part(j.results, n, wrt.size()), false);

    Builder f = transform::builder_like(table, first);
    Vars args;
    for (Var p : first.params) args.push_back(f.param(first.type(p)));
    Vars values = f.inline_graph(first, args), results = first_of(values, n), slot(slots.size());
    for (std::size_t i = 0; i < stored[k].size(); ++i) slot[slot_of[k][i]] = values[n + i];
    for (std::size_t s = 0; s < slots.size(); ++s) results.push_back(zeros_or(f, slot[s], slots[s]));
    forward.push_back(share(f.finish(std::move(results))));

    Builder r = transform::builder_like(table, second);
    args.clear();
    Vars slot_params;
    for (std::size_t i = 0; i < np; ++i) args.push_back(r.param(second.type(second.params[i])));
    for (const Type& t : slots) slot_params.push_back(r.param(t));
    for (std::size_t s : slot_of[k]) args.push_back(slot_params[s]);
    for (std::size_t t = 0; t < n; ++t)
      if (with_ct[t]) args.push_back(r.param(transform::cotangent_type(types[t])));
    backward.push_back(share(r.finish(r.inline_graph(second, args))));
  }
  Vars out = b.emit(call.op, in, call.attrs, std::move(forward));
  Vars kept(in);
  append(kept, part(out, n, slots.size()));
  out.resize(n);
  const ir::OpDef* op = &call.op;
  std::size_t inputs = in.size();
  return {out, [=](Builder& outer, std::span<const Var> ct) {
            Vars operands = kept, found(inputs);
            append_cotangents(outer, operands, types, with_ct, ct);
            Vars grads = outer.emit(*op, operands, {}, backward);
            for (std::size_t w = 0; w < wrt.size(); ++w) found[static_cast<std::size_t>(wrt[w]) + 1] = grads[w];
            return found;
          }};
}

std::vector<Mapped> batch_branch(Builder& b, const OpCall& call, std::span<const Mapped> in, std::int64_t size) {
  auto front = transform::front_of(b, in);
  const std::size_t n = call.regions[0]->results.size();
  std::vector<bool> mapped = mapped_of(in, 1, in.size() - 1), force(n, in[0].mapped);
  std::vector<transform::Batched> regions;
  for (const GraphRef& g : call.regions) regions.push_back(transform::batch(b.table(), *g, mapped, size, force, front));
  for (std::size_t j = 0; j < n; ++j) force[j] = regions[0].mapped[j] || regions[1].mapped[j];
  for (std::size_t k = 0; k < 2; ++k)
    if (regions[k].mapped != force)
      regions[k] = transform::batch(b.table(), *call.regions[k], mapped, size, force, front);
  const Vars operands = vars_of(in);
  if (!in[0].mapped)
    return with_marks(
        b.emit(call.op, operands, call.attrs, {share(std::move(regions[0].graph)), share(std::move(regions[1].graph))}),
        force);
  if (transform::has_effects(*call.regions[0]) || transform::has_effects(*call.regions[1]))
    throw grammar::Error("vmap", b.span(),
                         "`print` and `assert` in an `if` whose condition vmap maps over are not defined",
                         {"take them out of the `if`"});
  Vars yes = b.inline_graph(regions[0].graph, part(operands, 1, operands.size() - 1)),
       no = b.inline_graph(regions[1].graph, part(operands, 1, operands.size() - 1));
  std::vector<Mapped> results;
  for (std::size_t j = 0; j < n; ++j) {
    runtime::Shape shape(b.type(yes[j]).shape.size(), 1);
    shape[0] = size;
    results.push_back({ir::select(b, ir::reshape(b, in[0].var, shape), yes[j], no[j]), true});
  }
  return results;
}

}  // namespace

OpDef branch_row() {
  return region_row("branch(values: arrays)", "One of two regions, chosen by a truth value.", ir::Structure::Branch,
                    push_branch, pull_branch, batch_branch, infer_branch);
}

}  // namespace shard::stdlib
