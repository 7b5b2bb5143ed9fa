// A reduction over `axes` (kernels.h: reduce), prepared for types, shapes and strides: run with pointers only, by any
// number of threads at once.
#pragma once
#include <memory>
#include <span>

#include "runtime/array/view.h"
#include "runtime/kernels/kernels.h"

namespace shard::runtime {

class Reduction {
 public:
  Reduction(Reduce op, const View& in, std::span<const int> axes, const View& out);
  ~Reduction();
  void run(const void* in, void* out) const;

 private:
  struct Impl;
  std::unique_ptr<const Impl> impl_;
};

}  // namespace shard::runtime
