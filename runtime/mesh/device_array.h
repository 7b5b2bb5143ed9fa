// A concrete array on devices. Its distinct blocks lie in one allocation, block after block: physically it is one dense
// row-major array of shape [sizes of the distinct axes, in mesh order..., local shape...]. Devices that hold equal
// blocks by construction (the array is not split over an axis) share one block. An array split only along its leading
// dimension, by axes in mesh order, therefore lies in memory exactly as the whole array does.
#pragma once
#include <memory>

#include "runtime/array/buffer.h"
#include "runtime/array/view.h"
#include "runtime/mesh/type.h"

namespace shard::runtime {

struct DeviceArray;

// Elements that do not lie in this process's memory: on the devices of a target that is not here, or in a file.
class RemoteBlocks {
 public:
  virtual ~RemoteBlocks() = default;
  // The array's blocks in one buffer, as `DeviceArray::buffer` has them.
  virtual BufferRef fetch(Pool& pool, const DeviceArray& array) const = 0;
  // Whether parts can be had without the whole; then `read` fills a view with the elements from `origin` on. Any
  // thread.
  virtual bool in_parts() const { return false; }
  virtual void read(const Shape&, const View&) const {}
  // Until they have been computed; throws what went wrong.
  virtual void wait() const {}
  // Whether blocks can be had one by one; then `copy_block` gives the one at this place of `DeviceArray::buffer`, which
  // has them one behind the other. Any thread, after `wait`.
  virtual bool by_block() const { return false; }
  virtual void copy_block(const DeviceArray&, std::int64_t, void*) const {}
  // Whose devices they lie on, by which a target knows those that are its own; null: nobody's.
  virtual const void* owner() const { return nullptr; }
};

struct DeviceArray {
  Type type;        // global shape, explicit layout
  Sharding layout;  // over all axes of the mesh (auto ones too), closed; local shape = local_shape(mesh, shape, layout)
  AxisSet distinct;  // axes along which blocks differ: contains layout.split_axes() and layout.unreduced
  // At most one of the two; without either the array stands for its type and layout, and reading an element throws
  // RuntimeError("unknown").
  BufferRef buffer;
  std::shared_ptr<const RemoteBlocks> elsewhere;
  bool has_elements() const { return buffer || elsewhere; }
  Shape local() const;     // shape of one block
  Shape physical() const;  // [distinct axes..., local...]; of several processes the blocks of this one
  View view() const;       // over the physical shape, contiguous
};
using ArrayRef = std::shared_ptr<const DeviceArray>;

// A new single-block array (never laid out) whose elements are not set yet.
std::shared_ptr<DeviceArray> new_block(Pool& pool, DType dtype, Shape shape, bool weak = false);
// The array with its blocks in this process: `a` itself where they are.
ArrayRef here(Pool& pool, const ArrayRef& a);
// With the blocks of all processes, which come here: all that have it call this. `a` itself where nothing is missing.
ArrayRef whole(Pool& pool, const ArrayRef& a);
// A new single-block array (never laid out) from host data in row-major order.
ArrayRef from_host(Pool& pool, DType dtype, Shape shape, const void* data, bool weak = false);
// The whole value in row-major order on the host, as one block (unreduced sums are added up). Returns `a` itself where
// it already is one.
ArrayRef to_host(Pool& pool, const ArrayRef& a);
// A view of the whole value on the blocks where they lie: for each dimension the axes that split it, major to minor,
// then the size within a block, so that the view's elements in row-major order are the value's. Of an array without
// unreduced sums, whole.
View global_view(const DeviceArray& a);
// The value whose terms lie along the first `unreduced_dims` dimensions: their sum (maximum, minimum; of truth values:
// or).
void join_terms(UnreducedKind kind, const View& terms, int unreduced_dims, const View& to);
// The block that the device at `position` holds, as a single-block array.
ArrayRef block_of(Pool& pool, const ArrayRef& a, std::int64_t position);
// For each dimension, the half-open range of global indices that the device at `position` holds.
std::vector<std::pair<std::int64_t, std::int64_t>> index_of(const DeviceArray& a, std::int64_t position);
// One element, converted to double (or int64 for integers): index in the single block of `a`, flat.
double element_double(const DeviceArray& a, std::int64_t flat);
std::int64_t element_int(const DeviceArray& a, std::int64_t flat);
ArrayRef parts_of(const ArrayRef& host);  // of complex numbers, a last dimension of 2 with their parts; else itself

}  // namespace shard::runtime
