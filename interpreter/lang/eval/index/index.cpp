#include "interpreter/lang/eval/index/index.h"

#include <algorithm>

#include "interpreter/ir/core_ops.h"
#include "interpreter/lang/eval/index/index_plan.h"

namespace shard::lang {

using grammar::Span;
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

// Whether the elements lie elsewhere and can be had in parts (files that are mapped): then only what the items pick is
// brought here.
bool lies_far(const Tensor& x) {
  return !x.traced() && !x.array()->buffer && x.array()->distinct.empty() && x.array()->elsewhere &&
         x.array()->elsewhere->in_parts() && x.type().rank() > 0;
}

// The part that the plan needs, as an array of its own; the plan then speaks of that one.
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

// Reads of dimensions that no index array touches: integers and slices, in one or two operations.
Tensor read_basic(ArrayOps& ops, const IndexPlan& plan, Tensor x) {
  const runtime::Shape shape = x.type().shape;
  const auto rank = static_cast<std::int64_t>(shape.size());
  const bool tracing = ops.tracing();
  // Integers that only a run knows, and at top level all of them, are operands: one plan for every i.
  ir::Ints start(shape.size(), 0), limit(shape.size(), ir::kWhole), step(shape.size(), 1), reversed, axes, sizes;
  std::vector<Tensor> starts;
  bool cut = false, dropped = false;
  runtime::Shape kept;
  std::vector<std::pair<std::int64_t, Tensor>> taken;  // whole dimensions read at one traced position
  for (std::int64_t d = 0; d < rank; ++d) {
    const DimIndex& i = plan.dims[static_cast<std::size_t>(d)];
    const auto at = static_cast<std::size_t>(d);
    if (i.kind == DimIndex::Slice) {
      kept.push_back(i.count);
      if (i.unknown) x = ops.take(x, ops.some(i.count), d - rank);  // any positions: while checking
      if (i.unknown || i.whole()) continue;
      const bool window = i.step == 1 && i.count > 0 && !tracing;
      if (window) {
        axes.push_back(d - rank);
        sizes.push_back(i.count);
        starts.push_back(ops.scalar(i.start));
        continue;
      }
      cut = true;
      const std::int64_t last = i.start + (i.count - 1) * i.step;
      if (i.count == 0)
        start[at] = limit[at] = 0;
      else if (i.step > 0)
        start[at] = i.start, limit[at] = last + 1, step[at] = i.step;
      else
        start[at] = last, limit[at] = i.start + 1, step[at] = -i.step, reversed.push_back(d - rank);
    } else if (i.kind == DimIndex::Integer) {
      dropped = true;
      if (tracing) {
        cut = true;
        start[at] = i.start;
        limit[at] = i.start + 1;
      } else {
        axes.push_back(d - rank);
        sizes.push_back(1);
        starts.push_back(ops.scalar(i.start));
      }
    } else {
      kept.push_back(shape[at]);  // an index array's: taken later
    }
  }
  if (cut) x = ops.slice(x, start, limit, step);
  if (!reversed.empty()) x = ops.rev(x, reversed);
  // One integer and nothing else: a row is taken, without an operation to drop its dimension.
  if (axes.size() == 1 && sizes[0] == 1 && dropped && !cut && !ops.split(x, rank + axes[0]))
    return ops.take(x, starts[0], axes[0]);
  if (!axes.empty()) x = ops.window(x, starts, axes, sizes);
  return dropped ? ops.reshape(x, kept) : x;
}

}  // namespace

Tensor index_array(Interpreter& in, const Tensor& x, const std::vector<IndexItem>& items, Span span) {
  ArrayOps ops(in, span);
  IndexPlan plan = plan_index(ops, x, items, span);
  Tensor out = read_basic(ops, plan, lies_far(x) ? far_part(ops, x, plan) : x);
  if (plan.arrays.empty()) return plan.has_new ? ops.reshape(out, plan.result) : out;
  if (plan.arrays.size() == 1) {
    const IndexArray& a = plan.arrays[0];
    const std::int64_t axis = a.dim - out.type().rank();
    out = ops.take(out, ops.wrapped(a.index, out.type().shape[static_cast<std::size_t>(a.dim)]), axis);
  } else {
    const Merged m = merge(ops, plan, out, false);
    out = ops.take(m.x, m.index, m.axis - m.x.type().rank(), m.folded);
  }
  return ops.reshape(out, plan.result);
}

Value row(Interpreter& in, const Tensor& x, std::int64_t i, Span span) {
  IndexItem item;
  item.value = Value(i);
  item.span = span;
  return in.at(span, [&] { return Value(index_array(in, x, {item}, span)); });
}

}  // namespace shard::lang
