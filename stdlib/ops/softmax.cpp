// Softmax, its logarithm, and the logarithm of a sum of exponentials, without overflow.
#include <limits>

#include "interpreter/ir/complex_parts.h"
#include "stdlib/ops/ops.h"
#include "stdlib/ops/reduction.h"

namespace shard::stdlib {
namespace {

// The largest element, finite, and without a derivative: it only keeps exponentials in range.
Expr safe_peak(const Reduction& r, const Expr& x) {
  Expr peak = r.kept("reduce_max", ir::real_part(r.b, x));
  return call("stop_gradient", {select(call("isfinite", {peak}), peak, 0.0)});
}

// The logarithm of the sum of exp(x), each as `weighted`.
template <class Weighted>
Vars log_of_sum(const Reduction& r, const Expr& x, Weighted weighted) {
  Expr peak = safe_peak(r, x);
  Expr sum = r.kept("reduce_sum", weighted(call("exp", {x - peak})));
  Expr y = call("log", {sum}) + peak;
  return {r.keep ? y.var() : expand(r.b, y, erase_axes(r.full, r.axes))};
}

// log |sum(by * exp(x))|, and nan where the sum is below 0 (SciPy and JAX); what is taken 0 times may be infinite.
Vars weighted_logsumexp(Builder& b, std::span<const Var> in, const Attrs& attrs) {
  auto [x, by] = inexact_pair(b, in);
  if (ir::is_complex(b, x)) fail("type", "logsumexp: `b:` is for real numbers");
  const auto shape = runtime::broadcast(b.type(in[0]).shape, b.type(in[1]).shape);
  if (!shape)
    fail("shape", "logsumexp: the weights `b:`, " + runtime::to_string(b.type(in[1])) + ", do not fit " +
                      runtime::to_string(b.type(in[0])));
  x = {b, ir::broadcast_to(b, x, *shape)};
  x = select({b, ir::broadcast_to(b, call("ne", {by, by.number(0)}), *shape)}, x,
             -std::numeric_limits<double>::infinity());
  const Reduction r{b, x, attrs, "logsumexp"};
  const Expr weights = by;
  return log_of_sum(r, x, [&](const Expr& e) { return weights * e; });
}

Vars logsumexp(Builder& b, std::span<const Var> in, const Attrs& attrs) {
  if (in.size() > 1) return weighted_logsumexp(b, in, attrs);
  Reduction r{b, in[0], attrs, "logsumexp"};
  Expr x = as_inexact(b, in[0]);
  if (r.count() == 0) return {r.finish(call("log", {r.run("reduce_sum", x)}))};  // -inf, of nothing
  return log_of_sum(r, x, [](const Expr& e) { return e; });
}

ir::Compose softmax(bool logarithm) {
  return [logarithm](Builder& b, std::span<const Var> in, const Attrs& attrs) -> Vars {
    Reduction r{b, in[0], attrs, logarithm ? "log_softmax" : "softmax", Ints{-1}};
    Expr x = as_inexact(b, in[0]);
    if (r.count() == 0) return {x};
    Expr shifted = x - call("stop_gradient", {r.kept("reduce_max", ir::real_part(b, x))}), e = call("exp", {shifted});
    Expr sum = r.kept("reduce_sum", e);
    return {logarithm ? shifted - call("log", {sum}) : e / sum};
  };
}

}  // namespace

void register_softmax(OpTable& t) {
  add_composite(t, "logsumexp(x, axis: ints? = none, keepdims: bool = false, b: array? = none)",
                "log(sum(exp(x))) without overflow; with weights b, log(sum(b * exp(x))).",
                {"[4, 6]; [4, 6] axis=[0]; [2, 4, 6] axis=[-2] keepdims=true; i32[4, 2] 1..5; "
                 "[4, 6] [6] 0.5..2 axis=[-1] has_b=true; [6] [4, 1] 0.5..2 axis=[0] has_b=true",
                 ir::Range{-2, 2}, "[2, 4, 6] axis=[0, 2]"},
                logsumexp);
  const ir::Samples samples{"[4, 6]; [4, 6] axis=[0]; [2, 4, 6] axis=[-2]; i32[4, 2] 1..5", ir::Range{-2, 2},
                            "[2, 4, 6] axis=[0, 2]"};
  add_composite(t, "softmax(x, axis: ints = -1)", "exp(x) divided by its sum along an axis.", samples, softmax(false));
  add_composite(t, "log_softmax(x, axis: ints = -1)", "The logarithm of softmax.", samples, softmax(true));
}

}  // namespace shard::stdlib
