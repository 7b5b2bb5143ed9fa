// grad, value_and_grad, vjp, jvp, linearize, jacobian, hessian: the function is traced, transform::vjp or ::jvp makes
// the graph of the derivative, and that graph is run like any other.
#include <numeric>

#include "interpreter/ir/builder.h"
#include "interpreter/lang/values/tree.h"
#include "interpreter/lang/values/wrapped.h"
#include "interpreter/transform/batch.h"
#include "interpreter/transform/differentiate.h"
#include "interpreter/transform/regions.h"
#include "stdlib/host/transforms/transforms.h"

namespace shard::stdlib {
namespace {

using lang::Native;

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

// ---- with respect to which arguments of a call a derivative is

struct Wrt {
  std::vector<int> args;
  bool tuple = false;
};  // tuple: gradients come as a tuple

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

// The arguments of one call, and those of them that a derivative is with respect to (positions may count from the end).
struct Chosen {
  std::vector<CallArg> call;
  std::vector<std::size_t> where;  // chosen arguments: their place in `call`
  Value all;                       // a tuple of them
  std::vector<Tensor> params;      // leaves of the chosen arguments
  bool tuple = false;
  Chosen(Interpreter& in, const Wrt& wrt, std::vector<CallArg> call, const char* who, grammar::Span span);
  std::vector<CallArg> with(std::span<const Tensor> leaves) const;  // the call with other leaves in the chosen ones
  Value like(std::span<const Tensor> leaves) const;                 // a value shaped as the chosen arguments
};

Chosen::Chosen(Interpreter& in, const Wrt& wrt, std::vector<CallArg> args, const char* who, grammar::Span span)
    : call(std::move(args)), tuple(wrt.tuple) {
  std::vector<std::size_t> positional;
  for (std::size_t i = 0; i < call.size(); ++i)
    if (call[i].name.empty()) positional.push_back(i);
  const int n = static_cast<int>(positional.size());
  std::vector<Value> values;
  for (int position : wrt.args) {
    if (position >= n || position < -n)
      in.fail("call", span,
              std::string(who) + " is with respect to argument " + std::to_string(position) +
                  ", counted from 0, and the call has " + std::to_string(n) +
                  (n == 1 ? " positional argument" : " positional arguments"));
    where.push_back(positional[static_cast<std::size_t>(position < 0 ? position + n : position)]);
    const CallArg& chosen = call[where.back()];
    for (const Tensor& t : tensor_leaves(in, chosen.value, chosen.span, who)) {
      check_float(in, t, who, chosen.span);
      params.push_back(t);
    }
    values.push_back(chosen.value);
  }
  all = Value::tuple(std::move(values));
}

std::vector<CallArg> Chosen::with(std::span<const Tensor> leaves) const {
  const Value now = with_tensors(all, leaves);
  std::vector<CallArg> args = call;
  for (std::size_t k = 0; k < where.size(); ++k) args[where[k]].value = (*now.items())[k];
  return args;
}

Value Chosen::like(std::span<const Tensor> leaves) const {
  const Value now = with_tensors(all, leaves);
  return tuple ? now : now.items()->at(0);
}

// ---- grad

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
      in.fail("type", span,
              std::string(who) + " needs a function that returns one number; it returned " + lang::kind_name(loss),
              note_if(loss.items(), "for (loss, more), write `aux: true`"));
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
  std::vector<Tensor> results = ctx.run(graph, with_captured(chosen.params, traced));
  std::span<const Tensor> all(results);
  std::size_t values = traced.graph->results.size();
  Value g = chosen.like(all.subspan(values));
  Value more = aux ? aux_tree.filled(all.subspan(1, values - 1)) : Value();
  if (!with_value) return aux ? Value::tuple({g, more}) : g;
  Value v = results[0];
  return Value::tuple({aux ? Value::tuple({v, more}) : v, g});
}

// The function that gives the gradient of `f`, with its value in front where that is asked for.
Value gradient_function(const Value& f, const Wrt& wrt, bool aux, bool with_value) {
  return lang::transformed(with_value ? "value_and_grad" : "grad", "The gradient of the function.", f,
                           [f, wrt, aux, with_value](Interpreter& i, std::vector<CallArg> args, grammar::Span span) {
                             return gradient(i, f, wrt, aux, with_value, std::move(args), span);
                           });
}

}  // namespace

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

// ---- vjp, jvp, linearize

// A function traced on all leaves of its arguments, which are of floating point.
struct AllTraced {
  TracedCall call;
  Value arguments;             // a tuple of them
  std::vector<Tensor> leaves;  // of all
  std::vector<Tensor> inputs() const { return with_captured(leaves, call.traced); }
};

