// x[items] = v and its kin: windows are replaced, index arrays scatter (duplicates add up, out of range is dropped),
// masks select.
#include <algorithm>

#include "interpreter/ir/core_ops.h"
#include "interpreter/lang/eval/index/index_plan.h"
#include "runtime/kernels/kernels.h"

namespace shard::lang {

using grammar::Span;
using trace::Tensor;

namespace {

Tensor combined(ArrayOps& ops, std::string_view op, const Tensor& old, const Tensor& v) {
  return op == "set" ? v : op == "add" ? ops.add(old, v) : ops.mul(old, v);
}

Tensor update(ArrayOps& ops, const Tensor& x, const std::vector<IndexItem>& items, std::string_view op, const Tensor& v,
              Span span);

// x[mask] = v where v is the same for every element that the mask picks.
std::optional<Tensor> by_mask(ArrayOps& ops, const Tensor& x, const IndexItem& item, std::string_view op,
                              const Tensor& v) {
  const Tensor& mask = item.value.tensor();
  const runtime::Shape shape = x.type().shape,
                       picked = mask.type().shape;  // copies: types of a trace move when it grows
  if (picked.size() > shape.size() || !std::equal(picked.begin(), picked.end(), shape.begin())) return std::nullopt;
  const runtime::Shape rest(shape.begin() + static_cast<std::ptrdiff_t>(picked.size()), shape.end());
  auto fits = runtime::broadcast(v.type().shape, rest);
  if (!fits || *fits != rest) return std::nullopt;
  runtime::Shape spread = picked;
  spread.resize(shape.size(), 1);
  Tensor full = ops.broadcast(ops.reshape(mask, spread), shape);
  Tensor value = ops.broadcast(v, shape);
  return ops.select(full, combined(ops, op, x, value), x);
}

// Integers and slices of step 1: one window, written back as a whole.
Tensor put(ArrayOps& ops, const IndexPlan& plan, const Tensor& x, std::string_view op, const Tensor& v) {
  const auto rank = static_cast<std::int64_t>(plan.dims.size());
  ir::Ints axes, sizes;
  std::vector<Tensor> starts;
  runtime::Shape window;
  for (std::int64_t d = 0; d < rank; ++d) {
    const DimIndex& i = plan.dims[static_cast<std::size_t>(d)];
    window.push_back(i.count);
    if (i.whole()) continue;
    axes.push_back(d - rank);
    sizes.push_back(i.count);
    starts.push_back(ops.scalar(i.start));
  }
  Tensor value = ops.reshape(ops.broadcast(v, plan.result), window);
  if (axes.empty()) {
    const bool laid_out = !x.type().sharding.used_axes().empty() || !value.type().sharding.used_axes().empty();
    value = combined(ops, op, x, value);
    return laid_out ? ops.put_window(x, value, {}, {}) : value;  // x keeps its layout
  }
  if (op != "set") value = combined(ops, op, ops.window(x, starts, axes, sizes), value);
  return ops.put_window(x, value, starts, axes);
}

Tensor scatter(ArrayOps& ops, const IndexPlan& plan, const Tensor& x, std::string_view op, const Tensor& v) {
  Tensor value = ops.reshape(ops.broadcast(v, plan.result), plan.placed);
  if (plan.arrays.size() == 1) {
    const IndexArray& a = plan.arrays[0];
    const std::int64_t rank = x.type().rank();
    return ops.scatter(x, ops.wrapped(a.index, x.type().shape[static_cast<std::size_t>(a.dim)]), value, a.dim - rank,
                       op);
  }
  const Merged m = merge(ops, plan, x, true);
  Tensor out = ops.reshape(ops.scatter(m.x, m.index, value, m.axis - m.x.type().rank(), op), m.moved);
  std::vector<std::int64_t> back(m.perm.size());
  for (std::size_t i = 0; i < m.perm.size(); ++i)
    back[static_cast<std::size_t>(m.perm[i])] = static_cast<std::int64_t>(i);
  return ops.transpose(out, back);
}

// The array of positions start, start + step, ...
Tensor positions(ArrayOps& ops, const DimIndex& i) {
  std::vector<std::int32_t> at;
  for (std::int64_t k = 0; k < i.count; ++k) at.push_back(static_cast<std::int32_t>(i.start + k * i.step));
  return Tensor(runtime::from_host(ops.in().context().pool(), runtime::DType::I32, {i.count}, at.data()));
}

Tensor update(ArrayOps& ops, const Tensor& x, const std::vector<IndexItem>& items, std::string_view op, const Tensor& v,
              Span span) {
  if (items.size() == 1 && is_mask(items[0]))
    if (auto out = by_mask(ops, x, items[0], op, v)) return *out;
  IndexPlan plan = plan_index(ops, x, items, span, true);
  if (runtime::numel(plan.result) == 0) {
    ops.broadcast(v, plan.result);  // only looks whether it would fit
    return x;
  }
  if (std::any_of(plan.dims.begin(), plan.dims.end(), [](const DimIndex& i) { return i.unknown; })) return x;
  bool basic = plan.arrays.empty(), whole = true, strided = false;
  for (const DimIndex& i : plan.dims) {
    whole = whole && (i.kind == DimIndex::Array || i.whole());
    strided = strided || (i.kind == DimIndex::Slice && i.step != 1);
  }
  if (basic && !strided) return put(ops, plan, x, op, v);
  if (whole) return scatter(ops, plan, x, op, v);
  // Slices beside index arrays, or slices with steps: the slices' part is read, updated and written back, one dimension
  // at a time.
  const auto rank = static_cast<std::int64_t>(plan.dims.size());
  for (std::int64_t d = 0; d < rank; ++d) {
    const DimIndex& i = plan.dims[static_cast<std::size_t>(d)];
    if (i.kind != DimIndex::Slice || i.whole()) continue;
    Tensor at = positions(ops, i);
    Tensor part = ops.take(x, at, d - rank);
    // The same items with this slice whole. Items and dimensions are matched by expanding the ellipsis.
    std::vector<IndexItem> rest;
    std::int64_t seen = 0, consumed = 0;
    for (const IndexItem& item : items)
      if (!item.ellipsis && !(!item.slice && item.value.is_none()))
        consumed += is_mask(item) ? item.value.tensor().type().rank() : 1;
    for (const IndexItem& item : items) {
      IndexItem all;
      all.slice = true;
      all.span = item.span;
      if (item.ellipsis) {
        for (std::int64_t k = consumed; k < rank; ++k) rest.push_back(all), ++seen;
      } else if (!item.slice && item.value.is_none()) {
        rest.push_back(item);
      } else {
        rest.push_back(seen == d ? all : item);
        seen += is_mask(item) ? item.value.tensor().type().rank() : 1;
      }
    }
    return ops.scatter(x, at, update(ops, part, rest, op, v, span), d - rank, "set");
  }
  return scatter(ops, plan, x, op, v);
}

// x[integers and slices] = v without a copy: where nobody else holds x or its memory, and both are one block, v is
// written into x.
bool put_in_place(const Tensor& x, const IndexPlan& plan, const Tensor& v) {
  const runtime::ArrayRef &a = x.array(), &b = v.array();
  if (a.use_count() != 1 || !runtime::writable(a->buffer) || !b->buffer || a->type.dtype != b->type.dtype ||
      plan.has_new || !plan.arrays.empty() ||
      std::any_of(plan.dims.begin(), plan.dims.end(), [](const DimIndex& i) { return i.unknown; }))
    return false;
  if (!a->distinct.empty() || !b->distinct.empty()) return false;
  auto joint = runtime::broadcast(b->type.shape, plan.result);
  if (!joint || *joint != plan.result) return false;
  runtime::View from = b->view(), to = a->view(), all = a->view();
  to.shape.clear();
  to.strides.clear();
  std::int64_t offset = 0;
  for (std::size_t d = 0; d < plan.dims.size(); ++d) {
    const DimIndex& i = plan.dims[d];
    offset += i.start * all.strides[d];
    if (i.kind == DimIndex::Integer) continue;
    to.shape.push_back(i.count);
    to.strides.push_back(i.step * all.strides[d]);
  }
  to.data = static_cast<char*>(to.data) + offset * static_cast<std::int64_t>(runtime::size_of(to.dtype));
  while (from.shape.size() > to.shape.size()) {  // only leading sizes of 1
    from.shape.erase(from.shape.begin());
    from.strides.erase(from.strides.begin());
  }
  while (from.shape.size() < to.shape.size()) {
    from.shape.insert(from.shape.begin(), 1);
    from.strides.insert(from.strides.begin(), 0);
  }
  for (std::size_t d = 0; d < to.shape.size(); ++d)
    if (from.shape[d] != to.shape[d]) from.shape[d] = to.shape[d], from.strides[d] = 0;
  runtime::copy(from, to);
  return true;
}

}  // namespace

Tensor update_array(Interpreter& in, Tensor& x, const std::vector<IndexItem>& items, std::string_view op,
                    const Tensor& v, Span span) {
  ArrayOps ops(in, span);
  if (op == "set" && !x.traced() && !v.traced() && !ops.tracing() && x.array() != v.array()) {
    bool basic = true;
    for (const IndexItem& i : items) basic = basic && (i.slice || i.ellipsis || i.value.is<std::int64_t>());
    if (basic && put_in_place(x, plan_index(ops, x, items, span), v)) return std::move(x);
  }
  // What is added or multiplied meets the old elements in the type of both, and only the result is cast (JAX): i32
  // times 2.7.
  const runtime::DType own = x.type().dtype;
  runtime::DType both = own;
  if (op != "set")
    if (const auto kind = runtime::promote(x.type().kind(), v.type().kind())) both = kind->dtype;
  if (both == own) return update(ops, x, items, op, ops.convert(v, own), span);
  return ops.convert(update(ops, ops.convert(x, both), items, op, ops.convert(v, both), span), own);
}

}  // namespace shard::lang
