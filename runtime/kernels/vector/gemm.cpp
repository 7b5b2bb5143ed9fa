// One block of a matrix product by Eigen, single-threaded. Eigen is compiled under another namespace name for each
// instruction set (-DEigen=...), so that its templates are never shared between them.
#include "runtime/kernels/vector/common.h"

#define EIGEN_DONT_PARALLELIZE
#define EIGEN_NO_DEBUG
#include <Eigen/Core>

namespace shard::runtime::SHARD_ISA {
namespace {

template <class T>
using RowMajor = Eigen::Matrix<T, Eigen::Dynamic, Eigen::Dynamic, Eigen::RowMajor>;
template <class T>
using ColMajor = Eigen::Matrix<T, Eigen::Dynamic, Eigen::Dynamic, Eigen::ColMajor>;
template <class M>
using Ref = Eigen::Map<const M, 0, Eigen::OuterStride<>>;

template <class T, class A, class W>
void product(const Gemm& g, const A& a, const W& w) {
  Eigen::Map<RowMajor<T>, 0, Eigen::OuterStride<>> c(static_cast<T*>(g.c), g.m, g.n, Eigen::OuterStride<>(g.c_row));
  c.noalias() = a * w;
}

template <class T, class A>
void with_a(const Gemm& g, const A& a) {
  const T* w = static_cast<const T*>(g.w);
  if (g.w_col == 1)
    product<T>(g, a, Ref<RowMajor<T>>(w, g.k, g.n, Eigen::OuterStride<>(g.w_row)));
  else
    product<T>(g, a, Ref<ColMajor<T>>(w, g.k, g.n, Eigen::OuterStride<>(g.w_col)));
}

template <class T>
void gemm(const Gemm& g) {
  const T* a = static_cast<const T*>(g.a);
  if (g.a_col == 1)
    with_a<T>(g, Ref<RowMajor<T>>(a, g.m, g.k, Eigen::OuterStride<>(g.a_row)));
  else
    with_a<T>(g, Ref<ColMajor<T>>(a, g.m, g.k, Eigen::OuterStride<>(g.a_col)));
}

}  // namespace

void gemm_f32(const Gemm& g) { gemm<float>(g); }
void gemm_f64(const Gemm& g) { gemm<double>(g); }

}  // namespace shard::runtime::SHARD_ISA
