// Calls that carry the user's own derivative beside the function.
//   custom_vjp_call  regions [body, forward, backward]; attrs args. in: args, then what the three take from outside.
//                    body(in...) -> results; forward(in...) -> results, residuals; backward(residuals, one cotangent
//                    for each result, what comes from outside...) -> a gradient for each of args
//   custom_jvp_call  regions [body, rule]; attrs args. rule(in..., a tangent for each of args) -> results, a tangent
//   for each result
#include "grammar/diagnostic.h"
#include "interpreter/transform/differentiate.h"
#include "stdlib/ops/control/control.h"

namespace shard::stdlib {
namespace {

using transform::cotangent_type;
using transform::differentiable;

// ---- custom_vjp_call

std::vector<Type> infer_custom_vjp(const OpCall& call) {
  const Graph &body = *call.regions[0], &forward = *call.regions[1], &backward = *call.regions[2];
  const std::size_t args = count(call.attrs, "args"), n = body.results.size();
  check_params(call, 0, call.in);
  check_params(call, 1, call.in);
  if (forward.results.size() < n)
    fail("custom_vjp", "`fwd` of custom_vjp must give the function's value and what to keep; it gives " +
                           std::to_string(forward.results.size()) + " arrays and the function itself " +
                           std::to_string(n));
  std::vector<Type> back;
  for (std::size_t r = n; r < forward.results.size(); ++r) back.push_back(forward.type(forward.results[r]));
  for (std::size_t r = 0; r < n; ++r) {
    const Type &own = body.type(body.results[r]), &fwd = forward.type(forward.results[r]);
    if (!same_type(own, fwd))
      fail("custom_vjp", "`fwd` of custom_vjp must give the function's own value: it gives " + runtime::to_string(fwd) +
                             ", the function " + runtime::to_string(own));
    back.push_back(cotangent_type(own));
  }
  back.insert(back.end(), call.in.begin() + static_cast<std::ptrdiff_t>(args), call.in.end());
  check_params(call, 2, back);
  if (backward.results.size() != args)
    fail("custom_vjp", "`bwd` of custom_vjp must give one gradient for each argument: it gives " +
                           std::to_string(backward.results.size()) + " arrays, the arguments are " +
                           std::to_string(args));
  for (std::size_t i = 0; i < args; ++i) {
    const Type &gradient = backward.type(backward.results[i]), want = cotangent_type(call.in[i]);
    if (differentiable(call.in[i]) && (gradient.shape != want.shape || gradient.dtype != want.dtype))
      fail("custom_vjp", "`bwd` of custom_vjp gives " + runtime::to_string(gradient) + " as the gradient of argument " +
                             std::to_string(i + 1) + ", which is " + runtime::to_string(call.in[i]));
  }
  return result_types(body);
}

ir::Pullback pull_custom_vjp(Builder& b, const OpCall& call, const Vars& in, std::span<const char> wanted,
                             std::span<const char>) {
  const std::size_t args = count(call.attrs, "args"), n = call.regions[0]->results.size(), inputs = in.size();
  for (std::size_t i = args; i < inputs; ++i)
    if (wanted[i])
      throw grammar::Error(
          "custom_vjp", b.span(),
          "a function with a gradient of its own uses a value from outside that is being differentiated",
          {"the value has type " + runtime::to_string(call.in[i]),
           "pass it as an argument, so that `bwd` can give its gradient"});
  Vars out = b.inline_graph(*call.regions[1], in), operands(out.begin() + static_cast<std::ptrdiff_t>(n), out.end());
  out.resize(n);
  const Vars outside(in.begin() + static_cast<std::ptrdiff_t>(args), in.end());
  const std::vector<Type> results = result_types(*call.regions[0]);
  const GraphRef backward = call.regions[2];
  return {out, [=](Builder& outer, std::span<const Var> ct) {
            Vars all = operands;
            for (std::size_t r = 0; r < results.size(); ++r)
              all.push_back(zeros_or(outer, ct[r], cotangent_type(results[r])));
            append(all, outside);
            Vars found = outer.inline_graph(*backward, all);
            found.resize(inputs);
            return found;
          }};
}

ir::Pushed push_custom_vjp(Builder& b, const OpCall&, const Vars&, std::span<const Var>) {
  throw grammar::Error("not_differentiable", b.span(), "a function made by custom_vjp has a rule for reverse mode only",
                       {"use `grad` or `vjp`, whose results may be differentiated forward"});
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
  Vars params;
  for (Var p : back.graph.params) params.push_back(r.param(back.graph.type(p)));
  Vars grads = r.inline_graph(back.graph, params);
  for (std::size_t i = 0; i < args; ++i)
    if (back.mapped[i] && !mapped[i])
      grads[i] = ir::reduce_sum(r, grads[i], {0});
    else if (!mapped[i] && differentiable(call.in[i]))
      grads[i] = ir::mul(r, grads[i], ir::constant(r, static_cast<double>(size), r.type(grads[i]).dtype));
  return with_marks(
      b.emit(call.op, vars_of(in), call.attrs,
             {share(std::move(body.graph)), share(std::move(forward.graph)), share(r.finish(std::move(grads)))}),
      all);
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
  for (std::size_t r = 0; fits && r < 2 * n; ++r)
    fits = same_type(rule.type(rule.results[r]), body.type(body.results[r % n]));
  if (!fits) fail("custom_jvp", "the rule of custom_jvp must give the function's value and a tangent of the same type");
  return result_types(body);
}

Vars with_tangents(Builder& b, const OpCall& call, const Vars& in, std::span<const Var> tangents) {
  const std::size_t args = count(call.attrs, "args");
  Vars all = in;
  for (std::size_t i = 0; i < in.size(); ++i) {
    Var t = i < tangents.size() ? tangents[i] : Var{};
    if (i < args)
      all.push_back(zeros_or(b, t, call.in[i]));
    else if (t.valid())
      throw grammar::Error(
          "custom_jvp", b.span(),
          "a function with a derivative of its own uses a value from outside that is being differentiated",
          {"the value has type " + runtime::to_string(call.in[i]), "pass it as an argument"});
  }
  return all;
}

ir::Pushed push_custom_jvp(Builder& b, const OpCall& call, const Vars& in, std::span<const Var> tangents) {
  return halves(b.inline_graph(*call.regions[1], with_tangents(b, call, in, tangents)));
}

// Reverse mode transposes the rule, which is linear in the tangents: it is differentiated with respect to them, at
// zero.
ir::Pullback pull_custom_jvp(Builder& b, const OpCall& call, const Vars& in, std::span<const char> wanted,
                             std::span<const char> given) {
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
  const std::vector<bool> all_in(in.size(), true),
      rule_in(in.size() + args, true);  // the tangents of all are told apart anyhow
  transform::Batched body = transform::batch(table, *call.regions[0], all_in, size, std::vector<bool>(n, true), front);
  transform::Batched rule =
      transform::batch(table, *call.regions[1], rule_in, size, std::vector<bool>(2 * n, true), front);
  Vars operands;
  for (const Mapped& m : in) operands.push_back(transform::front_mapped(b, m, size, front));
  Vars out = b.emit(call.op, operands, call.attrs, {share(std::move(body.graph)), share(std::move(rule.graph))});
  return with_marks(out, std::vector<bool>(out.size(), true));
}

}  // namespace

OpDef custom_vjp_row() {
  return region_row("custom_vjp_call(values: arrays)", "A function with a backward rule of its own.",
                    ir::Structure::Call, push_custom_vjp, pull_custom_vjp, batch_custom_vjp, infer_custom_vjp);
}

OpDef custom_jvp_row() {
  return region_row("custom_jvp_call(values: arrays)", "A function with a forward rule of its own.",
                    ir::Structure::Call, push_custom_jvp, pull_custom_jvp, batch_custom_jvp, infer_custom_jvp);
}

}  // namespace shard::stdlib
