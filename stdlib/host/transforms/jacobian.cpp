// jacobian and hessian: the pullback of a function, mapped over a basis of cotangents. For each array of the result and
// each array of the arguments there is one array of shape [result..., argument...]; so a tree of results holds trees of
// arguments.
#include "interpreter/ir/builder.h"
#include "interpreter/lang/values/wrapped.h"
#include "interpreter/transform/batch.h"
#include "interpreter/transform/differentiate.h"
#include "stdlib/host/transforms/transforms.h"

namespace shard::stdlib {
namespace {

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

void register_jacobian(Interpreter& in) {
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
