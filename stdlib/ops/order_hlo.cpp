// Orders as StableHLO. Sorts compare in total order, in which -0 lies before 0 and a nan of either sign somewhere: both
// are made one before, so that order is that of the kernels (nan last). Running sums double their reach in each step.
#include <cmath>

#include "runtime/kernels/kernels.h"
#include "stdlib/ops/hlo.h"

namespace shard::stdlib {
namespace {

using runtime::Scan;

hlo::Value canonical(const hlo::Value& x) {
  if (!runtime::is_float(x.dtype)) return x;
  const hlo::Value number = hlo::select(hlo::compare(x, x.number(0), "EQ"), x.number(0), x);
  return hlo::select(hlo::compare(x, x, "NE"), x.number(std::nan("")), number);
}

// A stable sort of lines by the first value; the others go along.
hlo::Values sorted(hlo::Writer& to, const hlo::Values& in, bool down) {
  hlo::Values scalars;
  for (const hlo::Value& v : in) scalars.insert(scalars.end(), 2, hlo::Value{&to, {}, v.dtype, {}});
  const hlo::Values given = to.begin(scalars);
  const std::string total =
      runtime::is_float(in[0].dtype) ? ", compare_type = #stablehlo<comparison_type TOTALORDER>" : "";
  const hlo::Value before = to.op(
      "stablehlo.compare", {given[0], given[1]}, DType::Bool, Shape{},
      std::string("comparison_direction = #stablehlo<comparison_direction ") + (down ? "GT" : "LT") + ">" + total);
  const std::string region = to.end({&before, 1});
  return to.ops("stablehlo.sort", in, in,
                "dimension = " + std::to_string(in[0].rank() - 1) + " : i64, is_stable = true", region);
}

std::string_view combiner(Scan how, DType dtype) {
  const bool truth = dtype == DType::Bool;
  switch (how) {
    case Scan::Sum: return truth ? "or" : "add";
    case Scan::Prod: return truth ? "and" : "multiply";
    case Scan::Max: return "maximum";
    default: return "minimum";
  }
}

}  // namespace

hlo::Values sort_hlo(const hlo::Use& u) {
  const hlo::Value up = sorted(u.to, {canonical(u.in[0])}, false)[0];
  if (!flag_or(u.attrs, "descending", false)) return {up};
  return {hlo::reverse(up, Ints{up.rank() - 1})};
}

hlo::Values argsort_hlo(const hlo::Use& u) {
  const hlo::Value x = canonical(u.in[0]), place = hlo::iota(u.to, DType::I32, x.shape, x.rank() - 1);
  const hlo::Value order = sorted(u.to, {x, place}, flag_or(u.attrs, "descending", false))[1];
  return {u.attrs.has("first") ? hlo::part(order, x.rank() - 1, 0, u.attrs.integer("first")) : order};
}

hlo::Values running_hlo(const hlo::Use& u, Scan how) {
  const bool reverse = flag_or(u.attrs, "reverse", false);
  const bool narrow = u.in[0].dtype == DType::F16 || u.in[0].dtype == DType::BF16;
  hlo::Value x = narrow ? hlo::convert(u.in[0], DType::F32) : u.in[0];
  const std::size_t rank = x.shape.size();
  const std::int64_t n = x.shape.back();
  const hlo::Value none = how == Scan::Sum || how == Scan::Prod ? u.to.constant(x.dtype, {}, how == Scan::Prod)
                                                                : hlo::limit_of(u.to, x.dtype, how == Scan::Min);
  for (std::int64_t by = 1; by < n; by *= 2) {
    Ints low(rank, 0), high(rank, 0);
    const Ints inner(rank, 0);
    low.back() = reverse ? -by : by;
    high.back() = -low.back();
    x = hlo::binary(combiner(how, x.dtype), hlo::pad(x, none, low, high, inner), x);
  }
  return {hlo::convert(x, u.in[0].dtype)};
}

// Halving, so many turns as the line has bits: where the first element lies that is not before the value.
hlo::Values search_hlo(const hlo::Use& u) {
  const std::size_t lead = u.in[0].shape.size() - 1;
  const std::int64_t n = u.in[0].shape.back();
  std::int64_t b = 1;
  for (std::size_t d = 0; d < lead; ++d) b *= u.in[0].shape[d];
  const hlo::Value v = hlo::reshape(u.in[1], {b, b == 0 ? 0 : runtime::numel(u.in[1].shape) / b});
  hlo::Value low = hlo::broadcast(u.to.constant(DType::I32, {}, 0), v.shape), high = low.number(static_cast<double>(n));
  if (n > 0 && runtime::numel(v.shape) > 0) {
    const hlo::Value lines = hlo::reshape(u.in[0], {b, 1, n, 1});
    const auto before = [](const hlo::Value& x, const hlo::Value& y) {  // nan lies behind all numbers
      const hlo::Value less = hlo::compare(x, y, "LT");
      if (!runtime::is_float(x.dtype)) return less;
      return hlo::either(less, hlo::both(hlo::compare(y, y, "NE"), hlo::compare(x, x, "EQ")));
    };
    for (std::int64_t reach = n; reach > 0; reach /= 2) {
      const hlo::Value going = hlo::compare(low, high, "LT"), middle = (low + high) / 2;
      const hlo::Value a = hlo::reshape(rows_at(lines, middle), v.shape);
      const hlo::Value on =
          hlo::both(going, flag_or(u.attrs, "behind", false) ? hlo::unary("not", before(v, a)) : before(a, v));
      low = hlo::select(on, middle + 1, low);
      high = hlo::select(on, high, hlo::select(going, middle, high));
    }
  }
  return {hlo::reshape(low, u.out[0].shape)};
}

// A reduction of pairs: the larger one, of equals the first; a nan is larger than any number.
hlo::Values extreme_position_hlo(const hlo::Use& u, bool largest) {
  const hlo::Value& x = u.in[0];
  const int d = from_front(u.attrs.integer("axis"), x.rank());
  const hlo::Values in{x, hlo::iota(u.to, DType::I32, x.shape, d), hlo::limit_of(u.to, x.dtype, !largest),
                       u.to.constant(DType::I32, {}, 0)};
  const hlo::Values scalars{
      {&u.to, {}, x.dtype, {}}, {&u.to, {}, DType::I32, {}}, {&u.to, {}, x.dtype, {}}, {&u.to, {}, DType::I32, {}}};
  const hlo::Values p = u.to.begin(scalars);
  hlo::Value wins = hlo::compare(p[0], p[2], largest ? "GT" : "LT"), ties = hlo::compare(p[0], p[2], "EQ");
  if (runtime::is_float(x.dtype)) {
    const hlo::Value mine = hlo::compare(p[0], p[0], "NE"), theirs = hlo::compare(p[2], p[2], "NE");
    wins = hlo::either(hlo::both(mine, hlo::compare(p[2], p[2], "EQ")), wins);
    ties = hlo::either(ties, hlo::both(mine, theirs));
  }
  const hlo::Value first = hlo::either(wins, hlo::both(ties, hlo::compare(p[1], p[3], "LT")));
  const hlo::Values chosen{hlo::select(hlo::either(wins, ties), p[0], p[2]), hlo::select(first, p[1], p[3])};
  const std::string region = u.to.end(chosen);
  const hlo::Values like{{&u.to, {}, x.dtype, u.out[0].shape}, {&u.to, {}, DType::I32, u.out[0].shape}};
  return {u.to.ops("stablehlo.reduce", in, like, "dimensions = " + hlo::list_text(Ints{d}), region)[1]};
}

}  // namespace shard::stdlib
