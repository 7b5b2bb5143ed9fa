// prove_equal and check_grads: whether values and gradients are what they should be.
#include <cmath>

#include "interpreter/lang/report/written.h"
#include "interpreter/lang/values/wrapped.h"
#include "runtime/array/array_text.h"
#include "stdlib/host/host.h"
#include "stdlib/host/transforms/transforms.h"

namespace shard::stdlib {
namespace {

// ---- prove_equal: one computation in two modes, or on two meshes. Values and gradients are computed both ways and
// compared; the first difference is the error.

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

bool is_real(const Value& v) { return v.is<double>() || (v.is_tensor() && runtime::is_float(v.tensor().type().dtype)); }

// A number among the arguments that has this name, taken out.
double take_number(Interpreter& in, BoundArgs& a, const char* name, double otherwise) {
  const auto x = take_named(a, name);
  return x ? in.number(x->value, x->span, name) : otherwise;
}

// The value of f and its pullback.
std::vector<Value> value_and_pullback(Interpreter& in, const Value& f, const std::vector<Value>& args,
                                      grammar::Span span) {
  std::vector<Value> call{f};
  call.insert(call.end(), args.begin(), args.end());
  return *in.call(*in.builtin("vjp"), std::move(call), span).items();
}

// "argument 1 (.w)", for each float leaf of the arguments.
std::vector<std::string> float_names(const std::vector<Value>& arguments) {
  std::vector<std::string> out;
  for (std::size_t i = 0; i < arguments.size(); ++i) {
    const std::vector<Value> leaves = lang::leaves(arguments[i]);
    const std::vector<std::string> at = paths(arguments[i]);
    for (std::size_t k = 0; k < leaves.size(); ++k)
      if (is_real(leaves[k]))
        out.push_back("argument " + std::to_string(i) + (at[k].empty() ? "" : " (" + at[k] + ")"));
  }
  return out;
}

Answer answer(Interpreter& in, const Value& f, const Value& arguments, grammar::Span span) {
  std::vector<Value> floats;
  for (const Value& leaf : lang::leaves(arguments))
    if (is_real(leaf)) floats.push_back(leaf);
  const Value of_floats =
      lang::transformed("prove_equal", "", f, [=](Interpreter& i, std::vector<CallArg> given, grammar::Span at) {
        std::size_t next = 0;
        const Value now =
            lang::map_leaves(arguments, [&](const Value& leaf) { return is_real(leaf) ? given[next++].value : leaf; });
        return i.call(f, *now.items(), at);
      });
  if (floats.empty()) return {in.call(f, *arguments.items(), span), Value()};
  const std::vector<Value> parts = value_and_pullback(in, of_floats, floats, span);
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
  const double rtol = take_number(in, a, "rtol", 1e-5), atol = take_number(in, a, "atol", 1e-6);
  std::vector<Value> args;
  for (CallArg& x : a.rest) {
    if (!x.name.empty())
      in.fail("call", x.span, "prove_equal has no argument `" + x.name + "`",
              {"it takes two functions, their arguments, and rtol:, atol:"});
    args.push_back(std::move(x.value));
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

// ---- check_grads: derivatives against differences. The scalar product of the gradient with one direction is compared
// with the slope of the function along it, in f64 where the function keeps f64, else in f32 with coarser steps and
// tolerances.
Value cast_leaf(Interpreter& in, const Value& v, DType to, grammar::Span span) {
  if (!is_real(v)) return v;
  if (v.is<double>()) return Value(array_of(in, v, to, span));
  return Value(converted(in, v.tensor(), to));
}

// The sum of f's (real) results at x + step * direction, as a double.
class Probe {
 public:
  Probe(Interpreter& in, Value f, std::vector<Value> args, DType type, grammar::Span span)
      : in_(in), f_(std::move(f)), args_(std::move(args)), type_(type), span_(span) {}

  Value direction(const Value& leaf, std::uint64_t& seed) const {  // of size 1 in each element, with scattered signs
    const Shape& shape = leaf.tensor().type().shape;
    std::vector<double> d(static_cast<std::size_t>(runtime::numel(shape)));
    for (double& x : d) {
      seed = seed * 6364136223846793005u + 1442695040888963407u;
      x = (seed >> 63 ? 1.0 : -1.0) * (0.5 + static_cast<double>(seed >> 40 & 0xffff) / 131072.0);
    }
    return cast_leaf(in_, Value(new_array(in_, DType::F64, shape, d.data())), type_, span_);
  }

  // Sum of a tree's real leaves times those of `weights` (1 where there are none).
  double total(const Value& tree, const std::vector<Value>* weights) const {
    double sum = 0;
    std::size_t i = 0;
    for (const Value& leaf : lang::leaves(tree)) {
      if (is_real(leaf)) {
        const ArrayRef a = on_host(in_, in_.tensor(leaf, span_), "check_grads");
        const ArrayRef w = weights ? runtime::to_host(in_.context().pool(), (*weights)[i].tensor().array()) : nullptr;
        for (std::int64_t k = 0, n = runtime::numel(a->type.shape); k < n; ++k)
          sum += runtime::element_double(*a, k) * (w ? runtime::element_double(*w, k) : 1.0);
      }
      ++i;
    }
    return sum;
  }

  Value at(const std::vector<Value>& directions, double step) const {
    std::size_t i = 0;
    std::vector<Value> args;
    for (const Value& arg : args_)
      args.push_back(lang::map_leaves(arg, [&](const Value& leaf) -> Value {
        const Value& d = directions[i++];
        if (!is_real(leaf)) return leaf;
        const Value scaled = call_row(in_, "mul", {d, Value(step)}, span_);
        return call_row(in_, "add", {leaf, scaled}, span_);
      }));
    return in_.call(f_, std::move(args), span_);
  }

 private:
  Interpreter& in_;
  Value f_;
  std::vector<Value> args_;
  DType type_;
  grammar::Span span_;
};

Value check_grads(Interpreter& in, BoundArgs& a) {
  if (!a[0].callable()) in.fail("type", a.span, "check_grads takes a function and its arguments: check_grads(f, x, y)");
  double tolerance = take_number(in, a, "rtol", 0);
  std::vector<Value> given;
  for (CallArg& x : a.rest) {
    if (!x.name.empty()) in.fail("call", x.span, "check_grads has no argument called `" + x.name + "`");
    given.push_back(std::move(x.value));
  }
  const auto cast_all = [&](DType type) {
    std::vector<Value> out;
    for (const Value& arg : given)
      out.push_back(lang::map_leaves(arg, [&](const Value& leaf) { return cast_leaf(in, leaf, type, a.span); }));
    return out;
  };
  DType type = DType::F64;
  std::vector<Value> args = cast_all(type);
  for (const Value& leaf : lang::leaves(in.call(a[0], args, a.span)))
    if (leaf.is_tensor() && runtime::is_float(leaf.tensor().type().dtype) && leaf.tensor().type().dtype != DType::F64)
      type = DType::F32;
  if (type == DType::F32) args = cast_all(type);
  const double step = type == DType::F64 ? 1e-5 : 1e-2;
  if (tolerance == 0) tolerance = type == DType::F64 ? 1e-5 : 2e-2;

  const Probe probe(in, a[0], args, type, a.span);
  std::vector<Value> directions;
  std::uint64_t seed = 1;
  bool any = false;
  for (const Value& arg : args)
    for (const Value& leaf : lang::leaves(arg)) {
      directions.push_back(is_real(leaf) ? probe.direction(leaf, seed) : leaf);
      any = any || is_real(leaf);
    }
  if (!any) in.fail("type", a.span, "check_grads needs an argument with real numbers to vary");

  // The pullback of ones is the gradient of the sum of all results.
  const std::vector<Value> both = value_and_pullback(in, a[0], args, a.span);
  const Value ones = lang::map_leaves(
      both[0], [&](const Value& leaf) { return leaf.is_tensor() ? call_row(in, "ones_like", {leaf}, a.span) : leaf; });
  const Value gradient = in.call(both[1], {ones}, a.span);
  double by_rule = 0;
  std::size_t first = 0;
  for (std::size_t i = 0; i < args.size(); ++i) {
    const std::size_t n = lang::leaves(args[i]).size();
    const std::vector<Value> part(directions.begin() + static_cast<std::ptrdiff_t>(first),
                                  directions.begin() + static_cast<std::ptrdiff_t>(first + n));
    by_rule += probe.total((*gradient.items())[i], &part);
    first += n;
  }
  const double by_difference =
      (probe.total(probe.at(directions, step), nullptr) - probe.total(probe.at(directions, -step), nullptr)) /
      (2 * step);
  if (std::fabs(by_rule - by_difference) > tolerance * std::max({1.0, std::fabs(by_rule), std::fabs(by_difference)}) ||
      std::isnan(by_rule) != std::isnan(by_difference))
    in.fail("assert", a.span,
            "the gradient disagrees with differences: " + runtime::format_double(by_rule) + " by the rules, " +
                runtime::format_double(by_difference) + " by differences",
            {"both are slopes of the sum of the results along one direction",
             "tolerance: rtol " + runtime::format_double(tolerance)});
  return {};
}

}  // namespace

void register_prove(Interpreter& in) {
  in.define({"prove_equal", "prove_equal(f, g, xs...)",
             "Computes f(xs...) and g(xs...), and the gradients of both, and stops with the first difference: for one "
             "computation in two modes, or on two "
             "meshes. `rtol:` and `atol:` as for assert_close.",
             prove_equal});
  in.define({"check_grads", "check_grads(f, xs...)",
             "Stops with an error where the gradient of f at xs disagrees with differences (rtol: the tolerance).",
             check_grads});
}

}  // namespace shard::stdlib
