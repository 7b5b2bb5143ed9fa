#include "interpreter/lang/eval/index/items.h"

#include <algorithm>

#include "interpreter/lang/eval/impl.h"
#include "interpreter/lang/values/unknown.h"

namespace shard::lang {

using namespace grammar;
using Impl = Interpreter::Impl;

namespace {

// x[2..5] is x[2:5], so that an index of ranges (shards, from_blocks) can be used as it is.
void range_to_slice(IndexItem& item) {
  const Range* r = item.value.get<Range>();
  if (!r || item.slice) return;
  item.start = Value(r->begin);
  item.stop = Value(std::max(r->begin, r->end));
  item.slice = true;
  item.value = Value();
}

}  // namespace

std::vector<IndexItem> eval_items(Impl& m, const Index& x) {
  std::vector<IndexItem> out;
  out.reserve(x.items.size());
  for (const Item& i : x.items) {
    IndexItem item;
    item.span = i.span;
    item.ellipsis = i.ellipsis;
    item.slice = i.slice;
    if (i.value) item.value = m.eval(*i.value);
    if (i.start) item.start = m.eval(*i.start);
    if (i.stop) item.stop = m.eval(*i.stop);
    if (i.step) item.step = m.eval(*i.step);
    // x[(i, j)] is x[i, j]
    if (auto* t = item.value.get<std::shared_ptr<Tuple>>(); t && x.items.size() == 1) {
      for (const Value& v : (*t)->items) {
        IndexItem one;
        one.span = i.span;
        one.value = v;
        range_to_slice(one);
        out.push_back(std::move(one));
      }
      return out;
    }
    range_to_slice(item);
    out.push_back(std::move(item));
  }
  return out;
}

std::int64_t position(Impl& m, std::int64_t size, const Value& index, Span span, const char* what) {
  const std::int64_t i = m.in.integer(index, span, "an index");
  const std::int64_t p = i < 0 ? i + size : i;
  if (p < 0 || p >= size)
    m.fail("index", span,
           "index " + std::to_string(i) + " is out of range for a " + what + " of " + std::to_string(size),
           {size ? "indices go from " + std::to_string(-size) + " to " + std::to_string(size - 1) : "it is empty"});
  return p;
}

std::size_t list_position(Impl& m, const Value& list, const Value& index, Span span) {
  return static_cast<std::size_t>(position(m, static_cast<std::int64_t>(list.items()->size()), index, span,
                                           list.is<std::shared_ptr<List>>() ? "list" : "tuple"));
}

Picked picked_by(Interpreter& in, const IndexItem& slice, std::int64_t size, Span span) {
  auto given = [](const std::optional<Value>& v) { return v && !v->is_none(); };
  auto number = [&](const std::optional<Value>& v) { return in.integer(*v, span, "a bound of a slice"); };
  Picked out;
  if (Checker* checker = in.impl().checker)
    for (const auto* v : {&slice.start, &slice.stop, &slice.step}) {
      const std::int64_t n = given(*v) ? number(*v) : 0;
      if (!is_unknown_size(n) && !is_unknown_size(-(n + 1))) continue;
      out.unknown = true;
      out.count = checker->fresh_size();
      return out;
    }
  if (given(slice.step)) out.step = number(slice.step);
  if (out.step == 0) in.fail("value", span, "the step of a slice is 0");
  const bool forward = out.step > 0;
  auto bound = [&](const std::optional<Value>& v, std::int64_t otherwise) {
    if (!given(v)) return otherwise;
    std::int64_t i = number(v);
    if (i < 0) i = i < -size ? -1 : i + size;
    return forward ? std::clamp<std::int64_t>(i, 0, size) : std::min(i, size - 1);
  };
  const std::int64_t from = bound(slice.start, forward ? 0 : size - 1), to = bound(slice.stop, forward ? size : -1);
  const std::int64_t reach = forward ? to - from : from - to;
  const std::int64_t by = forward ? out.step : out.step == INT64_MIN ? INT64_MAX : -out.step;
  out.count = reach > 0 ? (reach - 1) / by + 1 : 0;
  out.start = out.count ? from : 0;
  if (out.count <= 1) out.step = 1;
  return out;
}

}  // namespace shard::lang
