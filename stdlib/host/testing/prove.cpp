// prove_equal: one computation in two modes, or on two meshes. Values and gradients are computed both ways and
// compared; the first difference is the error.
#include "interpreter/lang/report/written.h"
#include "interpreter/lang/values/wrapped.h"
#include "stdlib/host/host.h"
#include "stdlib/host/transforms/transforms.h"

namespace shard::stdlib {
namespace {

using lang::BoundArgs;
using lang::Interpreter;
using lang::Value;
using trace::Tensor;

// The value and, for the float leaves of the arguments, what its pullback makes of the value itself: a cotangent that
// is not constant.
struct Answer {
  Value value, gradients;
};

// Where each leaf of a tree stands: ".w", "[0].b"; "" for a leaf alone.
std::vector<std::string> paths(const Value& tree) {
  std::vector<std::string> out;
  for (std::size_t i = 0; i < lang::leaves(tree).size(); ++i) out.push_back(lang::leaf_at(tree, nullptr, i).path);
  return out;
}

bool has_real_elements(const Value& leaf) {
  return leaf.is<double>() || (leaf.is_tensor() && runtime::is_float(leaf.tensor().type().dtype));
}

// "argument 1 (.w)", for each float leaf of the arguments.
std::vector<std::string> float_names(const std::vector<Value>& arguments) {
  std::vector<std::string> out;
  for (std::size_t i = 0; i < arguments.size(); ++i) {
    const std::vector<Value> leaves = lang::leaves(arguments[i]);
    const std::vector<std::string> at = paths(arguments[i]);
    for (std::size_t k = 0; k < leaves.size(); ++k)
      if (has_real_elements(leaves[k]))
        out.push_back("argument " + std::to_string(i) + (at[k].empty() ? "" : " (" + at[k] + ")"));
  }
  return out;
}

Answer answer(Interpreter& in, const Value& f, const Value& arguments, grammar::Span span) {
  std::vector<Value> floats;
  for (const Value& leaf : lang::leaves(arguments))
    if (has_real_elements(leaf)) floats.push_back(leaf);
  const Value of_floats =
      lang::transformed("prove_equal", "", f, [=](Interpreter& i, std::vector<lang::CallArg> given, grammar::Span at) {
        std::size_t next = 0;
        const Value now = lang::map_leaves(
            arguments, [&](const Value& leaf) { return has_real_elements(leaf) ? given[next++].value : leaf; });
        return i.call(f, *now.items(), at);
      });
  if (floats.empty()) return {in.call(f, *arguments.items(), span), Value()};
  std::vector<Value> call{of_floats};
  call.insert(call.end(), floats.begin(), floats.end());
  Value pair = in.call(*in.builtin("vjp"), std::move(call), span);
  const auto& parts = *pair.items();
  return {parts[0], in.call(parts[1], {parts[0]}, span)};
}

void compare(Interpreter& in, const std::string& what, const std::vector<std::string>& names, const Value& got,
             const Value& want, double rtol, double atol, grammar::Span span) {
  if (!lang::same_structure(got, want))
    in.fail("assert", span, what + ": the two differ in structure",
            {"the first is " + lang::structure(got), "the second is " + lang::structure(want)});
  auto xs = lang::leaves(got), ys = lang::leaves(want);
  for (std::size_t i = 0; i < xs.size(); ++i) {
    if (!xs[i].is_tensor() && !xs[i].is_host_number()) continue;
    const std::string name = i < names.size() && !names[i].empty() ? " " + names[i] : "";
    compare_close(in, in.tensor(xs[i], span).array(), in.tensor(ys[i], span).array(), rtol, atol, span,
                  what + name + ": ");
  }
}

Value prove_equal(Interpreter& in, BoundArgs& a) {
  double rtol = 1e-5, atol = 1e-6;
  std::vector<Value> args;
  for (lang::CallArg& x : a.rest) {
    if (x.name == "rtol")
      rtol = in.number(x.value, x.span, "rtol");
    else if (x.name == "atol")
      atol = in.number(x.value, x.span, "atol");
    else if (x.name.empty())
      args.push_back(std::move(x.value));
    else
      in.fail("call", x.span, "prove_equal has no argument `" + x.name + "`",
              {"it takes two functions, their arguments, and rtol:, atol:"});
  }
  if (in.context().tracing())
    in.fail("call", a.span, "prove_equal compares results, so it stands outside of traced code");
  Value tree = Value::tuple(std::move(args));
  Answer first = answer(in, a[0], tree, a.span), second = answer(in, a[1], tree, a.span);
  compare(in, "the values", paths(first.value), first.value, second.value, rtol, atol, a.span);
  compare(in, "the gradients with respect to", float_names(*tree.items()), first.gradients, second.gradients, rtol,
          atol, a.span);
  return {};
}

}  // namespace

void register_prove(Interpreter& in) {
  in.define({"prove_equal", "prove_equal(f, g, xs...)",
             "Computes f(xs...) and g(xs...), and the gradients of both, and stops with the first difference: for one "
             "computation in two modes, or on two "
             "meshes. `rtol:` and `atol:` as for assert_close.",
             prove_equal});
}

}  // namespace shard::stdlib