AllTraced trace_all(Interpreter& in, const Value& f, std::vector<Value> args, const char* who, grammar::Span span) {
  AllTraced t;
  t.arguments = Value::tuple(std::move(args));
  t.leaves = tensor_leaves(in, t.arguments, span, who);
  t.call = trace_call(in, in.context().types_of(t.leaves), lang::Take::ArraysAndNumbers, span,
                      [&](std::span<const Tensor> given) {
                        will_be_differentiated(in);
                        const Value now = with_tensors(t.arguments, given);
                        return in.call(f, *now.items(), span);
                      });
  for (std::size_t i = 0; i < t.call.result.size(); ++i)
    if (t.call.result.place(i) < 0)
      in.fail("type", span, std::string(who) + " needs a function that returns arrays and numbers");
  for (const Tensor& leaf : t.leaves) check_float(in, leaf, who, span);
  return t;
}

// Leaves of `tree` as tensors of the types that are wanted; an error naming both where they differ.
std::vector<Tensor> matching(Interpreter& in, const Value& tree, const Value& like, std::span<const Type> want,
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
    got[i] = converted(in, got[i], want[i].dtype, want[i].weak);
  }
  return got;
}

std::vector<Type> result_types(const ir::Graph& g) {
  std::vector<Type> out;
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
  auto types = result_types(*t->call.traced.graph);
  std::vector<bool> with_ct;
  for (const auto& type : types) with_ct.push_back(runtime::is_inexact(type.dtype));
  LinearPart linear;
  Value value = run_first(
      in, *t, transform::vjp(in.context().table(), *t->call.traced.graph, iota(t->leaves.size()), with_ct, true),
      linear);
  Native pull{"pullback", "pullback(ct)", "From a cotangent of the value to one for each argument.",
              [t, types, with_ct, linear](Interpreter& i, BoundArgs& b) {
                const auto cts = matching(i, b[0], t->call.result.tree(), types, "the cotangent", b.span);
                std::vector<Tensor> args = linear.kept;
                for (std::size_t k = 0; k < types.size(); ++k)
                  if (with_ct[k]) args.push_back(cts[k]);
                return with_tensors(t->arguments, i.context().run(linear.graph, std::move(args)));
              }};
  return Value::tuple({value, Value(std::make_shared<const Native>(std::move(pull)))});
}

std::vector<Value> as_arguments(const Value& v) {
  if (v.is<std::shared_ptr<lang::Tuple>>()) return *v.items();
  return {v};
}

// These, and the tangents behind them.
std::vector<Tensor> with_tangents(Interpreter& in, std::vector<Tensor> args, const AllTraced& t,
                                  std::vector<Value> tangents, grammar::Span span) {
  for (Tensor& d : matching(in, Value::tuple(std::move(tangents)), t.arguments, in.context().types_of(t.leaves),
                            "the tangent", span))
    args.push_back(std::move(d));
  return args;
}

Value jvp(Interpreter& in, BoundArgs& a) {
  need_function(in, a, "jvp");
  auto xs = as_arguments(a[1]), ds = as_arguments(a[2]);
  if (xs.size() != ds.size())
    in.fail("call", a.span,
            "jvp has " + std::to_string(xs.size()) + " arguments and " + std::to_string(ds.size()) + " tangents");
  AllTraced t = trace_all(in, a[0], std::move(xs), "jvp", a.span);
  auto args = with_tangents(in, t.inputs(), t, std::move(ds), a.span);
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
  LinearPart linear;
  Value value =
      run_first(in, *t, transform::jvp(in.context().table(), *t->call.traced.graph, iota(t->leaves.size())), linear);
  Native push{"linear", "linear(xs...)", "The derivative at the point, applied to a direction.",
              [t, linear](Interpreter& i, BoundArgs& b) {
                std::vector<Value> tangents = positional(i, b.rest, "a linearized function");
                return t->call.result.filled(
                    i.context().run(linear.graph, with_tangents(i, linear.kept, *t, std::move(tangents), b.span)));
              }};
  return Value::tuple({value, Value(std::make_shared<const Native>(std::move(push)))});
}

// ---- jacobian and hessian: the pullback of a function, mapped over a basis of cotangents. For each array of the
// result and each array of the arguments there is one array of shape [result..., argument...]; so a tree of results
// holds trees of arguments.

