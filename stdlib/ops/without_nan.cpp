// Reductions of the elements that are not nan, by the name of the reduction: nansum, nanmean, ... Of no such elements a
// sum is 0, all else nan (NumPy, JAX). Other types than floats have no nan: there they are the reductions themselves.
#include <limits>

#include "interpreter/ir/complex_parts.h"
#include "stdlib/ops/moving/moving_steps.h"
#include "stdlib/ops/ops.h"

namespace shard::stdlib {
namespace {

constexpr double kNan = std::numeric_limits<double>::quiet_NaN(), kInf = std::numeric_limits<double>::infinity();

using Reduce = Expr (*)(const Expr& x, const Expr& missing, const Attrs& attrs);

// `axis` and `keepdims` of a call, for the reductions that it is made of.
Attrs reduced_over(const Attrs& attrs, bool keep) {
  Attrs out{{"keepdims", keep}};
  if (const auto axis = ints_if(attrs, "axis")) out.set("axis", *axis);
  return out;
}
Attrs reduced_over(const Attrs& attrs) { return reduced_over(attrs, flag_or(attrs, "keepdims", false)); }

Expr sum_there(const Expr& x, const Expr& missing, const Attrs& how) {
  return call("sum", {select(missing, case_beside(x, 0), x)}, how);
}
Expr count_there(const Expr& x, const Expr& missing, const Attrs& how) {
  return cast_to(call("sum", {call("logical_not", {missing})}, how), x.type().dtype);
}
Expr mean_there(const Expr& x, const Expr& missing, const Attrs& how) {
  return sum_there(x, missing, how) / count_there(x, missing, how);
}

Expr nansum(const Expr& x, const Expr& missing, const Attrs& attrs) {
  return sum_there(x, missing, reduced_over(attrs));
}
Expr nanmean(const Expr& x, const Expr& missing, const Attrs& attrs) {
  return mean_there(summed_in(x), missing, reduced_over(attrs));
}

template <bool largest>
Expr extreme(const Expr& x, const Expr& missing, const Attrs& attrs) {
  Expr found = call(largest ? "max" : "min", {select(missing, largest ? -kInf : kInf, x)}, reduced_over(attrs));
  return select(call("all", {missing}, reduced_over(attrs)), kNan, found);
}

Expr nanvar(const Expr& x, const Expr& missing, const Attrs& attrs) {
  const Expr w = summed_in(x), away = w - mean_there(w, missing, reduced_over(attrs, true));
  const Expr off = select(missing, case_beside(away, 0), away);  // before it is squared: nan has no derivative
  const Expr left = count_there(w, missing, reduced_over(attrs)) - static_cast<double>(integer_or(attrs, "ddof", 0));
  const Expr none = call("le", {left, left.number(0)});
  return select(none, kNan, call("sum", {off * off}, reduced_over(attrs)) / select(none, 1.0, left));
}
Expr nanstd(const Expr& x, const Expr& missing, const Attrs& attrs) {
  return call("sqrt", {nanvar(x, missing, attrs)});
}

ir::Compose skipping(std::string_view op, Reduce reduce) {
  return [=](Builder& b, std::span<const Var> in, const Attrs& attrs) -> Vars {
    const Type type = b.type(in[0]);
    if (runtime::is_complex(type.dtype)) fail("type", std::string(op) + " is for real numbers");
    if (!runtime::is_float(type.dtype)) return {b.call(op.substr(3), {in[0]}, attrs)};
    Expr x{b, in[0]};
    return {cast_to(reduce(x, call("isnan", {x}), attrs), type.dtype, type.weak)};
  };
}

}  // namespace

void register_without_nan(OpTable& t) {
  constexpr const char* samples =
      "[4, 6]; [4, 6] axis=[0]; [2, 4, 6] axis=[-2] keepdims=true; i32[4, 2] 1..5; bf16[4, 6] axis=[1]";
  const auto add = [&](std::string_view signature, std::string_view doc, Reduce reduce) {
    add_composite(t, signature, doc, {samples, ir::Range{-2, 2}}, skipping(name_in(signature), reduce));
  };
  add("nansum(x, axis: ints? = none, keepdims: bool = false)", "The sum of the elements that are not nan.", nansum);
  add("nanmean(x, axis: ints? = none, keepdims: bool = false)", "The mean of the elements that are not nan.", nanmean);
  add("nanmax(x, axis: ints? = none, keepdims: bool = false)", "The largest of the elements that are not nan.",
      extreme<true>);
  add("nanmin(x, axis: ints? = none, keepdims: bool = false)", "The smallest of the elements that are not nan.",
      extreme<false>);
  add("nanvar(x, axis: ints? = none, keepdims: bool = false, ddof: int = 0)",
      "The variance of the elements that are not nan; ddof: how many degrees of freedom are given up.", nanvar);
  add("nanstd(x, axis: ints? = none, keepdims: bool = false, ddof: int = 0)",
      "The root of the variance of the elements that are not nan.", nanstd);
}

}  // namespace shard::stdlib
