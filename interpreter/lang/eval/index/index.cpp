#include "interpreter/lang/eval/index/index.h"

#include <algorithm>

#include "interpreter/ir/core_ops.h"
#include "interpreter/lang/eval/impl.h"
#include "interpreter/lang/eval/index/far_part.h"
#include "interpreter/lang/eval/index/index_plan.h"

namespace shard::lang {

using grammar::Span;
using trace::Tensor;

namespace {

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
  return in.impl().at(span, [&] { return Value(index_array(in, x, {item}, span)); });
}

}  // namespace shard::lang
