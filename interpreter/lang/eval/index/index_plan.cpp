#include "interpreter/lang/eval/index/index_plan.h"

#include <algorithm>

#include "interpreter/ir/explicit_law.h"
#include "interpreter/lang/eval/hooks.h"

namespace shard::lang {

using grammar::Span;
using runtime::DType;
using trace::Tensor;

namespace {

// Index arrays are i32 (or i64) whatever integers they were given as.
Tensor as_index(ArrayOps& ops, const Tensor& t) {
  const DType d = t.type().dtype;
  return d == DType::I32 || d == DType::I64
             ? t
             : ops.convert(t, d == DType::U32 || d == DType::U64 ? DType::I64 : DType::I32);
}

std::string ordinal(std::int64_t d) { return "dimension " + std::to_string(d); }

// How many elements a mask picks from each part only a run knows: what it picks from is whole.
void refuse_split_under(const runtime::Type& x, const runtime::Type& mask, std::size_t first) {
  for (std::size_t d = first; d < first + mask.shape.size() && d < x.sharding.dims.size(); ++d) {
    const auto& axes = x.sharding.dims[d].axes;
    if (axes.empty()) continue;
    throw runtime::RuntimeError(
        "layout", "a mask " + runtime::to_string(mask) + " picks from " + runtime::to_string(x) + ", whose dimension " +
                      std::to_string(d) + " is split over " + runtime::axes_text(*x.mesh, axes) +
                      ": how many elements each part gives only a run knows. `shard` the array first");
  }
}

// Whether the mask of `item` may pick from x, whose dimensions from `first` on it stands for.
void check_mask(Interpreter& in, const IndexItem& item, const runtime::Type& x, std::size_t first) {
  const runtime::Type& t = item.value.tensor().type();
  for (std::size_t k = 0; k < t.shape.size(); ++k)
    if (first + k < x.shape.size() && x.shape[first + k] != t.shape[k])
      in.fail("index", item.span,
              "the mask " + runtime::to_string(t) + " does not fit the array " + runtime::to_string(x) +
                  ": dimension " + std::to_string(first + k) + " has size " + std::to_string(x.shape[first + k]));
  refuse_split_under(x, t, first);
}

// The positions where a concrete mask holds, one index array a dimension of the mask.
std::vector<Tensor> positions_of(ArrayOps& ops, const Tensor& mask) {
  auto& ctx = ops.in().context();
  if (mask.traced())
    throw runtime::RuntimeError("trace",
                                "a mask picks as many elements as are true, and inside a traced function that is not "
                                "known; use where(mask, x, y), or x * mask");
  if (Checker* checker = ops.in().checker(); checker && !mask.array()->has_elements()) {
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

// What one item, or one dimension of a mask, means: an index array, or what the item says; `fresh`: a new dimension.
struct Meaning {
  const IndexItem* item;
  std::optional<Tensor> array;
  bool fresh = false;
};

// Items as meanings: one a dimension, `none`s among them, the ellipsis filled in.
class Meanings {
 public:
  Meanings(ArrayOps& ops, const runtime::Type& x, Span span) : ops_(ops), in_(ops.in()), x_(x), span_(span) {}

  std::vector<Meaning> of(const std::vector<IndexItem>& items) {
    for (const IndexItem& item : items) add(item);
    const int rank = x_.rank();
    if (used_ > rank)
      in_.fail("index", span_,
               runtime::to_string(x_) + " has " + std::to_string(rank) + (rank == 1 ? " dimension" : " dimensions") +
                   ", and " + std::to_string(used_) + " indices were given");
    static const IndexItem kAll = [] {
      IndexItem all;
      all.slice = true;
      return all;
    }();
    const std::size_t at = ellipsis_.value_or(meanings_.size());
    meanings_.insert(meanings_.begin() + static_cast<std::ptrdiff_t>(at), static_cast<std::size_t>(rank - used_),
                     Meaning{&kAll, std::nullopt});
    return std::move(meanings_);
  }

 private:
  void add(const IndexItem& item) {
    if (item.ellipsis) {
      if (ellipsis_) in_.fail("index", item.span, "an index has at most one `...`");
      ellipsis_ = meanings_.size();
    } else if (!item.slice && item.value.is_none()) {
      meanings_.push_back({&item, std::nullopt, true});
    } else if (is_mask(item)) {
      mask(item);
    } else if (item.slice || item.value.is<std::int64_t>()) {
      use(item, std::nullopt);
    } else if (item.value.is_tensor() || item.value.items()) {
      Tensor t = in_.tensor(item.value, item.span);
      if (item.value.items() && t.type().shape == runtime::Shape{0}) t = ops_.convert(t, DType::I32);
      if (!runtime::is_integer(t.type().dtype))
        in_.fail("index", item.span, "an index is an integer, and this is " + runtime::to_string(t.type()),
                 {"cast it: i32(i)"});
      use(item, as_index(ops_, t));
    } else {
      in_.fail("index", item.span,
               "an array is indexed by integers, slices, arrays and none, and this is " + kind_name(item.value));
    }
  }

  void mask(const IndexItem& item) {
    const Tensor& t = item.value.tensor();
    if (t.type().shape.empty())
      in_.fail("index", item.span, "a truth value is no index",
               {"a mask has the shape of the array's first dimensions"});
    if (!ellipsis_) check_mask(in_, item, x_, static_cast<std::size_t>(used_));
    for (Tensor& positions : positions_of(ops_, t)) use(item, std::move(positions));
  }

  void use(const IndexItem& item, std::optional<Tensor> array) {
    meanings_.push_back({&item, std::move(array)});
    ++used_;
  }

  ArrayOps& ops_;
  Interpreter& in_;
  const runtime::Type& x_;
  Span span_;
  std::vector<Meaning> meanings_;
  int used_ = 0;                         // dimensions of the array
  std::optional<std::size_t> ellipsis_;  // where it stands among the items
};

// The plan of what items mean, one after another.
class Planner {
 public:
  Planner(ArrayOps& ops, const runtime::Type& x, std::vector<Meaning> meanings, Span span, bool updates)
      : ops_(ops), in_(ops.in()), x_(x), meanings_(std::move(meanings)), span_(span) {
    for (const Meaning& e : meanings_)
      any_array_ = any_array_ || (e.array && (updates || !e.array->type().shape.empty()));
  }

  IndexPlan run() {
    for (std::size_t k = 0; k < meanings_.size(); ++k) {
      if (meanings_[k].fresh) {
        plan_.has_new = true;
        parts_.push_back({k, {1}});
      } else {
        dimension(k);
      }
    }
    broadcast_arrays();
    place(plan_.placed, false);
    place(plan_.result, true);
    return std::move(plan_);
  }

 private:
  void dimension(std::size_t k) {
    const Meaning& e = meanings_[k];
    const auto d = static_cast<std::int64_t>(plan_.dims.size());
    const std::int64_t n = x_.shape[plan_.dims.size()];
    DimIndex index;
    index.size = n;
    if (e.array) {
      if (n == 0 && runtime::numel(e.array->type().shape) > 0)
        in_.fail("index", e.item->span, ordinal(d) + " is empty: there is nothing to take");
      array(index, *e.array);
    } else if (e.item->slice) {
      const Picked p = picked_by(in_, *e.item, n, span_of(e));
      index.start = p.start, index.step = p.step, index.count = p.count, index.unknown = p.unknown;
      plan_.basic.push_back(p.count);
      parts_.push_back({k, {p.count}});
    } else {
      const std::int64_t i = *e.item->value.get<std::int64_t>();
      const std::int64_t p = i < 0 ? i + n : i;
      if (p < 0 || p >= n)
        in_.fail("index", span_of(e),
                 "index " + std::to_string(i) + " is out of range for " + ordinal(d) + " of size " + std::to_string(n),
                 {"the array is " + runtime::to_string(x_)});
      if (any_array_) {  // beside an index array an integer is one too
        array(index, ops_.scalar(p));
      } else {
        index.kind = DimIndex::Integer;
        index.start = p;
        index.count = 1;
      }
    }
    if (index.kind == DimIndex::Array) {
      if (last_ && *last_ + 1 != k) plan_.adjacent = false;
      if (!first_) first_ = k;
      last_ = k;
    }
    plan_.dims.push_back(index);
  }

  void array(DimIndex& index, Tensor positions) {
    index.kind = DimIndex::Array;
    plan_.arrays.push_back({static_cast<std::int64_t>(plan_.basic.size()), std::move(positions)});
    plan_.basic.push_back(index.size);
  }

  Span span_of(const Meaning& e) const { return e.item->span.known() ? e.item->span : span_; }

  void broadcast_arrays() {
    for (const IndexArray& a : plan_.arrays) {
      auto joint = runtime::broadcast(plan_.index_shape, a.index.type().shape);
      if (!joint)
        in_.fail("shape", span_,
                 "the index arrays do not broadcast together: " + runtime::to_string(plan_.index_shape) + " and " +
                     runtime::to_string(a.index.type().shape));
      plan_.index_shape = *joint;
    }
    if (plan_.arrays.size() > 1)
      for (IndexArray& a : plan_.arrays) a.index = ops_.broadcast(a.index, plan_.index_shape);
  }

  void place(runtime::Shape& out, bool fresh) const {
    if (!plan_.arrays.empty() && !plan_.adjacent) out = plan_.index_shape;
    std::size_t next = 0;
    for (std::size_t k = 0; k < meanings_.size(); ++k) {
      if (first_ && plan_.adjacent && k == *first_)
        out.insert(out.end(), plan_.index_shape.begin(), plan_.index_shape.end());
      if (next < parts_.size() && parts_[next].first == k) {
        if (fresh || !meanings_[k].fresh) out.insert(out.end(), parts_[next].second.begin(), parts_[next].second.end());
        ++next;
      }
    }
  }

  ArrayOps& ops_;
  Interpreter& in_;
  const runtime::Type& x_;
  std::vector<Meaning> meanings_;
  Span span_;
  bool any_array_ = false;
  std::optional<std::size_t> first_, last_;                    // meanings that are index arrays
  std::vector<std::pair<std::size_t, runtime::Shape>> parts_;  // by entry: the dimensions that it leaves
  IndexPlan plan_;
};

}  // namespace

bool is_mask(const IndexItem& item) {
  auto* t = item.value.get<Tensor>();
  return !item.slice && !item.ellipsis && t && t->type().dtype == DType::Bool;
}

IndexPlan plan_index(ArrayOps& ops, const Tensor& x, const std::vector<IndexItem>& items, Span span, bool updates) {
  const runtime::Type type = x.type();  // a copy: types of a trace move when it grows
  return Planner(ops, type, Meanings(ops, type, span).of(items), span, updates).run();
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
