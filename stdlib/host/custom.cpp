// remat and custom_vjp: functions that say how they are differentiated. The function is traced into a region of a `call` or
// `custom_vjp_call` node (stdlib/ops/call.cpp, custom_rule.cpp), whose derivative does the rest. Arrays among the arguments become operands; everything
// else that the functions use comes in from outside or stays as it is.
#include "interpreter/transform/cotangent.h"
#include "stdlib/host/traced_call.h"
#include "stdlib/host/transforms.h"

namespace shard::stdlib {
namespace {

using ir::Graph;
using lang::BoundArgs;
using lang::CallArg;
using lang::Interpreter;
using lang::Native;
using lang::Value;
using runtime::Type;
using trace::Tensor;

Value native(const char* name, const char* signature, const char* doc, std::function<Value(Interpreter&, BoundArgs&)> call) {
  return Value(std::make_shared<const Native>(Native{name, signature, doc, std::move(call)}));
}

// The arguments of one call: their leaves, and which of them are arrays, floats first.
struct Arguments {
  std::vector<CallArg> call;
  Value tree;                          // of the arguments' values
  std::vector<Value> leaves;
  std::vector<std::size_t> where;      // leaves that are arrays: those of floating point first
  std::size_t floats = 0;
  std::vector<Tensor> tensors;         // by `where`
  explicit Arguments(std::vector<CallArg> args) : call(std::move(args)) {
    std::vector<Value> values;
    for (const CallArg& a : call) values.push_back(a.value);
    tree = Value::tuple(std::move(values));
    leaves = lang::leaves(tree);
    for (bool wants_float : {true, false})
      for (std::size_t i = 0; i < leaves.size(); ++i)
        if (leaves[i].is_tensor() && runtime::is_float(leaves[i].tensor().type().dtype) == wants_float) {
          where.push_back(i);
          tensors.push_back(leaves[i].tensor());
          floats += wants_float;
        }
  }
  std::vector<CallArg> with(std::span<const Tensor> given) const {
    std::vector<Value> now = leaves;
    for (std::size_t k = 0; k < where.size(); ++k) now[where[k]] = given[k];
    Value rebuilt = lang::with_leaves(tree, std::move(now));
    std::vector<CallArg> out = call;
    for (std::size_t i = 0; i < out.size(); ++i) out[i].value = (*rebuilt.items())[i];
    return out;
  }
};

// ---- remat

Value remat(Interpreter&, BoundArgs& a) {
  Value f = a[0];
  std::string policy = a[1].is_string() ? a[1].str() : "none";
  return native("remat(...)", "recomputed(xs...)", "A function whose values are computed again for its gradient.", [f, policy](Interpreter& in, BoundArgs& b) {
    Arguments args(std::move(b.rest));
    TracedCall t = trace_call(in, types_of(args.tensors), false, b.span, [&](std::span<const Tensor> given) { return in.call(f, args.with(given), b.span); });
    std::vector<Tensor> operands = args.tensors;
    operands.insert(operands.end(), t.traced.captured.begin(), t.traced.captured.end());
    auto results = in.context().apply(in.context().table().at("call"), operands, {{"remat", true}, {"policy", policy}}, {t.traced.graph});
    return t.result.rebuild(results);
  });
}

// ---- custom_vjp

struct Rule {                          // the three functions, traced for one call
  TracedCall body;
  trace::Traced forward, backward;
  ResultTree residual;
  std::vector<int> gradients;          // by float argument: a result of backward, or -1 for none
};

// (value, residual) of fwd, checked against the function's own value.
void trace_forward(Interpreter& in, Rule& rule, const Value& fwd, const Arguments& args, grammar::Span span) {
  rule.forward = in.context().trace(types_of(args.tensors), [&](std::span<const Tensor> given) {
    Value result = in.call(fwd, args.with(given), span);
    auto* pair = result.items();
    if (!pair || pair->size() != 2)
      in.fail("type", span, "`fwd` of custom_vjp returns (value, residual); this returned a " + lang::kind_name(result));
    if (!lang::same_structure((*pair)[0], rule.body.result.tree))
      in.fail("type", span, "`fwd` of custom_vjp must return the function's own value first: it returned " + lang::structure((*pair)[0]) + ", the function " +
                                lang::structure(rule.body.result.tree));
    ResultTree value;
    std::vector<Tensor> out = value.take(in, (*pair)[0], true, span);
    for (const Tensor& t : rule.residual.take(in, (*pair)[1], false, span)) out.push_back(t);
    return out;
  });
}

void trace_backward(Interpreter& in, Rule& rule, const Value& bwd, const Arguments& args, grammar::Span span) {
  const Graph &f = *rule.body.traced.graph, &forward = *rule.forward.graph;
  std::vector<Type> types;
  const std::size_t kept = forward.results.size() - f.results.size();
  for (std::size_t r = f.results.size(); r < forward.results.size(); ++r) types.push_back(forward.type(forward.results[r]));
  for (ir::Var r : f.results) types.push_back(transform::cotangent_type(f.type(r)));
  rule.backward = in.context().trace(types, [&](std::span<const Tensor> given) {
    Value result = in.call(bwd, {rule.residual.rebuild(given.first(kept)), rule.body.result.rebuild(given.subspan(kept))}, span);
    auto* each = result.items();
    if (!each || each->size() != args.call.size())
      in.fail("type", span, "`bwd` of custom_vjp returns a tuple with a gradient for each of " + std::to_string(args.call.size()) + " arguments; this returned " +
                                (each ? std::to_string(each->size()) + " values" : "a " + lang::kind_name(result)),
              args.call.size() == 1 && !each ? std::vector<std::string>{"a tuple of one is written `(g,)`"} : std::vector<std::string>{});
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
        in.fail("type", span, "`bwd` of custom_vjp must return gradients with the structure of the arguments: argument " + std::to_string(i + 1) + " is " +
                                  lang::structure(argument) + ", its gradient " + lang::structure(gradient));
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
        g = in.context().apply1(*in.context().table().core().convert, {g}, {{"dtype", want.dtype}, {"weak", want.weak}});
    }
    return out;
  });
}

Value call_custom(Interpreter& in, const Value& f, const Value& fwd, const Value& bwd, std::vector<CallArg> given, grammar::Span span) {
  Arguments args(std::move(given));
  if (args.floats == 0) return in.call(f, std::move(args.call), span);   // nothing to differentiate
  for (const CallArg& a : args.call)
    if (!a.name.empty()) in.fail("call", a.span, "a function made by custom_vjp takes positional arguments only, `" + a.name + ":` was given");
  Rule rule;
  rule.body = trace_call(in, types_of(args.tensors), true, span, [&](std::span<const Tensor> t) { return in.call(f, args.with(t), span); });
  trace_forward(in, rule, fwd, args, span);
  trace_backward(in, rule, bwd, args, span);

  // One list of operands for all three: arguments, then what each captured.
  auto& ctx = in.context();
  const ir::OpTable& table = ctx.table();
  std::vector<Tensor> operands = args.tensors;
  const std::size_t n = operands.size();
  std::size_t first[3], from = n;
  const trace::Traced* traced[] = {&rule.body.traced, &rule.forward, &rule.backward};
  for (int k = 0; k < 3; ++k) {
    first[k] = from;
    from += traced[k]->captured.size();
    operands.insert(operands.end(), traced[k]->captured.begin(), traced[k]->captured.end());
  }
  const std::vector<Type> types = types_of(operands);
  auto region = [&](int k) {           // a forward region: takes all operands
    ir::Builder b(table);
    ir::Vars all, mine;
    for (const Type& t : types) all.push_back(b.param(t));
    mine.assign(all.begin(), all.begin() + static_cast<std::ptrdiff_t>(n));
    for (std::size_t i = 0; i < traced[k]->captured.size(); ++i) mine.push_back(all[first[k] + i]);
    return std::make_shared<const Graph>(b.finish(b.inline_graph(*traced[k]->graph, mine)));
  };
  const Graph& g = *rule.backward.graph;
  ir::Builder b(table);
  ir::Vars mine, outside, results;
  for (std::size_t i = 0; i + rule.backward.captured.size() < g.params.size(); ++i) mine.push_back(b.param(g.type(g.params[i])));
  for (std::size_t i = args.floats; i < types.size(); ++i) outside.push_back(b.param(types[i]));
  for (std::size_t i = 0; i < rule.backward.captured.size(); ++i) mine.push_back(outside[first[2] + i - args.floats]);
  ir::Vars found = b.inline_graph(g, mine);
  for (std::size_t k = 0; k < args.floats; ++k)
    results.push_back(rule.gradients[k] < 0 ? transform::typed_zeros(b, transform::cotangent_type(types[k])) : found[static_cast<std::size_t>(rule.gradients[k])]);
  auto backward = std::make_shared<const Graph>(b.finish(std::move(results)));
  return rule.body.result.rebuild(ctx.apply(table.at("custom_vjp_call"), operands, {{"args", static_cast<std::int64_t>(args.floats)}}, {region(0), region(1), backward}));
}

Value custom_vjp(Interpreter& in, BoundArgs& a) {
  for (int k = 0; k < 3; ++k)
    if (!a[static_cast<std::size_t>(k)].callable())
      in.fail("type", a.span, "custom_vjp takes three functions, f, fwd and bwd; this is a " + lang::kind_name(a[static_cast<std::size_t>(k)]));
  Value f = a[0], fwd = a[1], bwd = a[2];
  return native("custom_vjp(...)", "custom(xs...)", "A function with a backward rule of its own.",
                [f, fwd, bwd](Interpreter& i, BoundArgs& b) { return call_custom(i, f, fwd, bwd, std::move(b.rest), b.span); });
}

}  // namespace

void register_custom(Interpreter& in) {
  in.define({"remat", "remat(f, policy = \"none\")",
             "f, but its gradient computes the values inside again instead of keeping them. `policy:` \"none\" keeps the arguments only, \"dots\" the results of "
             "matrix products too, \"all\" everything.",
             remat});
  in.define({"custom_vjp", "custom_vjp(f, fwd, bwd)",
             "f with a gradient of its own: fwd(xs...) gives (value, residual), bwd(residual, g) a tuple with a gradient for each argument.", custom_vjp});
}

}  // namespace shard::stdlib