// [n, y...]: the n elements of y, each 1 once.
ir::Var basis(ir::Builder& b, const Type& y) {
  const std::int64_t n = runtime::numel(y.shape);
  auto positions = [&](std::int64_t axis) {
    return b.emit1(*b.core().iota, {}, {{"shape", Shape{n, n}}, {"axis", axis}, {"dtype", DType::I32}});
  };
  Shape shape = y.shape;
  shape.insert(shape.begin(), n);
  return ir::reshape(b, ir::convert(b, b.emit1(*b.core().eq, {positions(-2), positions(-1)}), y.dtype, y.weak), shape);
}

// The derivatives of result `r` of g with respect to its first `wrt` parameters, each [y..., x...].
ir::Vars derivatives_of(ir::Builder& b, const ir::Graph& g, std::size_t r, std::size_t wrt, const ir::Vars& params) {
  const Type& y = g.type(g.results[r]);
  std::vector<bool> with_ct(g.results.size(), false);
  with_ct[r] = true;
  ir::Graph pull = transform::vjp(b.table(), g, iota(wrt), with_ct, false);
  std::vector<bool> mapped(pull.params.size(), false);
  mapped.back() = true;
  auto batched = transform::batch(b.table(), pull, mapped, runtime::numel(y.shape), true);
  ir::Vars arguments = params;
  arguments.push_back(basis(b, y));
  ir::Vars out = b.inline_graph(batched.graph, arguments);
  for (std::size_t i = 0; i < wrt; ++i) {
    Shape shape = y.shape;
    const Shape& x = g.type(g.params[i]).shape;
    shape.insert(shape.end(), x.begin(), x.end());
    out[i] = ir::reshape(b, out[i], shape);
  }
  return out;
}

Value jacobian_of(Interpreter& in, const Value& f, const Wrt& wrt, std::vector<CallArg> args, const char* who,
                  grammar::Span span) {
  const Chosen chosen(in, wrt, std::move(args), who, span);
  TracedCall t = trace_call(in, in.context().types_of(chosen.params), lang::Take::ArraysAndNumbers, span,
                            [&](std::span<const Tensor> given) {
                              will_be_differentiated(in);
                              return in.call(f, chosen.with(given), span);
                            });
  const ir::Graph& g = *t.traced.graph;
  ir::Builder b(in.context().table());
  ir::Vars params, results;
  for (ir::Var p : g.params) params.push_back(b.param(g.type(p)));
  for (std::size_t r = 0; r < g.results.size(); ++r) {
    const Type& y = g.type(g.results[r]);
    if (!runtime::is_float(y.dtype))
      in.fail("type", span,
              std::string(who) + " needs a function whose results are of floating point; this one returned " +
                  runtime::to_string(y));
    for (ir::Var v : derivatives_of(b, g, r, chosen.params.size(), params)) results.push_back(v);
  }
  const std::vector<Tensor> found = in.context().run(std::make_shared<const ir::Graph>(b.finish(std::move(results))),
                                                     with_captured(chosen.params, t.traced));
  std::vector<Value> leaves;
  for (std::size_t i = 0; i < t.result.size(); ++i) {
    if (t.result.place(i) < 0)
      in.fail("type", span, std::string(who) + " needs a function that returns arrays and numbers");
    const std::size_t from = static_cast<std::size_t>(t.result.place(i)) * chosen.params.size();
    leaves.push_back(chosen.like(std::span<const Tensor>(found).subspan(from, chosen.params.size())));
  }
  return lang::with_leaves(t.result.tree(), std::move(leaves));
}

Value make(Interpreter& in, BoundArgs& a, const char* who, const char* doc, bool twice) {
  need_function(in, a, who);
  const Wrt wrt = read_wrt(in, a[1], a.span);
  const Value of = twice ? gradient_function(a[0], wrt, false, false) : a[0];
  return lang::transformed(who, doc, a[0],
                           [of, wrt, who](Interpreter& i, std::vector<CallArg> args, grammar::Span span) {
                             return jacobian_of(i, of, wrt, std::move(args), who, span);
                           });
}

Value jacobian(Interpreter& in, BoundArgs& a) {
  return make(in, a, "jacobian", "The partial derivatives at a point.", false);
}
Value hessian(Interpreter& in, BoundArgs& a) {
  return make(in, a, "hessian", "The second derivatives at a point.", true);
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
  in.define({"jacobian",
             "jacobian(f, wrt = 0)",
             "A function that gives the partial derivatives of f, shape [result..., x...]; of a tree of results a tree "
             "of trees.",
             jacobian,
             {"jacfwd", "jacrev"}});
  in.define({"hessian", "hessian(f, wrt = 0)",
             "A function that gives the second derivatives of f, which returns one number; for a tree of arguments a "
             "tree of trees.",
             hessian});
}

}  // namespace shard::stdlib
