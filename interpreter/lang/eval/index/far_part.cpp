#include "interpreter/lang/eval/index/far_part.h"

#include <algorithm>

namespace shard::lang {

using runtime::ArrayRef;
using runtime::Shape;
using trace::Tensor;

namespace {

// The rows that an index array names, counted from the front. Nothing where some lie outside: what is meant by those is
// the operation's to say.
std::optional<std::vector<std::int64_t>> named_rows(ArrayOps& ops, const Tensor& index, std::int64_t size) {
  if (index.traced() || !index.array()->has_elements()) return std::nullopt;
  const ArrayRef host = runtime::to_host(ops.in().context().pool(), index.array());
  std::vector<std::int64_t> out;
  for (std::int64_t i = 0, n = runtime::numel(host->type.shape); i < n; ++i) {
    const std::int64_t at = runtime::element_int(*host, i);
    out.push_back(at < 0 ? at + size : at);
    if (out.back() < 0 || out.back() >= size) return std::nullopt;
  }
  return out;
}

// Along the first dimension single rows may be picked; along the others what lies between is read too.
struct FarRows {
  std::vector<std::int64_t> rows;
  bool adjacent() const {
    for (std::size_t i = 1; i < rows.size(); ++i)
      if (rows[i] != rows[i - 1] + 1) return false;
    return true;
  }
};

FarRows first_rows(ArrayOps& ops, IndexPlan& plan) {
  FarRows out;
  DimIndex& first = plan.dims[0];
  if (first.kind != DimIndex::Array) {
    const std::int64_t count = first.kind == DimIndex::Integer ? 1 : first.count;
    for (std::int64_t i = 0; i < count; ++i) out.rows.push_back(first.start + i * first.step);
    first.start = 0, first.step = 1, first.size = count;
    return out;
  }
  IndexArray* only = plan.arrays.size() == 1 ? &plan.arrays[0] : nullptr;
  if (const auto rows = only ? named_rows(ops, only->index, first.size) : std::nullopt) {
    out.rows = *rows;
    runtime::Pool& pool = ops.in().context().pool();
    auto places = runtime::new_block(pool, runtime::DType::I32, only->index.type().shape);
    for (std::size_t i = 0; i < out.rows.size(); ++i)
      static_cast<std::int32_t*>(places->buffer->data())[i] = static_cast<std::int32_t>(i);
    only->index = Tensor(ArrayRef(std::move(places)));
    first.size = static_cast<std::int64_t>(out.rows.size());
    plan.basic[static_cast<std::size_t>(only->dim)] = first.size;
  } else {
    for (std::int64_t i = 0; i < first.size; ++i) out.rows.push_back(i);
  }
  return out;
}

}  // namespace

bool lies_far(const Tensor& x) {
  return !x.traced() && !x.array()->buffer && x.array()->distinct.empty() && x.array()->elsewhere &&
         x.array()->elsewhere->in_parts() && x.type().rank() > 0;
}

Tensor far_part(ArrayOps& ops, const Tensor& x, IndexPlan& plan) {
  const runtime::DeviceArray& far = *x.array();
  const FarRows rows = first_rows(ops, plan);
  Shape origin(plan.dims.size(), 0), shape{static_cast<std::int64_t>(rows.rows.size())};
  for (std::size_t d = 1; d < plan.dims.size(); ++d) {
    DimIndex& i = plan.dims[d];
    if (i.kind != DimIndex::Array) {
      const std::int64_t count = i.kind == DimIndex::Integer ? 1 : i.count;
      const std::int64_t last = i.start + std::max<std::int64_t>(0, count - 1) * i.step;
      origin[d] = count == 0 ? 0 : std::min(i.start, last);
      i.size = count == 0 ? 0 : std::max(i.start, last) - origin[d] + 1;
      i.start -= origin[d];
    }
    shape.push_back(i.size);
  }
  auto out = runtime::new_block(ops.in().context().pool(), far.type.dtype, shape);
  runtime::View to = out->view();
  if (runtime::numel(shape) > 0 && rows.adjacent()) {
    origin[0] = rows.rows[0];
    far.elsewhere->read(origin, to);
  } else if (runtime::numel(shape) > 0) {
    to.shape[0] = 1;
    for (const std::int64_t row : rows.rows) {
      origin[0] = row;
      far.elsewhere->read(origin, to);
      to.data = static_cast<char*>(to.data) + to.strides[0] * static_cast<std::int64_t>(runtime::size_of(to.dtype));
    }
  }
  return Tensor(ArrayRef(std::move(out)));
}

}  // namespace shard::lang
