// Where a value of a local graph lies: a strided view into one storage of a plan, over the axes along which its blocks
// differ and over its local dimensions. Most collectives, broadcasts, transpositions and slices only make another
// StridedView of the same storage. Pure functions on strides; nothing here allocates or runs. Used by the lowering
// (lowering.h) only.
#pragma once
#include <bit>
#include <cstdint>
#include <optional>
#include <utility>
#include <vector>

#include "runtime/array/view.h"
#include "runtime/mesh/mesh.h"

namespace shard::exec {

using runtime::AxisId;
using runtime::AxisSet;
using runtime::DType;
using runtime::Mesh;
using runtime::Shape;
using runtime::Strides;
using runtime::View;

struct Scalar {  // a constant that is the same everywhere; the integer counts for integer and bool types
  double value = 0;
  std::int64_t integer = 0;
  bool operator==(const Scalar& o) const {  // by bits: 0 and -0 are two constants, nan is one
    return std::bit_cast<std::int64_t>(value) == std::bit_cast<std::int64_t>(o.value) && integer == o.integer;
  }
};

struct Dim {  // one dimension of memory, in elements
  std::int64_t size = 1, stride = 0;
  bool operator==(const Dim&) const = default;
};

inline constexpr int kNoStorage = -1;  // of a place that only says how something would lie

struct StridedView {
  int storage = kNoStorage;
  DType dtype = DType::F32;
  AxisSet distinct;  // axes along which blocks differ; never axes of size 1
  Strides device;    // one for each of them, in mesh order
  Shape shape;       // of one block
  Strides strides;
  std::int64_t offset = 0;
  std::vector<std::pair<AxisId, std::int64_t>>
      frozen;                                  // further offset: stride times the coordinate that the region runs for
  std::optional<Scalar> splat;                 // all elements are this constant
  std::int64_t device_stride(AxisId a) const;  // 0 along axes that are not distinct
};

// The order of memory: a device axis stands right before (outside of) a dimension of the block, or after all of them
// (the rank). Outermost first.
struct Anchor {
  AxisId axis;
  int before;
};
using Anchors = std::vector<Anchor>;
Anchors anchored(AxisSet axes, int before);  // all at one dimension, in mesh order

// Row-major over the dimensions of a block, device axes where they are anchored.
StridedView anchored_place(int storage, DType dtype, const Anchors& axes, Shape shape, const Mesh* mesh);
// How a place lies; nothing where it is not all of such memory (transposed, cut, broadcast).
std::optional<Anchors> anchors_of(const StridedView& p, const Mesh* mesh);
// Row-major over [distinct axes in mesh order..., shape...].
StridedView dense_place(int storage, DType dtype, AxisSet distinct, Shape shape, const Mesh* mesh);
bool is_dense(const StridedView& p, const Mesh* mesh);
bool lies_as(const StridedView& a, const StridedView& b);        // all of its storage, in the order of `b`
bool alone(const std::vector<StridedView>& all, std::size_t i);  // no other one is in the storage of all[i]
std::int64_t elements(AxisSet distinct, const Shape& shape, const Mesh* mesh);
inline std::int64_t item_bytes(DType dtype) { return static_cast<std::int64_t>(runtime::size_of(dtype)); }
std::int64_t bytes_of(const StridedView& p, const Mesh* mesh);  // of all blocks that differ

// What a kernel gets: leading dimensions for `batch` (stride 0 where the value does not differ), then the local ones.
// Data is null.
View view_of(const StridedView& p, const std::vector<AxisId>& batch, const Mesh* mesh);
View view_of(const StridedView& p, const Anchors& order, const Mesh* mesh);  // axes where memory of this order has them

// Of the dimensions of a block: how they lie, and a place whose blocks are seen otherwise.
inline runtime::Strided strided(const StridedView& p) { return {p.shape, p.strides, p.offset}; }
StridedView seen_as(StridedView p, runtime::Strided view);
StridedView broadcast(StridedView p, const Shape& shape);  // NumPy's rule, aligned from the right
StridedView seen_along(StridedView p, AxisSet distinct);   // the same blocks, by their places along these axes
// From the first block to that of a device, by its position along the axes (major first); in elements.
std::int64_t offset_at(const StridedView& p, const std::vector<AxisId>& axes, std::int64_t position, const Mesh& mesh);
std::optional<StridedView> reshaped(const StridedView& p, const Shape& shape);  // nothing where strides do not allow it

// Dimension `dim` cut over `axes` (major first): every device sees its own part. Axes in `frozen` become offsets.
StridedView own_part(StridedView p, int dim, const std::vector<AxisId>& axes, AxisSet frozen, const Mesh& mesh);

// A dimension made of several, the major one first; nothing where strides do not allow it.
std::optional<Dim> merged(const std::vector<Dim>& dims);
// Every dimension of memory by itself: the shape and strides of `p` become those of all parts. Gives the shape that the
// parts make together.
Shape lay_apart(StridedView& p, const std::vector<std::vector<Dim>>& dims);

// Adjacent leading dimensions become one where all views allow it. `batch` dimensions lead; returns how many are left.
int coalesce(std::vector<View>& views, int batch);

}  // namespace shard::exec
