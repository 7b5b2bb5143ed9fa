// Views: row-major ones and the test for them; strides of broadcasts, transpositions and reshapes.
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

Strided broadcast(const Strided& x, const Shape& shape) {
  const std::size_t extra = shape.size() - x.shape.size();
  Strided out{shape, Strides(shape.size(), 0), x.offset};
  for (std::size_t d = 0; d < x.shape.size(); ++d)
    if (x.shape[d] == shape[extra + d]) out.strides[extra + d] = x.strides[d];
  return out;
}

Strided permuted(const Strided& x, const std::vector<int>& perm) {
  Strided out{{}, {}, x.offset};
  for (int d : perm) {
    out.shape.push_back(x.shape[static_cast<std::size_t>(d)]);
    out.strides.push_back(x.strides[static_cast<std::size_t>(d)]);
  }
  return out;
}

std::optional<Strided> reshaped(const Strided& x, const Shape& shape) {
  Strided out{shape, Strides(shape.size(), 0), x.offset};
  if (numel(shape) == 0) return out;
  // The old dimensions are gathered into runs that step evenly; each run is then cut into new dimensions.
  struct Run {
    std::int64_t size, stride;
  };
  std::vector<Run> runs;
  for (std::size_t d = 0; d < x.shape.size(); ++d) {
    if (x.shape[d] == 1) continue;
    if (!runs.empty() && runs.back().stride == x.shape[d] * x.strides[d])
      runs.back() = {runs.back().size * x.shape[d], x.strides[d]};
    else
      runs.push_back({x.shape[d], x.strides[d]});
  }
  std::size_t d = 0;
  for (const Run& run : runs) {
    std::int64_t left = run.size;
    while (left > 1) {
      while (d < shape.size() && shape[d] == 1) ++d;
      if (d == shape.size() || left % shape[d]) return std::nullopt;
      left /= shape[d];
      out.strides[d] = left * run.stride;
      ++d;
    }
  }
  return out;
}

}  // namespace shard::runtime
