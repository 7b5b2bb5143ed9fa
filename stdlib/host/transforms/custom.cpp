// custom_vjp and custom_jvp: functions that say how they are differentiated. The function and its rules are traced into
// regions of one node (stdlib/ops/control/custom_rule.cpp), whose derivative does the rest. Arrays among the arguments
// become operands; everything else that the functions use comes in from outside or stays as it is.
// Rules are traced where a derivative is asked for, and then once; else the function is called as it is. A rule may
// call its own function: inside, one derivative less is to come.
#include "interpreter/lang/values/wrapped.h"
#include "interpreter/transform/differentiate.h"
#include "stdlib/host/transforms/transforms.h"

namespace shard::stdlib {
namespace {

using ir::Graph;

// Loops in a rule of the user's own stand for one kernel of a chip (interpreter/cost_model/instructions.h).
std::shared_ptr<const Graph> as_kernels(Graph g) {
  for (ir::Node& n : g.nodes)
    if (const ir::Structure* s = ir::structure_of(*n.op); s && *s == ir::Structure::Scan) n.attrs.set("kernel", true);
  return std::make_shared<const Graph>(std::move(g));
}

// The function's value, traced. Nothing differentiates it: that is what the rule is for.
TracedCall trace_body(Interpreter& in, const Value& f, const CallArrays& args, grammar::Span span) {
  return trace_call(in, in.context().types_of(args.tensors), lang::Take::ArraysAndNumbers, span,
                    [&](std::span<const Tensor> given) {
                      in.context().frame()->derivatives = 0;
                      return in.call(f, args.with(given), span);
                    });
}

// Whether nothing differentiates this call: then the function is called as it is.
bool is_plain(Interpreter& in, const CallArrays& args, const char* who) {
  if (args.floats == 0) return true;
  for (const CallArg& a : args.call)
    if (!a.name.empty())
      in.fail(
          "call", a.span,
          std::string("a function made by ") + who + " takes positional arguments only, `" + a.name + ":` was given");
  const trace::FrameRef& frame = in.context().frame();
  return !frame || frame->derivatives == 0;
}

// What was traced as a region that takes all operands (and a tangent for each of the first `tangents` behind them): it
// uses the `own` first ones, and what it captured itself, which begins at `first`.
Graph region(const ir::OpTable& table, const trace::Traced& t, std::span<const Type> operands, std::size_t own,
             std::size_t first, std::size_t tangents = 0) {
  ir::Builder b(table);
  ir::Vars all, mine;
  for (const Type& type : operands) all.push_back(b.param(type));
  for (std::size_t k = 0; k < tangents; ++k) all.push_back(b.param(operands[k]));
  mine.assign(all.begin(), all.begin() + static_cast<std::ptrdiff_t>(own));
  for (std::size_t k = 0; k < tangents; ++k) mine.push_back(all[operands.size() + k]);
  for (std::size_t i = 0; i < t.captured.size(); ++i) mine.push_back(all[first + i]);
  return b.finish(b.inline_graph(*t.graph, mine));
}

// ---- custom_vjp

struct Rule {  // the three functions, traced for one call
  TracedCall body;
  trace::Traced forward, backward;
  lang::TreeStructure residual;
  std::vector<int> gradients;  // by float argument: a result of backward, or -1 for none
};

// (value, residual) of fwd, checked against the function's own value.
void trace_forward(Interpreter& in, Rule& rule, const Value& fwd, const CallArrays& args, grammar::Span span) {
  rule.forward = in.context().trace(in.context().types_of(args.tensors), [&](std::span<const Tensor> given) {
    --in.context().frame()->derivatives;
    Value result = in.call(fwd, args.with(given), span);
    auto* pair = result.items();
    if (!pair || pair->size() != 2)
      in.fail("type", span, "`fwd` of custom_vjp returns (value, residual); this returned " + lang::kind_name(result));
    if (!lang::same_structure((*pair)[0], rule.body.result.tree()))
      in.fail("type", span,
              "`fwd` of custom_vjp must return the function's own value first: it returned " +
                  lang::structure((*pair)[0]) + ", the function " + lang::structure(rule.body.result.tree()));
    std::vector<Tensor> out, kept;
    take_results(in, (*pair)[0], lang::Take::ArraysAndNumbers, out, span);
    rule.residual = take_results(in, (*pair)[1], lang::Take::Arrays, kept, span);
    out.insert(out.end(), kept.begin(), kept.end());
    return out;
  });
}

void trace_backward(Interpreter& in, Rule& rule, const Value& bwd, const CallArrays& args, grammar::Span span) {
  const Graph &f = *rule.body.traced.graph, &forward = *rule.forward.graph;
  std::vector<Type> types;
  const std::size_t kept = forward.results.size() - f.results.size();
  for (std::size_t r = f.results.size(); r < forward.results.size(); ++r)
    types.push_back(forward.type(forward.results[r]));
  for (ir::Var r : f.results) types.push_back(transform::cotangent_type(f.type(r)));
  rule.backward = in.context().trace(types, [&](std::span<const Tensor> given) {
    --in.context().frame()->derivatives;
    Value result =
        in.call(bwd, {rule.residual.filled(given.first(kept)), rule.body.result.filled(given.subspan(kept))}, span);
    auto* each = result.items();
    if (!each || each->size() != args.call.size())
      in.fail("type", span,
              "`bwd` of custom_vjp returns a tuple with a gradient for each of " + std::to_string(args.call.size()) +
                  " arguments; this returned " +
                  (each ? std::to_string(each->size()) + (each->size() == 1 ? " value" : " values")
                        : lang::kind_name(result)),
              note_if(args.call.size() == 1 && !each, "a tuple of one is written `(g,)`"));
    std::vector<Tensor> out;
    std::vector<int> by_leaf;
    for (std::size_t i = 0; i < args.call.size(); ++i) {
      const Value &gradient = (*each)[i], &argument = args.call[i].value;
      std::size_t n = lang::leaves(argument).size();
      if (gradient.is_none()) {
        by_leaf.insert(by_leaf.end(), n, -1);
        continue;
      }
      if (!lang::same_structure(gradient, argument))
        in.fail("type", span,
                "`bwd` of custom_vjp must return gradients with the structure of the arguments: argument " +
                    std::to_string(i + 1) + " is " + lang::structure(argument) + ", its gradient " +
                    lang::structure(gradient));
      for (const Value& leaf : lang::leaves(gradient)) {
        bool number = leaf.is_tensor() || leaf.is_host_number();
        by_leaf.push_back(number ? static_cast<int>(out.size()) : -1);
        if (number) out.push_back(in.tensor(leaf, span));
      }
    }
    for (std::size_t k = 0; k < args.floats; ++k) {
      int r = by_leaf.at(args.where[k]);
      rule.gradients.push_back(r);
      if (r < 0) continue;
      Tensor& g = out[static_cast<std::size_t>(r)];
      const Type& want = args.tensors[k].type();
      if (g.type().weak != want.weak && (g.type().weak || g.type().dtype == want.dtype))
        g = converted(in, g, want.dtype, want.weak);
    }
    return out;
  });
}

Value call_custom(Interpreter& in, const Value& f, const Value& fwd, const Value& bwd, std::vector<CallArg> given,
                  grammar::Span span) {
  CallArrays args(std::move(given));
  if (is_plain(in, args, "custom_vjp")) return in.call(f, std::move(args.call), span);
  Rule rule;
  rule.body = trace_body(in, f, args, span);
  trace_forward(in, rule, fwd, args, span);
  trace_backward(in, rule, bwd, args, span);

  // One list of operands for all three: arguments, then what each captured.
  auto& ctx = in.context();
  const ir::OpTable& table = ctx.table();
  std::vector<Tensor> operands = args.tensors;
  const std::size_t n = operands.size();
  std::size_t first[3];
  const trace::Traced* traced[] = {&rule.body.traced, &rule.forward, &rule.backward};
  for (int k = 0; k < 3; ++k) {
    first[k] = operands.size();
    operands = with_captured(std::move(operands), *traced[k]);
  }
  const std::vector<Type> types = in.context().types_of(operands);
  const auto forward = [&](int k) { return as_kernels(region(table, *traced[k], types, n, first[k])); };
  const Graph& g = *rule.backward.graph;
  ir::Builder b(table);
  ir::Vars mine, outside, results;
  for (std::size_t i = 0; i + rule.backward.captured.size() < g.params.size(); ++i)
    mine.push_back(b.param(g.type(g.params[i])));
  for (std::size_t i = args.floats; i < types.size(); ++i) outside.push_back(b.param(types[i]));
  for (std::size_t i = 0; i < rule.backward.captured.size(); ++i) mine.push_back(outside[first[2] + i - args.floats]);
  ir::Vars found = b.inline_graph(g, mine);
  for (std::size_t k = 0; k < args.floats; ++k)
    results.push_back(rule.gradients[k] < 0 ? transform::typed_zeros(b, transform::cotangent_type(types[k]))
                                            : found[static_cast<std::size_t>(rule.gradients[k])]);
  auto backward = as_kernels(b.finish(std::move(results)));
  return rule.body.result.filled(ctx.apply(table.at("custom_vjp_call"), operands,
                                           {{"args", static_cast<std::int64_t>(args.floats)}},
                                           {forward(0), forward(1), backward}));
}

Value custom_vjp(Interpreter& in, BoundArgs& a) {
  for (std::size_t k = 0; k < 3; ++k)
    if (!a[k].callable())
      in.fail("type", a.span, "custom_vjp takes three functions, f, fwd and bwd; this is " + lang::kind_name(a[k]));
  Value f = a[0], fwd = a[1], bwd = a[2];
  return lang::transformed("custom_vjp", "It has a backward rule of its own.", f,
                           [f, fwd, bwd](Interpreter& i, std::vector<CallArg> args, grammar::Span span) {
                             return call_custom(i, f, fwd, bwd, std::move(args), span);
                           });
}

// ---- custom_jvp

// The rule on arguments and their tangents: (value, tangent), each as the function gives it. Results: values, then
// tangents.
trace::Traced trace_rule(Interpreter& in, const Value& rule, const CallArrays& args, const TracedCall& body,
                         grammar::Span span) {
  std::vector<Type> types = in.context().types_of(args.tensors);
  const std::size_t n = types.size();
  for (std::size_t k = 0; k < args.floats; ++k) types.push_back(types[k]);
  const Graph& f = *body.traced.graph;
  return in.context().trace(types, [&](std::span<const Tensor> given) {
    --in.context().frame()->derivatives;
    std::vector<Value> tangents(args.tree.size(), Value(std::int64_t{0}));  // of what is no float: 0
    for (std::size_t k = 0; k < args.floats; ++k) tangents[args.where[k]] = given[n + k];
    std::vector<CallArg> now = args.with(given.first(n));
    std::vector<Value> values;
    for (CallArg& c : now) values.push_back(std::move(c.value));
    Value moved = lang::with_leaves(args.tree.tree(), std::move(tangents));
    const bool one = values.size() == 1;
    Value result = in.call(rule, {one ? values[0] : Value::tuple(values), one ? (*moved.items())[0] : moved}, span);
    const auto* pair = result.items();
    if (!pair || pair->size() != 2)
      in.fail("type", span,
              "the rule of custom_jvp returns (value, tangent); this returned " + lang::kind_name(result));
    std::vector<Tensor> out;
    for (std::size_t k = 0; k < 2; ++k) {
      const char* what = k == 0 ? "the value" : "a tangent of the same structure";
      if (!lang::same_structure((*pair)[k], body.result.tree()))
        in.fail("type", span,
                std::string("the rule of custom_jvp must return ") + what + ": it returned " +
                    lang::structure((*pair)[k]) + ", the function " + lang::structure(body.result.tree()));
      std::vector<Tensor> found;
      take_results(in, (*pair)[k], lang::Take::ArraysAndNumbers, found, span);
      if (found.size() != f.results.size())
        in.fail("type", span, "the rule of custom_jvp must give an array or a number where the function gives one");
      for (std::size_t r = 0; r < found.size(); ++r) {
        const Type &got = found[r].type(), &want = f.type(f.results[r]);
        if (got.shape != want.shape || (got.dtype != want.dtype && !got.weak))
          in.fail("type", span,
                  std::string("the rule of custom_jvp gives ") + (k == 0 ? "a value" : "a tangent") + " of type " +
                      runtime::to_string(got) + ", the function's value is " + runtime::to_string(want));
        out.push_back(converted(in, found[r], want.dtype, want.weak));
      }
    }
    return out;
  });
}

Value call_with_rule(Interpreter& in, const Value& f, const Value& rule, std::vector<CallArg> given,
                     grammar::Span span) {
  CallArrays args(std::move(given));
  if (is_plain(in, args, "custom_jvp")) return in.call(f, std::move(args.call), span);
  const TracedCall body = trace_body(in, f, args, span);
  const trace::Traced derivative = trace_rule(in, rule, args, body, span);
  auto& ctx = in.context();
  const std::size_t n = args.tensors.size(), of_body = body.traced.captured.size();
  const std::vector<Tensor> operands = with_captured(with_captured(args.tensors, body.traced), derivative);
  const std::vector<Type> types = in.context().types_of(operands);
  const auto whole = [&](const trace::Traced& t, std::size_t tangents, std::size_t first) {
    return std::make_shared<const Graph>(region(ctx.table(), t, types, n, first, tangents));
  };
  return body.result.filled(ctx.apply(ctx.table().at("custom_jvp_call"), operands,
                                      {{"args", static_cast<std::int64_t>(args.floats)}},
                                      {whole(body.traced, 0, n), whole(derivative, args.floats, n + of_body)}));
}

Value custom_jvp(Interpreter& in, BoundArgs& a) {
  for (std::size_t k = 0; k < 2; ++k)
    if (!a[k].callable())
      in.fail("type", a.span, "custom_jvp takes two functions, f and its rule; this is " + lang::kind_name(a[k]));
  Value f = a[0], rule = a[1];
  return lang::transformed("custom_jvp", "It has a forward rule of its own.", f,
                           [f, rule](Interpreter& i, std::vector<CallArg> args, grammar::Span span) {
                             return call_with_rule(i, f, rule, std::move(args), span);
                           });
}

}  // namespace

void register_custom(Interpreter& in) {
  in.define({"custom_jvp", "custom_jvp(f, rule)",
             "f with a derivative of its own: rule(x, dx) gives (value, tangent), where dx is the tangent of the "
             "argument; tuples for several arguments.",
             custom_jvp});
  in.define({"custom_vjp", "custom_vjp(f, fwd, bwd)",
             "f with a gradient of its own: fwd(xs...) gives (value, residual), bwd(residual, g) a tuple with a "
             "gradient for each argument.",
             custom_vjp});
}

}  // namespace shard::stdlib
