// Rows at positions as gather and scatter. What lies outside is said by hand: a gather clamps, a scatter leaves out.
#include <algorithm>

#include "stdlib/ops/hlo.h"

namespace shard::stdlib {
namespace {

std::int64_t product_of(Shape::const_iterator from, Shape::const_iterator to) {
  std::int64_t n = 1;
  for (; from != to; ++from) n *= *from;
  return n;
}

// The dimensions of a use, merged: x [b, p, n, q], index [b, m].
struct Merged {
  std::int64_t b, p, n, q, m;
  explicit Merged(const hlo::Use& u) {
    const Shape &x = u.in[0].shape, &index = u.in[1].shape;
    const std::int64_t batch = integer_or(u.attrs, "batch", 0),
                       axis = from_front(u.attrs.integer("axis"), u.in[0].rank());
    b = product_of(x.begin(), x.begin() + batch);
    p = product_of(x.begin() + batch, x.begin() + axis);
    n = x[static_cast<std::size_t>(axis)];
    q = product_of(x.begin() + axis + 1, x.end());
    m = product_of(index.begin() + batch, index.end());
  }
};

hlo::Value outside(const hlo::Value& index, std::int64_t n) {
  return hlo::either(hlo::less(index, 0), hlo::compare(index, index.number(static_cast<double>(n)), "GE"));
}

// What a row beyond the end is: nan, of integers the smallest (unsigned: the largest), of truth values true.
hlo::Value beyond(hlo::Writer& to, DType dtype) {
  if (runtime::is_float(dtype)) return to.constant(dtype, {}, std::numeric_limits<double>::quiet_NaN());
  return hlo::limit_of(to, dtype, dtype == DType::Bool || !runtime::is_signed(dtype));
}

}  // namespace

hlo::Value rows_at(const hlo::Value& x, const hlo::Value& index) {
  return x.to->op(
      "stablehlo.gather", {x, index}, x.dtype, {x.shape[0], x.shape[1], index.shape[1], x.shape[3]},
      "dimension_numbers = #stablehlo.gather<offset_dims = [1, 3], collapsed_slice_dims = [2], operand_batching_dims = "
      "[0], start_indices_batching_dims = [0], start_index_map = [2], index_vector_dim = 2>, slice_sizes = " +
          hlo::list_text(Shape{1, x.shape[1], 1, x.shape[3]}) + ", indices_are_sorted = false");
}

hlo::Values take_hlo(const hlo::Use& u) {
  const Merged s(u);
  const Shape& shape = u.out[0].shape;
  const std::string how = text_or(u.attrs, "bounds", "clamp");
  if (s.n == 0 || runtime::numel(shape) == 0)
    return {hlo::broadcast(how == "nan" ? beyond(u.to, u.out[0].dtype) : u.to.constant(u.out[0].dtype, {}, 0), shape)};
  hlo::Value index = hlo::reshape(u.in[1], {s.b, s.m});
  if (how == "folded") index = hlo::select(hlo::less(index, 0), index.number(-1) - index, index);
  const hlo::Value taken = rows_at(hlo::reshape(u.in[0], {s.b, s.p, s.n, s.q}), index);
  if (how != "nan" && how != "drop") return {hlo::reshape(taken, shape)};
  const hlo::Value none = how == "nan" ? beyond(u.to, taken.dtype) : u.to.constant(taken.dtype, {}, 0);
  const hlo::Value out = hlo::spread(outside(index, s.n), taken.shape, Ints{0, 2});
  return {hlo::reshape(hlo::select(out, hlo::broadcast(none, taken.shape), taken), shape)};
}

hlo::Values scatter_hlo(const hlo::Use& u) {
  const Merged s(u);
  if (runtime::numel(u.in[0].shape) == 0 || runtime::numel(u.in[2].shape) == 0) return {u.in[0]};
  const std::string& how = u.attrs.text("op");
  const hlo::Value x = hlo::reshape(u.in[0], {s.b, s.p, s.n, s.q}), index = hlo::reshape(u.in[1], {s.b, s.m}),
                   v = hlo::reshape(u.in[2], {s.b, s.p, s.m, s.q});
  const hlo::Values scalars(2, hlo::Value{&u.to, {}, x.dtype, {}});
  const hlo::Values in = u.to.begin(scalars);
  const hlo::Value made = how == "set"   ? in[1]
                          : how == "mul" ? in[0] * in[1]
                          : how == "min" ? hlo::binary("minimum", in[0], in[1])
                          : how == "max" ? hlo::binary("maximum", in[0], in[1])
                                         : in[0] + in[1];
  const std::string region = u.to.end({&made, 1});
  return {hlo::reshape(
      u.to.op("stablehlo.scatter", {x, index, v}, x.dtype, x.shape,
              "scatter_dimension_numbers = #stablehlo.scatter<update_window_dims = [1, 3], inserted_window_dims = [2], "
              "input_batching_dims = [0], scatter_indices_batching_dims = [0], scatter_dims_to_operand_dims = [2], "
              "index_vector_dim = 2>, indices_are_sorted = false, unique_indices = false",
              region),
      u.out[0].shape)};
}

}  // namespace shard::stdlib
