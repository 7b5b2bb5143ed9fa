// What a kernel sees of an array: element type, sizes, strides in elements (0 broadcasts, negative reverses) and a
// pointer to the first element. Views own nothing. Plans keep views with null pointers and fill in the pointer when
// they run.
#pragma once
#include <optional>
#include <vector>

#include "runtime/array/dtype.h"
#include "runtime/array/shape.h"

namespace shard::runtime {

struct View {
  DType dtype = DType::F32;
  Shape shape;
  Strides strides;
  void* data = nullptr;
  int rank() const { return static_cast<int>(shape.size()); }
  template <class T>
  T* as() const {
    return static_cast<T*>(data);
  }
};

View contiguous(DType dtype, Shape shape, void* data = nullptr);
bool is_contiguous(const View& v);
bool all_alike(const View& v);  // one element everywhere

// How elements are seen, without type or memory: sizes, strides and the place of the first one, in elements.
struct Strided {
  Shape shape;
  Strides strides;
  std::int64_t offset = 0;
};
Strided broadcast(const Strided& x, const Shape& shape);                // NumPy's rule, aligned from the right
Strided permuted(const Strided& x, const std::vector<int>& perm);       // perm[i]: the old dimension that becomes i
std::optional<Strided> reshaped(const Strided& x, const Shape& shape);  // nothing where strides do not allow it

// One element as a number of the host; of a complex number the real part. A float becomes an integer cut off and
// clamped, nan 0.
double element_double(DType dtype, const void* element);
std::int64_t element_int(DType dtype, const void* element);
// The other way round: a type takes what it can hold, of integers their lowest bits.
void store_element(DType t, double value, std::int64_t integer, void* at);

}  // namespace shard::runtime
