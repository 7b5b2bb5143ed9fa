// Pools: the largest or the mean of each window of x [batch..., spatial..., C].
#include <algorithm>
#include <cmath>
#include <limits>

#include "stdlib/ops/moving/moving_steps.h"
#include "stdlib/ops/ops.h"
#include "stdlib/ops/products/windows.h"

namespace shard::stdlib {
namespace {

Ints pool_window(const Builder& b, Var x, const Attrs& attrs) {
  Ints window = *ints_if(attrs, "window");
  std::size_t rank = b.type(x).shape.size();
  if (window.size() == 1 && rank > 3) window.resize(rank - 2, window[0]);
  for (auto n : window)
    if (n < 1) fail("value", "a window is positive");
  return window;
}

// The first of equals takes the whole derivative, as XLA's select_and_scatter gives it.
Vars max_pool(Builder& b, std::span<const Var> in, const Attrs& attrs) {
  Ints window = pool_window(b, in[0], attrs);
  DType dtype = b.type(in[0]).dtype;
  double lowest = runtime::is_float(dtype)    ? -std::numeric_limits<double>::infinity()
                  : runtime::is_signed(dtype) ? -std::ldexp(1.0, static_cast<int>(runtime::size_of(dtype)) * 8 - 1)
                                              : 0;
  Var all = windowed(b, in[0], plan_of(b, in[0], window, attrs), lowest);
  Shape shape = b.type(all).shape;
  std::size_t count = window.size(), at_window = shape.size() - 1 - count;
  const std::int64_t size = runtime::numel(window);
  Shape flat(shape.begin(), shape.begin() + static_cast<std::ptrdiff_t>(at_window));
  flat.push_back(size);
  flat.push_back(shape.back());
  Expr x{b, expand(b, all, flat)};
  Var best = b.call("arg_max", {x}, {{"axis", std::int64_t{-2}}});
  Shape beside = flat;
  beside[at_window] = 1;
  Expr i = positions_along(b, size, flat.size(), -2);
  return {ir::reduce_sum(b, select(eq(i, Expr{b, expand(b, best, beside)}), x, 0.0), {-2})};
}

Vars avg_pool(Builder& b, std::span<const Var> in, const Attrs& attrs) {
  Ints window = pool_window(b, in[0], attrs);
  const Type& t = b.type(in[0]);
  Var all = windowed(b, ir::convert(b, in[0], runtime::to_inexact(t.dtype)), plan_of(b, in[0], window, attrs), 0);
  Ints axes;
  double size = 1;
  for (std::size_t i = 0; i < window.size(); ++i) {
    axes.push_back(-2 - static_cast<std::int64_t>(i));
    size *= static_cast<double>(window[i]);
  }
  std::sort(axes.begin(), axes.end());
  return {Expr{b, ir::reduce_sum(b, all, axes)} / size};
}

}  // namespace

void register_pooling(OpTable& t) {
  add_composite(t, "max_pool(x, window: ints, stride: ints = 1, padding: str = \"SAME\", pads: pairs? = none)",
                "The largest of each window.",
                "[2, 4, 6, 2] stride=[2] padding='VALID' window=[2, 2]; "
                "[2, 4, 2] stride=[1] padding='SAME' window=[3]",
                max_pool);
  add_composite(t, "avg_pool(x, window: ints, stride: ints = 1, padding: str = \"SAME\", pads: pairs? = none)",
                "The mean of each window; padding counts as zeros.",
                "[2, 4, 6, 2] stride=[2] padding='VALID' window=[2, 2]; "
                "[2, 4, 2] stride=[1] padding='SAME' window=[3]",
                avg_pool);
}

}  // namespace shard::stdlib
