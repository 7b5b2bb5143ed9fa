// Views: row-major ones, and the test for them.
#include "runtime/array/view.h"

namespace shard::runtime {

View contiguous(DType dtype, Shape shape, void* data) {
  Strides strides = row_major(shape);
  return View{dtype, std::move(shape), std::move(strides), data};
}

// Strides of dimensions of size 1 mean nothing, and an array without elements is contiguous.
bool is_contiguous(const View& v) {
  std::int64_t step = 1;
  bool dense = true;
  for (std::size_t i = v.shape.size(); i-- > 0;) {
    if (v.shape[i] == 0) return true;
    if (v.shape[i] == 1) continue;
    dense = dense && v.strides[i] == step;
    step *= v.shape[i];
  }
  return dense;
}

}  // namespace shard::runtime
