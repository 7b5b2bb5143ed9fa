// Calls of regions that are special under differentiation. `call` keeps a function together; with `remat` its backward part computes
// the values anew instead of keeping them, inside a region of its own, so that they are not merged with those of the forward part:
// whoever inlines such a region must not look for common subexpressions across its border. `custom_vjp_call` and `custom_jvp_call`
// carry the user's own rule beside the function.
//   call             regions [body]; attrs remat, policy ("none": keep arguments only, "dots": and contractions, "all": everything)
//   custom_vjp_call  regions [body, forward, backward]; attrs args. in: args, then what the three take from outside.
//                    body(in...) -> results; forward(in...) -> results, residuals; backward(residuals, one cotangent for each result,
//                    what comes from outside...) -> a gradient for each of args
//   custom_jvp_call  regions [body, rule]; attrs args. rule(in..., a tangent for each of args) -> results, a tangent for each result
#include "grammar/diagnostic.h"
#include "interpreter/transform/batch.h"
#include "interpreter/transform/cotangent.h"
#include "interpreter/transform/differentiate.h"
#include "stdlib/ops/control.h"

namespace shard::stdlib {
namespace {

using transform::cotangent_type;
using transform::differentiable;

std::vector<Type> result_types(const Graph& g) {
  std::vector<Type> out;
  for (Var r : g.results) out.push_back(g.type(r));
  return out;
}

std::vector<int> indices(std::span<const char> marks) {
  std::vector<int> out;
  for (std::size_t i = 0; i < marks.size(); ++i)
    if (marks[i]) out.push_back(static_cast<int>(i));
  return out;
}

// Cotangents for the results that may get one, zeros where they did not.
void append_cotangents(Builder& b, Vars& to, const std::vector<Type>& results, const std::vector<bool>& with_ct, std::span<const Var> ct) {
  for (std::size_t r = 0; r < results.size(); ++r)
    if (with_ct[r]) to.push_back(zeros_or(b, ct[r], cotangent_type(results[r])));
}

std::vector<bool> with_cotangents(const std::vector<Type>& results, std::span<const char> given) {
  std::vector<bool> out;
  for (std::size_t r = 0; r < results.size(); ++r) out.push_back(given[r] && differentiable(results[r]));
  return out;
}

Vars scatter_to(const std::vector<int>& places, std::size_t size, std::span<const Var> values) {
  Vars out(size);
  for (std::size_t i = 0; i < places.size(); ++i) out[static_cast<std::size_t>(places[i])] = values[i];
  return out;
}

// ---- call

std::vector<Type> infer_call(const OpCall& call) {
  check_params(call, 0, call.in);
  std::string policy = text_or(call.attrs, "policy", "none");
  if (policy != "none" && policy != "dots" && policy != "all")
    fail("argument", "there is no remat policy \"" + policy + "\": \"none\" keeps nothing, \"dots\" the results of matrix products, \"all\" everything");
  return result_types(*call.regions[0]);
}

ir::Pushed push_call(Builder& b, const OpCall& call, const Vars& in, std::span<const Var> tangents) {
  std::vector<int> wrt;
  Vars operands = in;
  for (std::size_t i = 0; i < in.size(); ++i)
    if (tangents[i].valid()) wrt.push_back(static_cast<int>(i)), operands.push_back(tangents[i]);
  Vars out = b.emit(call.op, operands, call.attrs, {share(transform::jvp(b.table(), *call.regions[0], wrt))});
  auto half = static_cast<std::ptrdiff_t>(out.size() / 2);
  return {Vars(out.begin(), out.begin() + half), Vars(out.begin() + half, out.end())};
}

ir::Pullback pull_call(Builder& b, const OpCall& call, const Vars& in, std::span<const char> wanted, std::span<const char> given) {
  const ir::OpTable& table = b.table();
  const Graph& body = *call.regions[0];
  const std::vector<int> wrt = indices(wanted);
  const std::vector<Type> results = result_types(body);
  const std::vector<bool> with_ct = with_cotangents(results, given);
  const std::size_t inputs = in.size();
  const bool remat = flag_or(call.attrs, "remat", false);
  const std::string policy = text_or(call.attrs, "policy", "none");

  if (!remat || policy == "all") {   // nothing special: the parts go into the graph around
    Graph joint = transform::vjp(table, body, wrt, with_ct, true);
    transform::Halves h = transform::cut(table, joint, inputs, results.size());
    Vars out = b.inline_graph(h.first, in), kept(out.begin() + static_cast<std::ptrdiff_t>(results.size()), out.end());
    out.resize(results.size());
    auto second = share(std::move(h.second));
    return {out, [=](Builder& outer, std::span<const Var> ct) {
              Vars operands = kept;
              append_cotangents(outer, operands, results, with_ct, ct);
              return scatter_to(wrt, inputs, outer.inline_graph(*second, operands));
            }};
  }
  Vars saved;
  GraphRef forward = call.regions[0], backward;
  if (policy == "dots") {
    Graph joint = transform::vjp(table, body, wrt, with_ct, true);
    Vars cts(joint.params.begin() + static_cast<std::ptrdiff_t>(inputs), joint.params.end());
    Marks late = transform::reached(joint, cts);
    Vars first_results(joint.results.begin(), joint.results.begin() + static_cast<std::ptrdiff_t>(results.size()));
    Vars second_params(joint.params.begin(), joint.params.begin() + static_cast<std::ptrdiff_t>(inputs));
    for (const ir::Node& n : joint.nodes)
      if (n.op == table.core().contract && !late[at(n.outputs[0])]) saved.push_back(n.outputs[0]);
    append(first_results, saved);
    append(second_params, saved);
    append(second_params, cts);
    forward = share(transform::extract(table, joint, part(joint.params, 0, inputs), first_results, true));
    backward = share(transform::extract(table, joint, second_params, part(joint.results, results.size(), wrt.size()), false));
  } else {
    backward = share(transform::vjp(table, body, wrt, with_ct, false));
  }
  Vars out = b.emit(call.op, in, call.attrs, {forward}), operands = in;
  append(operands, part(out, results.size(), saved.size()));
  out.resize(results.size());
  const ir::OpDef* op = &call.op;
  const Attrs attrs = call.attrs;
  return {out, [=](Builder& outer, std::span<const Var> ct) {
            Vars args = operands;
            append_cotangents(outer, args, results, with_ct, ct);
            return scatter_to(wrt, inputs, outer.emit(*op, args, attrs, {backward}));
          }};
}

std::vector<Mapped> batch_call(Builder& b, const OpCall& call, std::span<const Mapped> in, std::int64_t size) {
  const std::vector<bool> none(call.regions[0]->results.size(), false);
  transform::Batched body = transform::batch(b.table(), *call.regions[0], mapped_of(in, 0, in.size()), size, none, transform::front_of(b, in));
  Vars operands;
  for (const Mapped& m : in) operands.push_back(m.var);
  Vars out = b.emit(call.op, operands, call.attrs, {share(std::move(body.graph))});
  std::vector<Mapped> results;
  for (std::size_t j = 0; j < out.size(); ++j) results.push_back({out[j], static_cast<bool>(body.mapped[j])});
  return results;
}

// ---- custom_vjp_call

std::vector<Type> infer_custom_vjp(const OpCall& call) {
  const Graph &body = *call.regions[0], &forward = *call.regions[1], &backward = *call.regions[2];
  const std::size_t args = count(call.attrs, "args"), n = body.results.size();
  check_params(call, 0, call.in);
  check_params(call, 1, call.in);
  if (forward.results.size() < n)
    fail("custom_vjp", "`fwd` of custom_vjp must give the function's value and what to keep; it gives " + std::to_string(forward.results.size()) +
                           " arrays and the function itself " + std::to_string(n));
  std::vector<Type> back;
  for (std::size_t r = n; r < forward.results.size(); ++r) back.push_back(forward.type(forward.results[r]));
  for (std::size_t r = 0; r < n; ++r) {
    const Type &own = body.type(body.results[r]), &fwd = forward.type(forward.results[r]);
    if (!same_type(own, fwd))
      fail("custom_vjp", "`fwd` of custom_vjp must give the function's own value: it gives " + runtime::to_string(fwd) + ", the function " + runtime::to_string(own));
    back.push_back(cotangent_type(own));
  }
  back.insert(back.end(), call.in.begin() + static_cast<std::ptrdiff_t>(args), call.in.end());
  check_params(call, 2, back);
  if (backward.results.size() != args)
    fail("custom_vjp", "`bwd` of custom_vjp must give one gradient for each argument: it gives " + std::to_string(backward.results.size()) +
                           " arrays, the arguments are " + std::to_string(args));
  for (std::size_t i = 0; i < args; ++i) {
    const Type &gradient = backward.type(backward.results[i]), want = cotangent_type(call.in[i]);
    if (differentiable(call.in[i]) && (gradient.shape != want.shape || gradient.dtype != want.dtype))
      fail("custom_vjp", "`bwd` of custom_vjp gives " + runtime::to_string(gradient) + " as the gradient of argument " + std::to_string(i + 1) +
                             ", which is " + runtime::to_string(call.in[i]));
  }
  return result_types(body);
}

ir::Pullback pull_custom_vjp(Builder& b, const OpCall& call, const Vars& in, std::span<const char> wanted, std::span<const char>) {
  const std::size_t args = count(call.attrs, "args"), n = call.regions[0]->results.size(), inputs = in.size();
  for (std::size_t i = args; i < inputs; ++i)
    if (wanted[i])
      throw grammar::Error("custom_vjp", b.span(), "a function with a gradient of its own uses a value from outside that is being differentiated",
                           {"the value has type " + runtime::to_string(call.in[i]), "pass it as an argument, so that `bwd` can give its gradient"});
  Vars out = b.inline_graph(*call.regions[1], in), operands(out.begin() + static_cast<std::ptrdiff_t>(n), out.end());
  out.resize(n);
  const Vars outside(in.begin() + static_cast<std::ptrdiff_t>(args), in.end());
  const std::vector<Type> results = result_types(*call.regions[0]);
  const GraphRef backward = call.regions[2];
  return {out, [=](Builder& outer, std::span<const Var> ct) {
            Vars all = operands;
            for (std::size_t r = 0; r < results.size(); ++r) all.push_back(zeros_or(outer, ct[r], cotangent_type(results[r])));
            append(all, outside);
            Vars found = outer.inline_graph(*backward, all);
            found.resize(inputs);
            return found;
          }};
}

ir::Pushed push_custom_vjp(Builder& b, const OpCall&, const Vars&, std::span<const Var>) {
  throw grammar::Error("not_differentiable", b.span(), "a function made by custom_vjp has a rule for reverse mode only",
                       {"use `grad` or `vjp`; forward mode over them works"});
}

std::vector<Mapped> batch_custom_vjp(Builder& b, const OpCall& call, std::span<const Mapped> in, std::int64_t size) {
  const ir::OpTable& table = b.table();
  const std::size_t args = count(call.attrs, "args"), n = call.regions[0]->results.size();
  auto front = transform::front_of(b, in);
  std::vector<bool> mapped = mapped_of(in, 0, in.size()), all(n, true), keep(call.regions[1]->results.size(), false);
  for (std::size_t r = 0; r < n; ++r) keep[r] = true;
  transform::Batched body = transform::batch(table, *call.regions[0], mapped, size, all, front);
  transform::Batched forward = transform::batch(table, *call.regions[1], mapped, size, keep, front);
  std::vector<bool> back_in(forward.mapped.begin() + static_cast<std::ptrdiff_t>(n), forward.mapped.end());
  back_in.insert(back_in.end(), n, true);
  back_in.insert(back_in.end(), mapped.begin() + static_cast<std::ptrdiff_t>(args), mapped.end());
  std::vector<bool> mapped_args(mapped.begin(), mapped.begin() + static_cast<std::ptrdiff_t>(args));
  transform::Batched back = transform::batch(table, *call.regions[2], back_in, size, mapped_args, front);
  // An argument that is the same for all gets the sum of the gradients.
  Builder r = transform::builder_like(table, back.graph);
  Vars params, operands;
  for (Var p : back.graph.params) params.push_back(r.param(back.graph.type(p)));
  Vars grads = r.inline_graph(back.graph, params);
  for (std::size_t i = 0; i < args; ++i)
    if (back.mapped[i] && !mapped[i]) grads[i] = ir::reduce_sum(r, grads[i], {0});
    else if (!mapped[i] && differentiable(call.in[i]))
      grads[i] = ir::mul(r, grads[i], ir::constant(r, static_cast<double>(size), r.type(grads[i]).dtype));
  for (const Mapped& m : in) operands.push_back(m.var);
  Vars out = b.emit(call.op, operands, call.attrs, {share(std::move(body.graph)), share(std::move(forward.graph)), share(r.finish(std::move(grads)))});
  std::vector<Mapped> results;
  for (Var v : out) results.push_back({v, true});
  return results;
}

// ---- custom_jvp_call

std::vector<Type> infer_custom_jvp(const OpCall& call) {
  const Graph &body = *call.regions[0], &rule = *call.regions[1];
  const std::size_t args = count(call.attrs, "args"), n = body.results.size();
  check_params(call, 0, call.in);
  std::vector<Type> in(call.in.begin(), call.in.end());
  in.insert(in.end(), call.in.begin(), call.in.begin() + static_cast<std::ptrdiff_t>(args));
  check_params(call, 1, in);
  bool fits = rule.results.size() == 2 * n;
  for (std::size_t r = 0; fits && r < 2 * n; ++r) fits = same_type(rule.type(rule.results[r]), body.type(body.results[r % n]));
  if (!fits) fail("custom_jvp", "the rule of custom_jvp must give the function's value and a tangent of the same type");
  return result_types(body);
}

Vars with_tangents(Builder& b, const OpCall& call, const Vars& in, std::span<const Var> tangents) {
  const std::size_t args = count(call.attrs, "args");
  Vars all = in;
  for (std::size_t i = 0; i < in.size(); ++i) {
    Var t = i < tangents.size() ? tangents[i] : Var{};
    if (i < args) all.push_back(zeros_or(b, t, call.in[i]));
    else if (t.valid())
      throw grammar::Error("custom_jvp", b.span(), "a function with a derivative of its own uses a value from outside that is being differentiated",
                           {"the value has type " + runtime::to_string(call.in[i]), "pass it as an argument"});
  }
  return all;
}

ir::Pushed push_custom_jvp(Builder& b, const OpCall& call, const Vars& in, std::span<const Var> tangents) {
  Vars out = b.inline_graph(*call.regions[1], with_tangents(b, call, in, tangents));
  auto half = static_cast<std::ptrdiff_t>(out.size() / 2);
  return {Vars(out.begin(), out.begin() + half), Vars(out.begin() + half, out.end())};
}

// Reverse mode transposes the rule, which is linear in the tangents: it is differentiated with respect to them, at zero.
ir::Pullback pull_custom_jvp(Builder& b, const OpCall& call, const Vars& in, std::span<const char> wanted, std::span<const char> given) {
  const std::size_t args = count(call.attrs, "args"), n = call.regions[0]->results.size(), inputs = in.size();
  Vars marked(inputs);
  for (std::size_t i = args; i < inputs; ++i)
    if (wanted[i]) marked[i] = in[i];
  Vars all = with_tangents(b, call, in, marked);
  std::vector<int> wrt, places;
  for (std::size_t i = 0; i < args; ++i)
    if (wanted[i]) wrt.push_back(static_cast<int>(inputs + i)), places.push_back(static_cast<int>(i));
  const std::vector<Type> results = result_types(*call.regions[0]);
  const std::vector<bool> with_ct = with_cotangents(results, given);
  std::vector<bool> tangent_ct(n, false);
  tangent_ct.insert(tangent_ct.end(), with_ct.begin(), with_ct.end());
  Graph joint = transform::vjp(b.table(), *call.regions[1], wrt, tangent_ct, true);
  transform::Halves h = transform::cut(b.table(), joint, all.size(), 2 * n);
  Vars out = b.inline_graph(h.first, all), kept(out.begin() + static_cast<std::ptrdiff_t>(2 * n), out.end());
  out.resize(n);
  auto second = share(std::move(h.second));
  return {out, [=](Builder& outer, std::span<const Var> ct) {
            Vars operands = kept;
            append_cotangents(outer, operands, results, with_ct, ct);
            return scatter_to(places, inputs, outer.inline_graph(*second, operands));
          }};
}

std::vector<Mapped> batch_custom_jvp(Builder& b, const OpCall& call, std::span<const Mapped> in, std::int64_t size) {
  const ir::OpTable& table = b.table();
  const std::size_t args = count(call.attrs, "args"), n = call.regions[0]->results.size();
  auto front = transform::front_of(b, in);
  const std::vector<bool> all_in(in.size(), true), rule_in(in.size() + args, true);   // the tangents of all are told apart anyhow
  transform::Batched body = transform::batch(table, *call.regions[0], all_in, size, std::vector<bool>(n, true), front);
  transform::Batched rule = transform::batch(table, *call.regions[1], rule_in, size, std::vector<bool>(2 * n, true), front);
  Vars operands;
  for (const Mapped& m : in) operands.push_back(mapped_var(b, m, size, front));
  std::vector<Mapped> results;
  for (Var v : b.emit(call.op, operands, call.attrs, {share(std::move(body.graph)), share(std::move(rule.graph))})) results.push_back({v, true});
  return results;
}

OpDef call_like(std::string_view name, std::string_view signature, std::string_view doc) {
  OpDef row{.name = name, .signature = signature, .doc = doc};
  row.dtype = {Operands::AsIs, {}};
  row.kernel = ir::Structure::Call;
  row.internal = true;
  return row;
}

}  // namespace

OpDef call_row() {
  OpDef row = call_like("call", "call(values: arrays)", "A function kept together; with `remat`, computed again for the backward pass.");
  row.derivative = ir::Custom{.jvp = {}, .vjp = {}, .push = push_call, .pull = pull_call};
  row.batch = batch_call;
  row.infer = infer_call;
  return row;
}

OpDef custom_vjp_row() {
  OpDef row = call_like("custom_vjp_call", "custom_vjp_call(values: arrays)", "A function with a backward rule of its own.");
  row.derivative = ir::Custom{.jvp = {}, .vjp = {}, .push = push_custom_vjp, .pull = pull_custom_vjp};
  row.batch = batch_custom_vjp;
  row.infer = infer_custom_vjp;
  return row;
}

OpDef custom_jvp_row() {
  OpDef row = call_like("custom_jvp_call", "custom_jvp_call(values: arrays)", "A function with a forward rule of its own.");
  row.derivative = ir::Custom{.jvp = {}, .vjp = {}, .push = push_custom_jvp, .pull = pull_custom_jvp};
  row.batch = batch_custom_jvp;
  row.infer = infer_custom_jvp;
  return row;
}

}  // namespace shard::stdlib
