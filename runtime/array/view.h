// What a kernel sees of an array: element type, sizes, strides in elements (0 broadcasts, negative reverses) and a
// pointer to the first element. Views own nothing. Plans keep views with null pointers and fill in the pointer when
// they run.
#pragma once
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

}  // namespace shard::runtime
