// One block of a matrix product, single-threaded, where this is faster than Eigen: with AVX-512. A vector times a
// matrix reads the matrix once, so that it is not worth packing.
#include "runtime/kernels/vector/packed.h"

namespace shard::runtime::SHARD_ISA {

void gemm_f32(const Gemm& g) {
  if ((g.m > 1 && g.n > 1) || !gemm_small_f32(g)) packed_product<Floats<float>>(g);
}
void gemm_f64(const Gemm& g) {
  if ((g.m > 1 && g.n > 1) || !gemm_small_f64(g)) packed_product<Floats<double>>(g);
}

}  // namespace shard::runtime::SHARD_ISA
