// What reductions share that take `axis` and `keepdims`.
#pragma once
#include "stdlib/ops/moving/moving_steps.h"

namespace shard::stdlib {

// The axes of a call, the shape of its result, and the pieces to get there.
struct Reduction {
  Builder& b;
  const Attrs& attrs;
  Shape full;
  Ints axes;
  bool keep;

  Reduction(Builder& builder, Var x, const Attrs& a, std::string_view op, std::optional<Ints> otherwise = std::nullopt)
      : b(builder), attrs(a), full(builder.type(x).shape), keep(flag_or(a, "keepdims", false)) {
    auto given = ints_if(a, "axis");
    axes = axes_from_end(given ? given : otherwise, static_cast<std::int64_t>(full.size()), op);
  }
  std::int64_t count() const {
    std::int64_t n = 1;
    for (auto a : axes) n *= full[static_cast<std::size_t>(from_front(a, static_cast<std::int64_t>(full.size())))];
    return n;
  }
  // `row` over the axes. With `out` the reduction itself is laid out so, where dimensions are not kept.
  Expr run(std::string_view row, Var x) const {
    if (axes.empty()) return {b, x};
    Attrs a{{"axes", axes}};
    return {b, b.call(row, {x}, keep ? a : with_out(a, attrs))};
  }
  Expr kept(std::string_view row, Var x) const { return {b, expand(b, run(row, x), ones_at(full, axes))}; }
  Var finish(Var reduced) const {
    if (!keep) return reduced;
    Shape shape = ones_at(full, axes);
    if (attrs.has("out")) return b.call("reshape", {reduced}, with_out({{"shape", shape}}, attrs));
    return expand(b, reduced, shape);
  }
};

}  // namespace shard::stdlib
