// check_grads: derivatives against differences. The scalar product of the gradient with one direction is compared with
// the slope of the function along it, in f64 where the function keeps f64, else in f32 with coarser steps and
// tolerances.
#include <cmath>

#include "runtime/array/array_text.h"
#include "stdlib/host/host.h"

namespace shard::stdlib {
namespace {

using lang::BoundArgs;
using lang::Interpreter;
using lang::Value;
using runtime::DType;

Value call_builtin(Interpreter& in, const char* name, std::vector<Value> args, grammar::Span span) {
  return in.call(*in.builtin(name), std::move(args), span);
}

bool is_real(const Value& v) { return v.is<double>() || (v.is_tensor() && runtime::is_float(v.tensor().type().dtype)); }

Value cast_leaf(Interpreter& in, const Value& v, DType to, grammar::Span span) {
  if (!is_real(v)) return v;
  if (v.is<double>()) return Value(array_of(in, v, to, span));
  return Value(
      in.context().apply1(*in.context().table().core().convert, {v.tensor()}, {{"dtype", to}, {"weak", false}}));
}

// The sum of f's (real) results at x + step * direction, as a double.
class Probe {
 public:
  Probe(Interpreter& in, Value f, std::vector<Value> args, DType type, grammar::Span span)
      : in_(in), f_(std::move(f)), args_(std::move(args)), type_(type), span_(span) {}

  Value direction(const Value& leaf, std::uint64_t& seed) const {  // of size 1 in each element, with scattered signs
    const runtime::Shape& shape = leaf.tensor().type().shape;
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
        const runtime::ArrayRef a =
            runtime::to_host(in_.context().pool(), in_.context().concrete(in_.tensor(leaf, span_), "check_grads"));
        const runtime::ArrayRef w =
            weights ? runtime::to_host(in_.context().pool(), (*weights)[i].tensor().array()) : nullptr;
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
        const Value scaled = call_row(in_, "mul", std::vector<Value>{d, Value(step)}, span_);
        return call_row(in_, "add", std::vector<Value>{leaf, scaled}, span_);
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
  std::vector<Value> given;
  double tolerance = 0;
  for (lang::CallArg& x : a.rest) {
    if (x.name == "rtol")
      tolerance = in.number(x.value, x.span, "rtol");
    else if (!x.name.empty())
      in.fail("call", x.span, "check_grads has no argument called `" + x.name + "`");
    else
      given.push_back(std::move(x.value));
  }
  const auto converted = [&](DType type) {
    std::vector<Value> out;
    for (const Value& arg : given)
      out.push_back(lang::map_leaves(arg, [&](const Value& leaf) { return cast_leaf(in, leaf, type, a.span); }));
    return out;
  };
  DType type = DType::F64;
  std::vector<Value> args = converted(type);
  for (const Value& leaf : lang::leaves(in.call(a[0], args, a.span)))
    if (leaf.is_tensor() && runtime::is_float(leaf.tensor().type().dtype) && leaf.tensor().type().dtype != DType::F64)
      type = DType::F32;
  if (type == DType::F32) args = converted(type);
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
  std::vector<Value> vjp_args{a[0]};
  vjp_args.insert(vjp_args.end(), args.begin(), args.end());
  const Value both = call_builtin(in, "vjp", std::move(vjp_args), a.span);
  const Value ones = lang::map_leaves((*both.items())[0], [&](const Value& leaf) {
    return leaf.is_tensor() ? call_row(in, "ones_like", std::vector<Value>{leaf}, a.span) : leaf;
  });
  const Value gradient = in.call((*both.items())[1], std::vector<Value>{ones}, a.span);
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

void register_gradients_check(Interpreter& in) {
  in.define({"check_grads", "check_grads(f, xs...)",
             "Stops with an error where the gradient of f at xs disagrees with differences (rtol: the tolerance).",
             check_grads});
}

}  // namespace shard::stdlib
