#include "interpreter/lang/index/index_plan.h"

#include <algorithm>

#include "interpreter/ir/core_ops.h"
#include "interpreter/ir/explicit_law.h"

namespace shard::lang {

using grammar::Span;
using runtime::DType;
using trace::Tensor;

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

namespace {

// Index arrays are i32 (or i64) whatever integers they were given as.
Tensor as_index(ArrayOps& ops, const Tensor& t) {
  const DType d = t.type().dtype;
  return d == DType::I32 || d == DType::I64
             ? t
             : ops.convert(t, d == DType::U32 || d == DType::U64 ? DType::I64 : DType::I32);
}

std::string ordinal(std::int64_t d) { return "dimension " + std::to_string(d); }

}  // namespace

bool is_mask(const IndexItem& item) {
  auto* t = item.value.get<Tensor>();
  return !item.slice && !item.ellipsis && t && t->type().dtype == DType::Bool;
}

namespace {

// How many elements a mask picks from each part only a run knows: what it picks from is whole.
void refuse_split_under(const runtime::Type& x, const runtime::Type& mask, std::size_t first) {
  for (std::size_t d = first; d < first + mask.shape.size() && d < x.sharding.dims.size(); ++d) {
    const auto& axes = x.sharding.dims[d].axes;
    if (axes.empty()) continue;
    throw runtime::RuntimeError(
        "layout", "a mask " + runtime::to_string(mask) + " picks from " + runtime::to_string(x) + ", whose dimension " +
                      std::to_string(d) + " is split over " + ir::axes_text(*x.mesh, axes) +
                      ": how many elements each part gives only a run knows. `shard` the array first");
  }
}

}  // namespace

std::vector<Tensor> positions_of(ArrayOps& ops, const Tensor& mask, Span) {
  auto& ctx = ops.in().context();
  if (mask.traced())
    throw runtime::RuntimeError("trace",
                                "a mask picks as many elements as are true, and inside a traced function that is not "
                                "known; use where(mask, x, y), or x * mask");
  if (Checker* checker = ops.in().impl().checker; checker && !mask.array()->buffer) {
    const runtime::Shape some{checker->fresh_size()};
    return std::vector<Tensor>(static_cast<std::size_t>(mask.type().rank()),
                               ctx.unknown(runtime::Type::of(DType::I32, some)));
  }
  runtime::ArrayRef host = runtime::to_host(ctx.pool(), mask.array());
  const runtime::Shape shape = mask.type().shape;
  std::vector<std::vector<std::int32_t>> at(shape.size());
  runtime::Shape index(shape.size(), 0);
  const std::int64_t n = runtime::numel(shape);
  for (std::int64_t flat = 0; flat < n; ++flat) {
    if (runtime::element_int(*host, flat))
      for (std::size_t d = 0; d < shape.size(); ++d) at[d].push_back(static_cast<std::int32_t>(index[d]));
    for (std::size_t d = shape.size(); d-- > 0;) {
      if (++index[d] < shape[d]) break;
      index[d] = 0;
    }
  }
  std::vector<Tensor> out;
  for (auto& positions : at)
    out.emplace_back(
        runtime::from_host(ctx.pool(), DType::I32, {static_cast<std::int64_t>(positions.size())}, positions.data()));
  return out;
}

IndexPlan plan_index(ArrayOps& ops, const Tensor& x, const std::vector<IndexItem>& items, Span span) {
  Interpreter& in = ops.in();
  const runtime::Shape shape = x.type().shape;  // a copy: types of a trace move when it grows
  const auto rank = static_cast<std::int64_t>(shape.size());

  // Items as entries: one a dimension, `none`s among them, the ellipsis filled in.
  struct Entry {
    const IndexItem* item;
    std::optional<Tensor> array;
    bool fresh = false;
  };
  std::vector<Entry> entries;
  std::int64_t used = 0;
  std::ptrdiff_t ellipsis = -1;
  for (const IndexItem& item : items) {
    if (item.ellipsis) {
      if (ellipsis >= 0) in.fail("index", item.span, "an index has at most one `...`");
      ellipsis = static_cast<std::ptrdiff_t>(entries.size());
    } else if (item.slice) {
      entries.push_back({&item, std::nullopt});
      ++used;
    } else if (item.value.is_none()) {
      entries.push_back({&item, std::nullopt, true});
    } else if (is_mask(item)) {
      const runtime::Type t = item.value.tensor().type();
      if (t.shape.empty())
        in.fail("index", item.span, "a truth value is no index",
                {"a mask has the shape of the array's first dimensions"});
      for (std::size_t k = 0; k < t.shape.size(); ++k) {
        const auto d = static_cast<std::size_t>(used) + k;
        if (ellipsis < 0 && d < shape.size() && shape[d] != t.shape[k])
          in.fail("index", item.span,
                  "the mask " + runtime::to_string(t) + " does not fit the array " + runtime::to_string(x.type()) +
                      ": dimension " + std::to_string(d) + " has size " + std::to_string(shape[d]));
      }
      if (ellipsis < 0) refuse_split_under(x.type(), t, static_cast<std::size_t>(used));
      for (Tensor& p : positions_of(ops, item.value.tensor(), item.span)) {
        entries.push_back({&item, std::move(p)});
        ++used;
      }
    } else if (item.value.is<std::int64_t>()) {
      entries.push_back({&item, std::nullopt});
      ++used;
    } else if (item.value.is_tensor() || item.value.items()) {
      Tensor t = in.tensor(item.value, item.span);
      if (item.value.items() && t.type().shape == runtime::Shape{0}) t = ops.convert(t, DType::I32);
      if (!runtime::is_integer(t.type().dtype))
        in.fail("index", item.span, "an index is an integer, and this is " + runtime::to_string(t.type()),
                {"cast it: i32(i)"});
      entries.push_back({&item, as_index(ops, t)});
      ++used;
    } else {
      in.fail("index", item.span,
              "an array is indexed by integers, slices, arrays and none, and this is " + kind_name(item.value));
    }
  }
  if (used > rank)
    in.fail("index", span,
            runtime::to_string(x.type()) + " has " + std::to_string(rank) + (rank == 1 ? " dimension" : " dimensions") +
                ", and " + std::to_string(used) + " indices were given");
  if (ellipsis < 0) ellipsis = static_cast<std::ptrdiff_t>(entries.size());
  static const IndexItem kAll = [] {
    IndexItem all;
    all.slice = true;
    return all;
  }();
  entries.insert(entries.begin() + ellipsis, static_cast<std::size_t>(rank - used), Entry{&kAll, std::nullopt});

  bool any_array = false;
  for (const Entry& e : entries) any_array = any_array || (e.array && !e.array->type().shape.empty());

  IndexPlan plan;
  std::optional<std::size_t> first, last;                     // entries that are index arrays
  std::vector<std::pair<std::size_t, runtime::Shape>> parts;  // by entry: the dimensions that it leaves
  std::int64_t d = 0;
  for (std::size_t k = 0; k < entries.size(); ++k) {
    const Entry& e = entries[k];
    if (e.fresh) {
      plan.has_new = true;
      parts.push_back({k, {1}});
      continue;
    }
    const std::int64_t n = shape[static_cast<std::size_t>(d)];
    DimIndex index;
    index.size = n;
    if (e.array) {
      index.kind = DimIndex::Array;
      plan.arrays.push_back({static_cast<std::int64_t>(plan.basic.size()), *e.array});
      plan.basic.push_back(n);
      if (n == 0 && runtime::numel(e.array->type().shape) > 0)
        in.fail("index", e.item->span, ordinal(d) + " is empty: there is nothing to take");
    } else if (e.item->slice) {
      auto number = [&](const std::optional<Value>& v) {
        return in.integer(*v, e.item->span.known() ? e.item->span : span, "a bound of a slice");
      };
      auto given = [](const std::optional<Value>& v) { return v && !v->is_none(); };
      index.step = given(e.item->step) ? number(e.item->step) : 1;
      if (index.step == 0) in.fail("index", e.item->span, "the step of a slice is 0");
      auto bound = [&](const std::optional<Value>& v, std::int64_t otherwise) {
        if (!given(v)) return otherwise;
        std::int64_t i = number(v);
        if (i < 0) i = i < -n ? -1 : i + n;
        if (index.step < 0) return std::min(i, n - 1);
        return std::clamp<std::int64_t>(i, 0, n);
      };
      const std::int64_t from = bound(e.item->start, index.step > 0 ? 0 : n - 1),
                         to = bound(e.item->stop, index.step > 0 ? n : -1);
      const std::int64_t span_of = index.step > 0 ? to - from : from - to, by = index.step > 0            ? index.step
                                                                                : index.step == INT64_MIN ? INT64_MAX
                                                                                                          : -index.step;
      index.count = span_of > 0 ? (span_of - 1) / by + 1 : 0;
      index.start = index.count ? from : 0;
      if (index.count <= 1) index.step = 1;
      plan.basic.push_back(index.count);
      parts.push_back({k, {index.count}});
    } else {
      const std::int64_t i = *e.item->value.get<std::int64_t>();
      const std::int64_t p = i < 0 ? i + n : i;
      if (p < 0 || p >= n)
        in.fail("index", e.item->span.known() ? e.item->span : span,
                "index " + std::to_string(i) + " is out of range for " + ordinal(d) + " of size " + std::to_string(n),
                {"the array is " + runtime::to_string(x.type())});
      if (any_array) {  // beside an index array an integer is one too
        index.kind = DimIndex::Array;
        plan.arrays.push_back({static_cast<std::int64_t>(plan.basic.size()), ops.scalar(p)});
        plan.basic.push_back(n);
      } else {
        index.kind = DimIndex::Integer;
        index.start = p;
        index.count = 1;
      }
    }
    if (index.kind == DimIndex::Array) {
      if (last && *last + 1 != k) plan.adjacent = false;
      if (!first) first = k;
      last = k;
    }
    plan.dims.push_back(index);
    ++d;
  }

  for (const IndexArray& a : plan.arrays) {
    auto joint = runtime::broadcast(plan.index_shape, a.index.type().shape);
    if (!joint)
      in.fail("shape", span,
              "the index arrays do not broadcast together: " + runtime::to_string(plan.index_shape) + " and " +
                  runtime::to_string(a.index.type().shape));
    plan.index_shape = *joint;
  }
  if (plan.arrays.size() > 1)
    for (IndexArray& a : plan.arrays) a.index = ops.broadcast(a.index, plan.index_shape);

  auto place = [&](runtime::Shape& out, bool fresh) {
    if (!plan.arrays.empty() && !plan.adjacent) out = plan.index_shape;
    std::size_t next = 0;
    for (std::size_t k = 0; k < entries.size(); ++k) {
      if (first && plan.adjacent && k == *first)
        out.insert(out.end(), plan.index_shape.begin(), plan.index_shape.end());
      if (next < parts.size() && parts[next].first == k) {
        if (fresh || !entries[k].fresh) out.insert(out.end(), parts[next].second.begin(), parts[next].second.end());
        ++next;
      }
    }
  };
  place(plan.placed, false);
  place(plan.result, true);
  return plan;
}

Merged merge(ArrayOps& ops, const IndexPlan& plan, const Tensor& x, bool drop) {
  Merged m;
  const auto rank = static_cast<std::int64_t>(plan.basic.size());
  std::vector<bool> indexed(plan.basic.size(), false);
  for (const IndexArray& a : plan.arrays) indexed[static_cast<std::size_t>(a.dim)] = true;
  m.axis = plan.adjacent ? plan.arrays[0].dim : 0;
  for (std::int64_t d = 0; d < m.axis; ++d) m.perm.push_back(d);
  for (const IndexArray& a : plan.arrays) m.perm.push_back(a.dim);
  for (std::int64_t d = m.axis; d < rank; ++d)
    if (!indexed[static_cast<std::size_t>(d)]) m.perm.push_back(d);
  Tensor moved = ops.transpose(x, m.perm);
  m.moved = moved.type().shape;
  runtime::Shape merged(m.moved.begin(), m.moved.begin() + m.axis);
  std::int64_t total = 1;
  for (const IndexArray& a : plan.arrays)
    if (__builtin_mul_overflow(total, plan.basic[static_cast<std::size_t>(a.dim)], &total))
      throw runtime::RuntimeError("shape", "the indexed dimensions are too large together");
  merged.push_back(total);
  merged.insert(merged.end(), m.moved.begin() + m.axis + static_cast<std::ptrdiff_t>(plan.arrays.size()),
                m.moved.end());
  m.x = ops.reshape(moved, merged);
  const bool wide = total > INT32_MAX;
  m.folded = !drop && ops.tracing() && !plan.index_shape.empty();
  std::optional<Tensor> linear, inside;
  for (const IndexArray& a : plan.arrays) {
    const std::int64_t n = plan.basic[static_cast<std::size_t>(a.dim)];
    Tensor i = ops.wrapped(wide ? ops.convert(a.index, DType::I64) : a.index, n);
    if (drop || m.folded) {
      Tensor fits = ops.within(i, n);
      inside = inside ? ops.both(*inside, fits) : fits;
    }
    if (!drop) i = ops.clamped(i, n);
    linear = linear ? ops.add(ops.mul(*linear, ops.scalar(n)), i) : i;
  }
  if (m.folded)
    m.index = ops.select(*inside, *linear, ops.sub(ops.scalar(-1), *linear));
  else
    m.index = drop ? ops.select(*inside, *linear, ops.scalar(-1)) : *linear;
  return m;
}

}  // namespace shard::lang
