// Blocks as Eigen sees them; for the .cpp files of this folder alone.
#pragma once
#include <Eigen/Core>

#include "runtime/kernels/dense/dense.h"

namespace shard::runtime::dense {

inline auto map(Block b) {
  return Eigen::Map<Eigen::MatrixXd, 0, Eigen::OuterStride<>>(b.data, b.rows, b.cols, Eigen::OuterStride<>(b.step));
}
inline auto column(Block b, Index j) { return Eigen::Map<Eigen::VectorXd>(b.data + j * b.step, b.rows); }

}  // namespace shard::runtime::dense
