#include "interpreter/ir/core_ops.h"
#include "interpreter/lang/eval/index/index_plan.h"

namespace shard::lang {

using runtime::DType;
using trace::Tensor;

ArrayOps::ArrayOps(Interpreter& in, grammar::Span span)
    : in_(in), ctx_(in.context()), core_(in.context().table().core()), span_(span) {
  ctx_.set_span(in.recorded_at(span));
}
Tensor ArrayOps::slice(const T& x, ir::Ints start, ir::Ints limit, ir::Ints step) {
  return ctx_.apply1(*core_.slice, {x},
                     {{"start", std::move(start)}, {"limit", std::move(limit)}, {"step", std::move(step)}});
}
Tensor ArrayOps::rev(const T& x, ir::Ints axes) { return ctx_.apply1(*core_.rev, {x}, {{"axes", std::move(axes)}}); }
// Out of range the nearest element is read. One position is a window of one, whose gradient goes to what was read; of
// an index array what is out of range gets none (JAX).
Tensor ArrayOps::take(const T& x, const T& index, std::int64_t axis, bool folded) {
  const std::string bounds = folded ? "folded" : index.type().shape.empty() ? "clamp" : "edge";
  return ctx_.apply1(*core_.take, {x, index}, {{"axis", axis}, {"batch", std::int64_t{0}}, {"bounds", bounds}});
}
Tensor ArrayOps::scatter(const T& x, const T& index, const T& v, std::int64_t axis, std::string_view op) {
  return ctx_.apply1(*core_.scatter, {x, index, v},
                     {{"axis", axis}, {"batch", std::int64_t{0}}, {"op", std::string(op)}});
}
Tensor ArrayOps::window(const T& x, const std::vector<T>& starts, ir::Ints axes, ir::Ints sizes) {
  std::vector<T> operands{x};
  operands.insert(operands.end(), starts.begin(), starts.end());
  return ctx_.apply(*core_.dynamic_slice, operands, {{"axes", std::move(axes)}, {"sizes", std::move(sizes)}}).at(0);
}
Tensor ArrayOps::put_window(const T& x, const T& v, const std::vector<T>& starts, ir::Ints axes) {
  std::vector<T> operands{x, v};
  operands.insert(operands.end(), starts.begin(), starts.end());
  return ctx_.apply(*core_.dynamic_update, operands, {{"axes", std::move(axes)}}).at(0);
}
Tensor ArrayOps::reshape(const T& x, runtime::Shape shape) {
  if (x.type().shape == shape) return x;
  return ctx_.apply1(*core_.reshape, {x}, {{"shape", std::move(shape)}});
}
Tensor ArrayOps::transpose(const T& x, const std::vector<std::int64_t>& perm) {
  ir::Ints negative;
  bool same = true;
  for (std::size_t i = 0; i < perm.size(); ++i) {
    same = same && perm[i] == static_cast<std::int64_t>(i);
    negative.push_back(perm[i] - static_cast<std::int64_t>(perm.size()));
  }
  return same ? x : ctx_.apply1(*core_.transpose, {x}, {{"perm", std::move(negative)}});
}
Tensor ArrayOps::broadcast(const T& x, runtime::Shape shape) {
  if (x.type().shape == shape) return x;
  runtime::Shape have = x.type().shape;
  while (have.size() > shape.size() && have[0] == 1) have.erase(have.begin());
  auto joint = runtime::broadcast(have, shape);
  if (!joint || *joint != shape)
    throw runtime::RuntimeError("shape", "an array of shape " + runtime::to_string(x.type().shape) +
                                             " does not fit a place of shape " + runtime::to_string(shape));
  return ctx_.apply1(*core_.broadcast_to, {reshape(x, have)}, {{"shape", std::move(shape)}});
}
Tensor ArrayOps::convert(const T& x, DType dtype) {
  if (x.type().dtype == dtype && !x.type().weak) return x;
  return ctx_.apply1(*core_.convert, {x}, {{"dtype", dtype}, {"weak", false}});
}
Tensor ArrayOps::wrapped(const T& index, std::int64_t n) {
  if (index.type().dtype == DType::U8 || index.type().dtype == DType::U16 || index.type().dtype == DType::U32 ||
      index.type().dtype == DType::U64)
    return index;
  return select(ctx_.apply1(*core_.lt, {index, scalar(0)}), add(index, scalar(n)), index);
}
Tensor ArrayOps::within(const T& index, std::int64_t n) {
  return both(ctx_.apply1(*core_.ge, {index, scalar(0)}), ctx_.apply1(*core_.lt, {index, scalar(n)}));
}
Tensor ArrayOps::clamped(const T& index, std::int64_t n) {
  T low = select(ctx_.apply1(*core_.lt, {index, scalar(0)}), scalar(0), index);
  return select(ctx_.apply1(*core_.lt, {low, scalar(n)}), low, scalar(n - 1));
}
bool ArrayOps::split(const T& x, std::int64_t dim) const {
  const auto& dims = x.type().sharding.dims;
  return dim >= 0 && dim < static_cast<std::int64_t>(dims.size()) && !dims[static_cast<std::size_t>(dim)].axes.empty();
}

}  // namespace shard::lang
