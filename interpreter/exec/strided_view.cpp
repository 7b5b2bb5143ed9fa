// Places: orders of memory, device parts, and dimensions of a block that are seen otherwise.
#include "interpreter/exec/strided_view.h"

#include <algorithm>

#include "grammar/stable_sort.h"

namespace shard::exec {

std::int64_t StridedView::device_stride(AxisId a) const {
  if (!distinct.has(a)) return 0;
  std::size_t at = 0;
  for (AxisId d : distinct.list()) {
    if (d == a) return device[at];
    ++at;
  }
  return 0;
}

std::int64_t elements(AxisSet distinct, const Shape& shape, const Mesh* mesh) {
  return runtime::numel(shape) * (mesh && !distinct.empty() ? mesh->size_of(distinct) : 1);
}

std::int64_t bytes_of(const StridedView& p, const Mesh* mesh) {
  return elements(p.distinct, p.shape, mesh) * item_bytes(p.dtype);
}

Anchors anchored(AxisSet axes, int before) {
  Anchors out;
  for (AxisId a : axes.list()) out.push_back({a, before});
  return out;
}

StridedView anchored_place(int storage, DType dtype, const Anchors& axes, Shape shape, const Mesh* mesh) {
  StridedView p;
  p.storage = storage;
  p.dtype = dtype;
  p.strides.assign(shape.size(), 0);
  p.shape = std::move(shape);
  std::vector<std::int64_t> of(mesh ? mesh->axes.size() : 0, 0);
  std::int64_t step = 1;
  std::size_t left = axes.size();
  for (std::size_t d = p.shape.size() + 1; d-- > 0;) {
    if (d < p.shape.size()) {
      p.strides[d] = step;
      if (__builtin_mul_overflow(step, std::max<std::int64_t>(p.shape[d], 1), &step)) step = 0;  // an empty array
    }
    for (; left > 0 && axes[left - 1].before == static_cast<int>(d); --left) {
      AxisId a = axes[left - 1].axis;
      p.distinct.add(a);
      of[a] = step;
      step *= mesh->size_of(a);
    }
  }
  for (AxisId a : p.distinct.list()) p.device.push_back(of[a]);
  return p;
}

std::optional<Anchors> anchors_of(const StridedView& p, const Mesh* mesh) {
  Anchors axes;
  for (AxisId a : p.distinct.list()) {
    int before = 0;
    for (std::size_t d = 0; d < p.shape.size(); ++d)
      if (p.shape[d] > 1 && p.strides[d] >= p.device_stride(a)) before = static_cast<int>(d) + 1;
    axes.push_back({a, before});
  }
  stable_sort(axes, [&](const Anchor& a, const Anchor& b) {
    return a.before != b.before ? a.before < b.before : p.device_stride(a.axis) > p.device_stride(b.axis);
  });
  StridedView like = anchored_place(p.storage, p.dtype, axes, p.shape, mesh);
  for (std::size_t d = 0; d < p.shape.size(); ++d)
    if (p.shape[d] > 1 && p.strides[d] != like.strides[d]) return std::nullopt;
  if (p.offset != 0 || !p.frozen.empty() || p.splat || p.device != like.device) return std::nullopt;
  return axes;
}

StridedView dense_place(int storage, DType dtype, AxisSet distinct, Shape shape, const Mesh* mesh) {
  return anchored_place(storage, dtype, anchored(distinct, 0), std::move(shape), mesh);
}

View view_of(const StridedView& p, const std::vector<AxisId>& batch, const Mesh* mesh) {
  View v;
  v.dtype = p.dtype;
  v.shape.reserve(batch.size() + p.shape.size());
  v.strides.reserve(batch.size() + p.shape.size());
  for (AxisId a : batch) {
    v.shape.push_back(mesh->size_of(a));
    v.strides.push_back(p.device_stride(a));
  }
  v.shape.insert(v.shape.end(), p.shape.begin(), p.shape.end());
  v.strides.insert(v.strides.end(), p.strides.begin(), p.strides.end());
  return v;
}

View view_of(const StridedView& p, const Anchors& order, const Mesh* mesh) {
  View v;
  v.dtype = p.dtype;
  auto axis = order.begin();
  for (std::size_t d = 0; d <= p.shape.size(); ++d) {
    for (; axis != order.end() && axis->before == static_cast<int>(d); ++axis) {
      v.shape.push_back(mesh->size_of(axis->axis));
      v.strides.push_back(p.device_stride(axis->axis));
    }
    if (d == p.shape.size()) break;
    v.shape.push_back(p.shape[d]);
    v.strides.push_back(p.strides[d]);
  }
  return v;
}

bool is_dense(const StridedView& p, const Mesh* mesh) {
  return p.offset == 0 && p.frozen.empty() && !p.splat && runtime::is_contiguous(view_of(p, p.distinct.list(), mesh));
}

bool lies_as(const StridedView& a, const StridedView& b) {
  return a.offset == 0 && a.frozen.empty() && a.device == b.device && a.strides == b.strides;
}

bool alone(const std::vector<StridedView>& all, std::size_t i) {
  return std::count_if(all.begin(), all.end(), [&](const StridedView& p) { return p.storage == all[i].storage; }) == 1;
}

StridedView seen_as(StridedView p, runtime::Strided view) {
  p.shape = std::move(view.shape);
  p.strides = std::move(view.strides);
  p.offset = view.offset;
  return p;
}

StridedView broadcast(StridedView p, const Shape& shape) {
  runtime::Strided view = runtime::broadcast(strided(p), shape);
  return seen_as(std::move(p), std::move(view));
}

StridedView seen_along(StridedView p, AxisSet distinct) {
  Strides device;
  for (AxisId a : distinct.list()) device.push_back(p.device_stride(a));
  p.distinct = distinct;
  p.device = std::move(device);
  return p;
}

std::int64_t offset_at(const StridedView& p, const std::vector<AxisId>& axes, std::int64_t position, const Mesh& mesh) {
  std::int64_t at = 0;
  for (std::size_t i = axes.size(); i-- > 0; position /= mesh.size_of(axes[i]))
    at += position % mesh.size_of(axes[i]) * p.device_stride(axes[i]);
  return at;
}

std::optional<StridedView> reshaped(const StridedView& p, const Shape& shape) {
  auto view = runtime::reshaped(strided(p), shape);
  return view ? std::optional(seen_as(p, std::move(*view))) : std::nullopt;
}

StridedView own_part(StridedView p, int dim, const std::vector<AxisId>& axes, AxisSet frozen, const Mesh& mesh) {
  auto d = static_cast<std::size_t>(dim);
  const std::int64_t parts = mesh.size_of(axes);
  std::int64_t step = p.strides[d] * (p.shape[d] / parts);
  p.shape[d] /= parts;
  AxisSet all = p.distinct;
  std::vector<std::int64_t> more(mesh.axes.size(), 0);
  for (std::size_t i = axes.size(); i-- > 0; step *= mesh.size_of(axes[i])) {
    AxisId a = axes[i];
    if (mesh.size_of(a) == 1) continue;
    if (frozen.has(a)) {
      p.frozen.emplace_back(a, step);
    } else {
      more[a] = step;
      all.add(a);
    }
  }
  p = seen_along(std::move(p), all);
  std::size_t i = 0;
  for (AxisId a : all.list()) p.device[i++] += more[a];
  return p;
}

Shape lay_apart(StridedView& p, const std::vector<std::vector<Dim>>& dims) {
  p.shape.clear();
  p.strides.clear();
  Shape together;
  for (const auto& parts : dims) {
    std::int64_t size = 1;
    for (const Dim& d : parts) {
      size *= d.size;
      p.shape.push_back(d.size);
      p.strides.push_back(d.stride);
    }
    together.push_back(size);
  }
  return together;
}

std::optional<Dim> merged(const std::vector<Dim>& dims) {
  std::optional<Dim> out;
  std::int64_t total = 1;
  for (const Dim& d : dims) total *= d.size;
  if (total <= 1) return Dim{total, 0};
  for (const Dim& d : dims) {
    if (d.size == 1) continue;
    if (!out)
      out = d;
    else if (out->stride == d.size * d.stride)
      out = Dim{out->size * d.size, d.stride};
    else
      return std::nullopt;
  }
  return out;
}

int coalesce(std::vector<View>& views, int batch) {
  auto drop = [&](std::size_t d) {
    for (View& v : views) {
      v.shape.erase(v.shape.begin() + static_cast<std::ptrdiff_t>(d));
      v.strides.erase(v.strides.begin() + static_cast<std::ptrdiff_t>(d));
    }
    --batch;
  };
  for (int d = batch - 1; d >= 0; --d)
    if (views[0].shape[static_cast<std::size_t>(d)] == 1) drop(static_cast<std::size_t>(d));
  for (int d = batch - 2; d >= 0; --d) {
    auto i = static_cast<std::size_t>(d);
    bool fits = std::all_of(views.begin(), views.end(),
                            [&](const View& v) { return v.strides[i] == v.shape[i + 1] * v.strides[i + 1]; });
    if (!fits) continue;
    for (View& v : views) v.shape[i + 1] *= v.shape[i];
    drop(i);
  }
  return batch;
}

}  // namespace shard::exec
