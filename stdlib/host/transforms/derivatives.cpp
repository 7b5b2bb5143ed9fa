// grad, value_and_grad, vjp, jvp, linearize: the function is traced, transform::vjp or ::jvp makes the graph of
// the derivative, and that graph is run like any other.
#include <numeric>

#include "interpreter/lang/values/tree_difference.h"
#include "interpreter/lang/values/wrapped.h"
#include "interpreter/transform/differentiate.h"
#include "interpreter/transform/regions.h"
#include "stdlib/host/transforms/derivatives.h"
#include "stdlib/host/transforms/transforms.h"

namespace shard::stdlib {
namespace {

using lang::BoundArgs;
using lang::CallArg;
using lang::Interpreter;
using lang::Native;
using lang::Value;
using trace::Tensor;

std::vector<Value> positional(Interpreter& in, std::vector<CallArg>& rest, const char* who) {
  std::vector<Value> out;
  for (CallArg& a : rest) {
    if (!a.name.empty())
      in.fail("call", a.span, std::string(who) + " takes positional arguments only, `" + a.name + ":` was given");
    out.push_back(std::move(a.value));
  }
  return out;
}

std::vector<int> iota(std::size_t n) {
  std::vector<int> out(n);
  std::iota(out.begin(), out.end(), 0);
  return out;
}

// One graph with parameters [p..., captured...] whose results are those of f and the gradients with respect to `wrt`;
// the cotangent of result 0 is one. A gradient is laid out as its argument where nothing else is said.
ir::GraphRef gradient_graph(const ir::OpTable& table, const ir::Graph& f, std::size_t wrt) {
  std::vector<bool> with_ct(f.results.size(), false);
  with_ct[0] = true;
  ir::Graph g = transform::vjp(table, f, iota(wrt), with_ct, true);
  ir::Builder b(table);
  ir::Vars args;
  for (std::size_t i = 0; i + 1 < g.params.size(); ++i) args.push_back(b.param(g.type(g.params[i])));
  args.push_back(ir::ones(b, g.type(g.params.back())));
  ir::Vars results = b.inline_graph(g, args);
  for (std::size_t i = 0; i < wrt; ++i) {
    ir::Var& ct = results[f.results.size() + i];
    ct = b.emit1(table.at("follow"), {ct, args[i]});
  }
  return std::make_shared<const ir::Graph>(b.finish(std::move(results)));
}

}  // namespace

Wrt read_wrt(Interpreter& in, const Value& v, grammar::Span span) {
  Wrt w;
  if (auto* items = v.items()) {
    w.tuple = true;
    for (const Value& i : *items) w.args.push_back(static_cast<int>(in.integer(i, span, "`wrt:`")));
  } else {
    w.args.push_back(static_cast<int>(in.integer(v, span, "`wrt:`")));
  }
  return w;
}

void check_float(Interpreter& in, const Tensor& t, const char* who, grammar::Span span) {
  if (!runtime::is_inexact(t.type().dtype))
    in.fail("type", span,
            std::string(who) + " needs arguments of floating point, this one is " + runtime::to_string(t.type()),
            {"cast it with `f32(x)`, or choose other arguments with `wrt:`"});
}

Chosen::Chosen(Interpreter& in, const Wrt& wrt, std::vector<CallArg> args, const char* who, grammar::Span span)
    : call(std::move(args)), tuple(wrt.tuple) {
  std::vector<std::size_t> positional;
  for (std::size_t i = 0; i < call.size(); ++i)
    if (call[i].name.empty()) positional.push_back(i);
  const int n = static_cast<int>(positional.size());
  for (int position : wrt.args) {
    if (position >= n || position < -n)
      in.fail("call", span,
              std::string(who) + " is with respect to argument " + std::to_string(position) +
                  ", counted from 0, and the call has " + std::to_string(n) +
                  (n == 1 ? " positional argument" : " positional arguments"));
    const std::size_t at = positional[static_cast<std::size_t>(position < 0 ? position + n : position)];
    auto leaves = tensor_leaves(in, call[at].value, call[at].span, who);
    for (const Tensor& t : leaves) check_float(in, t, who, call[at].span);
    where.push_back(at);
    sizes.push_back(leaves.size());
    params.insert(params.end(), leaves.begin(), leaves.end());
  }
}

std::vector<CallArg> Chosen::with(std::span<const Tensor> leaves) const {
  std::vector<CallArg> args = call;
  std::size_t from = 0;
  for (std::size_t k = 0; k < where.size(); ++k) {
    args[where[k]].value = with_tensors(args[where[k]].value, leaves.subspan(from, sizes[k]));
    from += sizes[k];
  }
  return args;
}

Value Chosen::like(std::span<const Tensor> leaves) const {
  std::vector<Value> each;
  std::size_t from = 0;
  for (std::size_t k = 0; k < where.size(); ++k) {
    each.push_back(with_tensors(call[where[k]].value, leaves.subspan(from, sizes[k])));
    from += sizes[k];
  }
  return tuple ? Value::tuple(std::move(each)) : each.at(0);
}

namespace {

Value gradient(Interpreter& in, const Value& f, const Wrt& wrt, bool aux, bool with_value, std::vector<CallArg> args,
               grammar::Span span) {
  const char* who = with_value ? "value_and_grad" : "grad";
  const Chosen chosen(in, wrt, std::move(args), who, span);
  lang::TreeStructure aux_tree;
  auto& ctx = in.context();
  trace::Traced traced = in.trace(in.context().types_of(chosen.params), [&](std::span<const Tensor> given) {
    will_be_differentiated(in);
    Value result = in.call(f, chosen.with(given), span);
    Value loss = result;
    Value extra;
    if (aux) {
      auto* parts = result.items();
      if (!parts || parts->size() != 2)
        in.fail("call", span,
                std::string(who) + " with `aux: true` needs a function that returns (value, more); it returned " +
                    lang::kind_name(result));
      loss = (*parts)[0];
      extra = (*parts)[1];
    }
    if (!loss.is_tensor() && !loss.is_host_number())
      in.fail(
          "type", span,
          std::string(who) + " needs a function that returns one number; it returned " + lang::kind_name(loss),
          loss.items() ? std::vector<std::string>{"for (loss, more), write `aux: true`"} : std::vector<std::string>{});
    Tensor value = in.tensor(loss, span);
    if (value.type().rank() != 0 || !runtime::is_float(value.type().dtype))
      in.fail("type", span,
              std::string(who) + " needs a function that returns one number of floating point; it returned " +
                  runtime::to_string(value.type()),
              {runtime::is_complex(value.type().dtype)
                   ? "a loss is real: `abs(z)`, `real(z)`; of complex results `vjp(f, z)` gives the pullback"
                   : "sum or average it, or use `vjp` or `jacobian`"});
    std::vector<Tensor> results{value}, more;
    aux_tree = take_results(in, extra, lang::Take::Arrays, more, span);
    results.insert(results.end(), more.begin(), more.end());
    return results;
  });
  ir::GraphRef graph = gradient_graph(ctx.table(), *traced.graph, chosen.params.size());
  std::vector<Tensor> operands = chosen.params;
  operands.insert(operands.end(), traced.captured.begin(), traced.captured.end());
  std::vector<Tensor> results = ctx.run(graph, std::move(operands));
  std::span<const Tensor> all(results);
  std::size_t values = traced.graph->results.size();
  Value g = chosen.like(all.subspan(values));
  Value more = aux ? aux_tree.filled(all.subspan(1, values - 1)) : Value();
  if (!with_value) return aux ? Value::tuple({g, more}) : g;
  Value v = results[0];
  return Value::tuple({aux ? Value::tuple({v, more}) : v, g});
}

}  // namespace

Value gradient_function(const Value& f, const Wrt& wrt, bool aux, bool with_value) {
  return lang::transformed(with_value ? "value_and_grad" : "grad", "The gradient of the function.", f,
                           [f, wrt, aux, with_value](Interpreter& i, std::vector<CallArg> args, grammar::Span span) {
                             return gradient(i, f, wrt, aux, with_value, std::move(args), span);
                           });
}

void need_function(Interpreter& in, BoundArgs& a, const char* who) {
  if (!a[0].callable())
    in.fail("type", a.args[0].span, std::string(who) + " takes a function first, and this is " + lang::kind_name(a[0]));
}

namespace {

Value make_gradient(Interpreter& in, BoundArgs& a, bool with_value) {
  const char* who = with_value ? "value_and_grad" : "grad";
  need_function(in, a, who);
  if (const Value& w = a[1]; a.given(1) && (w.fields() || (w.is_tensor() && w.tensor().type().rank() > 0))) {
    const auto text = [&](std::size_t i) { return std::string(in.sources().text(a.args[i].span)); };
    grammar::Diagnostic d{
        "type",
        a.args[1].span,
        std::string(who) + " takes a function and gives one, which takes the arguments: this is " + lang::kind_name(w),
        {},
        {},
        {}};
    if (in.sources().has(a.args[0].span.source) && in.sources().has(a.args[1].span.source))
      d.fixes.push_back({"call what it gives", a.span, std::string(who) + "(" + text(0) + ")(" + text(1) + ")"});
    throw grammar::Error(std::move(d));
  }
  const Wrt wrt = read_wrt(in, a[1], a.span);
  return gradient_function(a[0], wrt, in.truth(a[2], a.span), with_value);
}

// A function traced on all leaves of its arguments.
struct AllTraced {
  TracedCall call;
  std::vector<Value> trees;    // of the arguments
  std::vector<Tensor> leaves;  // of all arguments
  std::vector<Tensor> inputs() const {
    std::vector<Tensor> out = leaves;
    out.insert(out.end(), call.traced.captured.begin(), call.traced.captured.end());
    return out;
  }
};

AllTraced trace_all(Interpreter& in, const Value& f, std::vector<Value> args, const char* who, grammar::Span span) {
  AllTraced t;
  t.trees = std::move(args);
  std::vector<std::size_t> sizes;
  for (const Value& tree : t.trees) {
    auto more = tensor_leaves(in, tree, span, who);
    sizes.push_back(more.size());
    t.leaves.insert(t.leaves.end(), more.begin(), more.end());
  }
  t.call = trace_call(in, in.context().types_of(t.leaves), lang::Take::ArraysAndNumbers, span,
                      [&](std::span<const Tensor> given) {
                        will_be_differentiated(in);
                        std::vector<Value> values;
                        std::size_t from = 0;
                        for (std::size_t i = 0; i < t.trees.size(); ++i) {
                          values.push_back(with_tensors(t.trees[i], given.subspan(from, sizes[i])));
                          from += sizes[i];
                        }
                        return in.call(f, std::move(values), span);
                      });
  for (std::size_t i = 0; i < t.call.result.size(); ++i)
    if (t.call.result.place(i) < 0)
      in.fail("type", span, std::string(who) + " needs a function that returns arrays and numbers");
  return t;
}

// Leaves of `tree` as tensors of the types that are wanted; an error naming both where they differ.
std::vector<Tensor> matching(Interpreter& in, const Value& tree, const Value& like, std::span<const runtime::Type> want,
                             const char* what, grammar::Span span) {
  if (!lang::same_structure(tree, like))
    in.fail(
        "type", span,
        std::string(what) + " must have the structure " + lang::structure(like) + ", this is " + lang::structure(tree),
        lang::tree_difference(like, tree, "what is wanted", "this"));
  const std::vector<std::string> paths = lang::leaf_paths(like);
  auto got = tensor_leaves(in, tree, span, what);
  for (std::size_t i = 0; i < got.size(); ++i) {
    if (got[i].type().shape != want[i].shape)
      in.fail("shape", span,
              std::string(what) + " must be of type " + runtime::to_string(want[i]) + ", this is " +
                  runtime::to_string(got[i].type()) + (paths[i].empty() ? "" : ", at `" + paths[i] + "`"));
    if (got[i].type().dtype != want[i].dtype || got[i].type().weak != want[i].weak)
      got[i] = in.context().apply1(*in.context().table().core().convert, {got[i]},
                                   {{"dtype", want[i].dtype}, {"weak", want[i].weak}});
  }
  return got;
}

std::vector<runtime::Type> result_types(const ir::Graph& g) {
  std::vector<runtime::Type> out;
  for (ir::Var r : g.results) out.push_back(g.type(r));
  return out;
}

// The value is computed once, with what the linear part needs; that part is kept and may be applied any number of
// times.
struct LinearPart {
  ir::GraphRef graph;  // of what was kept, then its own arguments
  std::vector<Tensor> kept;
};

Value run_first(Interpreter& in, const AllTraced& t, const ir::Graph& joint, LinearPart& linear) {
  const std::size_t values = t.call.traced.graph->results.size();
  auto inputs = t.inputs();
  transform::Halves halves = transform::cut(in.context().table(), joint, inputs.size(), values);
  linear.graph = std::make_shared<const ir::Graph>(std::move(halves.second));
  auto results = in.context().run(std::make_shared<const ir::Graph>(std::move(halves.first)), std::move(inputs));
  linear.kept.assign(results.begin() + static_cast<std::ptrdiff_t>(values), results.end());
  return t.call.result.filled(std::span<const Tensor>(results).first(values));
}

Value vjp(Interpreter& in, BoundArgs& a) {
  need_function(in, a, "vjp");
  auto t = std::make_shared<AllTraced>(trace_all(in, a[0], positional(in, a.rest, "vjp"), "vjp", a.span));
  for (const Tensor& leaf : t->leaves) check_float(in, leaf, "vjp", a.span);
  auto types = result_types(*t->call.traced.graph);
  std::vector<bool> with_ct;
  for (const auto& type : types) with_ct.push_back(runtime::is_inexact(type.dtype));
  LinearPart linear;
  Value value = run_first(
      in, *t, transform::vjp(in.context().table(), *t->call.traced.graph, iota(t->leaves.size()), with_ct, true),
      linear);
  Native pull{"pullback", "pullback(ct)", "From a cotangent of the value to one for each argument.",
              [t, types, with_ct, linear](Interpreter& i, BoundArgs& b) {
                auto cts =
                    matching(i, b[0].is_none() ? Value() : b[0], t->call.result.tree(), types, "the cotangent", b.span);
                std::vector<Tensor> args = linear.kept;
                for (std::size_t k = 0; k < types.size(); ++k)
                  if (with_ct[k]) args.push_back(cts[k]);
                auto grads = i.context().run(linear.graph, std::move(args));
                std::vector<Value> out;
                std::size_t from = 0;
                for (const Value& tree : t->trees) {
                  std::size_t n = lang::leaves(tree).size();
                  out.push_back(with_tensors(tree, std::span<const Tensor>(grads).subspan(from, n)));
                  from += n;
                }
                return Value::tuple(std::move(out));
              }};
  return Value::tuple({value, Value(std::make_shared<const Native>(std::move(pull)))});
}

std::vector<Value> as_arguments(const Value& v) {
  if (v.is<std::shared_ptr<lang::Tuple>>()) return *v.items();
  return {v};
}

std::vector<Tensor> tangents_for(Interpreter& in, const AllTraced& t, std::vector<Value> tangents, const char* who,
                                 grammar::Span span) {
  for (const Tensor& leaf : t.leaves) check_float(in, leaf, who, span);
  return matching(in, Value::tuple(std::move(tangents)), Value::tuple(t.trees), in.context().types_of(t.leaves),
                  "the tangent", span);
}

Value jvp(Interpreter& in, BoundArgs& a) {
  need_function(in, a, "jvp");
  auto xs = as_arguments(a[1]), ds = as_arguments(a[2]);
  if (xs.size() != ds.size())
    in.fail("call", a.span,
            "jvp has " + std::to_string(xs.size()) + " arguments and " + std::to_string(ds.size()) + " tangents");
  AllTraced t = trace_all(in, a[0], std::move(xs), "jvp", a.span);
  auto args = t.inputs();
  for (const Tensor& d : tangents_for(in, t, std::move(ds), "jvp", a.span)) args.push_back(d);
  auto graph = std::make_shared<const ir::Graph>(
      transform::jvp(in.context().table(), *t.call.traced.graph, iota(t.leaves.size())));
  auto results = in.context().run(graph, std::move(args));
  std::span<const Tensor> all(results);
  std::size_t n = t.call.traced.graph->results.size();
  return Value::tuple({t.call.result.filled(all.first(n)), t.call.result.filled(all.subspan(n))});
}

Value linearize(Interpreter& in, BoundArgs& a) {
  need_function(in, a, "linearize");
  auto t = std::make_shared<AllTraced>(trace_all(in, a[0], positional(in, a.rest, "linearize"), "linearize", a.span));
  for (const Tensor& leaf : t->leaves) check_float(in, leaf, "linearize", a.span);
  LinearPart linear;
  Value value =
      run_first(in, *t, transform::jvp(in.context().table(), *t->call.traced.graph, iota(t->leaves.size())), linear);
  Native push{
      "linear", "linear(xs...)", "The derivative at the point, applied to a direction.",
      [t, linear](Interpreter& i, BoundArgs& b) {
        std::vector<Tensor> args = linear.kept;
        for (const Tensor& d : tangents_for(i, *t, positional(i, b.rest, "a linearized function"), "linearize", b.span))
          args.push_back(d);
        return t->call.result.filled(i.context().run(linear.graph, std::move(args)));
      }};
  return Value::tuple({value, Value(std::make_shared<const Native>(std::move(push)))});
}

}  // namespace

void register_derivatives(Interpreter& in) {
  in.define({"grad",
             "grad(f, wrt = 0, aux = false)",
             "A function that gives the gradient of f, which returns one number. `wrt`: the position of an argument, "
             "or a tuple of positions; "
             "the gradient has the structure, shapes and layouts of the argument. `aux: true`: f returns (value, "
             "more), and `more` comes along.",
             [](Interpreter& i, BoundArgs& a) { return make_gradient(i, a, false); },
             {{"backward", "gradients are a function: `grad(loss)(params)`"},
              {"zero_grad", "gradients are values that `grad(loss)(params)` returns: there is nothing to reset"},
              {"requires_grad", "gradients are a function: `grad(loss)(params)`"},
              {"no_grad", "gradients are a function, `grad(loss)(params)`; `stop_gradient(x)` holds x constant"}}});
  in.define({"value_and_grad", "value_and_grad(f, wrt = 0, aux = false)",
             "Like grad, but gives (value, gradient), computed together.",
             [](Interpreter& i, BoundArgs& a) { return make_gradient(i, a, true); }});
  in.define({"vjp", "vjp(f, xs...)",
             "The value f(xs...) and its pullback: a function from a cotangent of the value to a tuple with a gradient "
             "for each argument.",
             vjp});
  in.define({"jvp", "jvp(f, x, dx)",
             "The value f(x) and its derivative in the direction dx; tuples for several arguments.", jvp});
  in.define({"linearize", "linearize(f, xs...)",
             "The value f(xs...) and the linear function that is its derivative there.", linearize});
}

}  // namespace shard::stdlib
