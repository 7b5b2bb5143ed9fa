// Device arrays: where blocks lie, bringing them together on the host, and taking single blocks and elements out.
#include "runtime/mesh/device_array.h"

#include <cstring>

#include "runtime/kernels/kernels.h"
#include "runtime/mesh/part.h"

namespace shard::runtime {
namespace {

// The physical array seen in global order: for each dimension its axes, major to minor, then the local size. In front
// `unreduced_dims` dimensions hold the terms of an unreduced value. Other distinct axes hold the same value: index 0.
View global_order(const DeviceArray& a, int& unreduced_dims) {
  const View v = a.view();
  const std::vector<AxisId> distinct = a.distinct.list();
  View out{v.dtype, {}, {}, v.data};
  const auto add_axis = [&](AxisId axis) {
    for (std::size_t i = 0; i < distinct.size(); ++i)
      if (distinct[i] == axis) {
        out.shape.push_back(v.shape[i]);
        out.strides.push_back(v.strides[i]);
      }
  };
  for (const AxisId axis : a.layout.unreduced.list()) add_axis(axis);
  unreduced_dims = static_cast<int>(out.shape.size());
  for (std::size_t d = 0; d < a.type.shape.size(); ++d) {
    for (const AxisId axis : a.layout.dims[d].axes) add_axis(axis);
    out.shape.push_back(v.shape[distinct.size() + d]);
    out.strides.push_back(v.strides[distinct.size() + d]);
  }
  return out;
}

}  // namespace

Shape DeviceArray::local() const { return type.mesh ? local_shape(*type.mesh, type.shape, layout) : type.shape; }

Shape DeviceArray::physical() const {
  Shape out;
  for (const AxisId a : distinct.list())
    out.push_back(type.mesh->part ? type.mesh->part->here.size_of(a) : type.mesh->size_of(a));
  const Shape block = local();
  out.insert(out.end(), block.begin(), block.end());
  return out;
}

View DeviceArray::view() const { return contiguous(type.dtype, physical(), buffer ? buffer->data() : nullptr); }

std::shared_ptr<DeviceArray> new_block(Pool& pool, DType dtype, Shape shape, bool weak) {
  const std::int64_t bytes = checked_bytes(shape, size_of(dtype));
  auto out = std::make_shared<DeviceArray>();
  out->type = Type::of(dtype, std::move(shape), weak);
  out->layout = out->type.sharding;
  out->buffer = pool.allocate(static_cast<std::size_t>(bytes));
  return out;
}

ArrayRef here(Pool& pool, const ArrayRef& a) {
  if (a->buffer) return a;
  if (!a->elsewhere)
    throw RuntimeError("unknown", "the elements of " + to_string(a->type) + " are known only in a run");
  auto out = std::make_shared<DeviceArray>(*a);
  out->buffer = a->elsewhere->fetch(pool, *a);
  out->elsewhere = nullptr;
  return out;
}

ArrayRef whole(Pool& pool, const ArrayRef& array) {
  const Mesh* mesh = array->type.mesh.get();
  const AxisSet along = mesh && mesh->part ? array->distinct & mesh->part->apart : AxisSet();
  if (along.empty()) return array;
  const ArrayRef a = here(pool, array);
  const std::int64_t block = checked_bytes(a->local(), size_of(a->type.dtype));
  const GatherBlocks gather(*mesh, a->distinct.list(), along, block);
  auto all = std::make_shared<Mesh>(*mesh);
  all->part = nullptr;
  auto out = std::make_shared<DeviceArray>(*a);
  out->type.mesh = std::move(all);
  out->buffer = pool.allocate(static_cast<std::size_t>(gather.all_bytes()));
  const BufferRef scratch = pool.allocate(static_cast<std::size_t>(gather.scratch_bytes()));
  const std::string what = "all blocks of " + to_string(Type::of(a->type.dtype, a->type.shape));
  gather.run({what}, a->buffer->data(), out->buffer->data(), static_cast<char*>(scratch->data()));
  return out;
}

ArrayRef from_host(Pool& pool, DType dtype, Shape shape, const void* data, bool weak) {
  auto out = new_block(pool, dtype, std::move(shape), weak);
  if (out->buffer->bytes() > 0) std::memcpy(out->buffer->data(), data, out->buffer->bytes());
  return out;
}

ArrayRef to_host(Pool& pool, const ArrayRef& array) {
  const ArrayRef a = whole(pool, here(pool, array));
  if (a->distinct.empty()) return a;
  int unreduced_dims = 0;
  const View blocks = global_order(*a, unreduced_dims);
  if (unreduced_dims == 0 && is_contiguous(blocks) &&
      a->distinct == a->layout.split_axes()) {  // memory is in order already
    auto out = std::make_shared<DeviceArray>();
    out->type = Type::of(a->type.dtype, a->type.shape, a->type.weak);
    out->layout = out->type.sharding;
    out->buffer = a->buffer;
    return out;
  }
  auto out = new_block(pool, a->type.dtype, a->type.shape, a->type.weak);
  const Shape kept(blocks.shape.begin() + unreduced_dims, blocks.shape.end());
  const View target = contiguous(a->type.dtype, kept, out->buffer->data());
  if (unreduced_dims == 0) {
    copy(blocks, target);
  } else {
    join_terms(a->layout.unreduced_kind, blocks, unreduced_dims, target);
  }
  return out;
}

void join_terms(UnreducedKind kind, const View& terms, int unreduced_dims, const View& to) {
  const Reduce op = kind == UnreducedKind::Max   ? Reduce::Max
                    : kind == UnreducedKind::Min ? Reduce::Min
                    : terms.dtype == DType::Bool ? Reduce::Or
                                                 : Reduce::Sum;
  reduce_blocks(op, terms, unreduced_dims, to);
}

View global_view(const DeviceArray& a) {
  if (!a.buffer) throw RuntimeError("unknown", "the elements of " + to_string(a.type) + " are not in this process");
  int unreduced_dims = 0;
  return global_order(a, unreduced_dims);
}

ArrayRef block_of(Pool& pool, const ArrayRef& array, std::int64_t position) {
  const ArrayRef a = whole(pool, here(pool, array));
  const Shape local = a->local();
  auto out = new_block(pool, a->type.dtype, local, a->type.weak);
  std::int64_t block = 0;
  if (!a->distinct.empty()) {
    const std::vector<std::int64_t> at = coordinates_of(*a->type.mesh, position);
    for (const AxisId axis : a->distinct.list()) block = block * a->type.mesh->size_of(axis) + at[axis];
  }
  const std::size_t bytes = out->buffer->bytes();
  if (bytes > 0)
    std::memcpy(out->buffer->data(),
                static_cast<const char*>(a->buffer->data()) + static_cast<std::size_t>(block) * bytes, bytes);
  return out;
}

std::vector<std::pair<std::int64_t, std::int64_t>> index_of(const DeviceArray& a, std::int64_t position) {
  std::vector<std::pair<std::int64_t, std::int64_t>> out;
  const Shape local = a.local();
  std::vector<std::int64_t> at;
  if (a.type.mesh) at = coordinates_of(*a.type.mesh, position);
  for (std::size_t d = 0; d < local.size(); ++d) {
    std::int64_t part = 0;
    for (const AxisId axis : a.layout.dims[d].axes) part = part * a.type.mesh->size_of(axis) + at[axis];
    out.emplace_back(part * local[d], (part + 1) * local[d]);
  }
  return out;
}

namespace {

const void* element(const DeviceArray& a, std::int64_t flat) {
  return static_cast<const char*>(a.buffer->data()) + flat * static_cast<std::int64_t>(size_of(a.type.dtype));
}

}  // namespace

ArrayRef parts_of(const ArrayRef& host) {
  if (!is_complex(host->type.dtype)) return host;
  auto out = std::make_shared<DeviceArray>(*host);
  Shape shape = host->type.shape;
  shape.push_back(2);
  out->type = Type::of(part_of(host->type.dtype), std::move(shape));
  out->layout = {};
  return out;
}

double element_double(const DeviceArray& a, std::int64_t flat) {
  return element_double(a.type.dtype, element(a, flat));
}
std::int64_t element_int(const DeviceArray& a, std::int64_t flat) {
  return element_int(a.type.dtype, element(a, flat));
}

}  // namespace shard::runtime
