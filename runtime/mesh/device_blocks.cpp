#include "runtime/mesh/device_blocks.h"

#include <algorithm>
#include <cstring>

#include "runtime/kernels/kernels.h"
#include "runtime/mesh/part.h"

namespace shard::runtime {

std::int64_t count_of_blocks(const DeviceArray& a) {
  std::int64_t out = 1;
  for (std::size_t d = 0; a.type.mesh && d < a.type.shape.size(); ++d) out *= parts(*a.type.mesh, a.layout.dims[d]);
  return out;
}

bool writes_blocks(const DeviceArray& a, int index) {
  const MeshPart* part = a.type.mesh ? a.type.mesh->part.get() : nullptr;
  if (!part) return index == 0;
  for (const AxisId axis : (part->apart - a.layout.split_axes()).list())
    if (part->first[axis] > 0) return false;
  return true;
}

std::vector<DeviceBlock> device_blocks(const DeviceArray& a) {
  const View all = a.view();
  const std::vector<AxisId> distinct = a.distinct.list();
  const auto stride_of = [&](AxisId axis) {  // in the physical array; 0 where blocks do not differ
    for (std::size_t i = 0; i < distinct.size(); ++i)
      if (distinct[i] == axis) return all.strides[i];
    return std::int64_t{0};
  };
  const Shape local = a.local();
  DeviceBlock block{Shape(local.size(), 0), {all.dtype, {}, {}, nullptr}, 0};
  for (const AxisId axis : a.layout.unreduced.list()) {
    block.terms.shape.push_back(a.type.mesh->size_of(axis));
    block.terms.strides.push_back(stride_of(axis));
  }
  block.unreduced_dims = static_cast<int>(block.terms.shape.size());
  block.terms.shape.insert(block.terms.shape.end(), local.begin(), local.end());
  block.terms.strides.insert(block.terms.strides.end(),
                             all.strides.begin() + static_cast<std::ptrdiff_t>(distinct.size()), all.strides.end());
  Shape grid;
  for (std::size_t d = 0; d < local.size(); ++d)
    grid.push_back(a.type.mesh ? parts(*a.type.mesh, a.layout.dims[d]) : 1);
  const MeshPart* part = a.type.mesh ? a.type.mesh->part.get() : nullptr;
  std::vector<DeviceBlock> out;
  Shape at(local.size(), 0);
  for (const std::int64_t count = numel(grid); block.number < count; ++block.number) {
    std::int64_t offset = 0;
    bool here = true;
    for (std::size_t d = 0; d < at.size(); ++d) {
      block.origin[d] = at[d] * local[d];
      std::int64_t rest = at[d];  // its axes, the last one fastest
      for (auto axis = a.layout.dims[d].axes.rbegin(); axis != a.layout.dims[d].axes.rend(); ++axis) {
        const std::int64_t place = rest % a.type.mesh->size_of(*axis) - (part ? part->first[*axis] : 0);
        here = here && place >= 0 && (!part || place < part->here.size_of(*axis));
        offset += place * stride_of(*axis);
        rest /= a.type.mesh->size_of(*axis);
      }
    }
    block.place = offset / std::max<std::int64_t>(1, numel(local));
    block.terms.data =
        all.data ? static_cast<char*>(all.data) + offset * static_cast<std::int64_t>(size_of(all.dtype)) : nullptr;
    if (here) out.push_back(block);
    for (std::size_t d = at.size(); d-- > 0 && ++at[d] == grid[d];) at[d] = 0;
  }
  return out;
}

Placement placement_of(const DeviceArray& a) {
  Placement out{a.type, a.layout};
  out.type.weak = false;
  for (DimSharding& d : out.layout.dims) d.open = false;
  return out;
}

Placement placement_of(const Type& type) {
  Placement out{type, type.sharding};
  out.type.weak = false;
  for (DimSharding& d : out.layout.dims) d.open = false;
  if (type.mesh)
    for (DimSharding& d : out.type.sharding.dims)
      std::erase_if(d.axes, [&](AxisId a) { return type.mesh->axes[a].kind == AxisKind::Auto; });
  return out;
}

ArrayRef new_placed(Pool& pool, const Placement& at,
                    const std::function<void(const Shape& origin, const View& to)>& fill) {
  const std::size_t item = size_of(at.type.dtype);
  checked_bytes(at.type.shape, item);
  auto out = std::make_shared<DeviceArray>();
  out->type = at.type;
  out->layout = at.layout;
  if (at.type.mesh) out->distinct = at.layout.split_axes() | at.layout.unreduced;
  const std::int64_t bytes = checked_bytes(out->physical(), item);
  out->buffer = pool.allocate(static_cast<std::size_t>(bytes));
  // The value is the first term of an unreduced sum; the others are zero, or of a maximum the same.
  const bool sum = at.layout.unreduced_kind == UnreducedKind::Sum;
  if (!at.layout.unreduced.empty() && sum) std::memset(out->buffer->data(), 0, static_cast<std::size_t>(bytes));
  for (const DeviceBlock& block : device_blocks(*out)) {
    View one = block.terms;
    one.shape.erase(one.shape.begin(), one.shape.begin() + block.unreduced_dims);
    one.strides.erase(one.strides.begin(), one.strides.begin() + block.unreduced_dims);
    fill(block.origin, one);
    if (block.unreduced_dims == 0 || sum) continue;
    View same = one;  // seen once for each term
    same.shape = block.terms.shape;
    same.strides.insert(same.strides.begin(), static_cast<std::size_t>(block.unreduced_dims), 0);
    copy(same, block.terms);
  }
  return out;
}

}  // namespace shard::runtime
