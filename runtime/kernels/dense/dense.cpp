// Products by the matrix kernels of this machine, reflectors by blocks, triangular systems by blocks.
#include "runtime/kernels/dense/dense.h"

#define EIGEN_DONT_PARALLELIZE
#include <Eigen/Dense>
#include <algorithm>
#include <cmath>

#include "runtime/kernels/dense/eigen.h"
#include "runtime/kernels/kernels.h"
#include "runtime/kernels/spread.h"

namespace shard::runtime::dense {
namespace {

constexpr Index kBlock = 64;

// As the row-major matrix that it is when it is read the other way round.
View seen(Block b, Way way) {
  View v{DType::F64, {b.cols, b.rows}, {b.step, 1}, b.data};
  if (way == Way::Transposed) {
    std::swap(v.shape[0], v.shape[1]);
    std::swap(v.strides[0], v.strides[1]);
  }
  return v;
}

}  // namespace

void multiply(Block a, Way way_a, Block b, Way way_b, Block out, const Stop* stop) {
  if (out.rows == 0 || out.cols == 0) return;
  matmul(seen(b, way_b), seen(a, way_a), seen(out, Way::Plain), stop);  // (a b)ᵀ = bᵀ aᵀ
}

void subtract_product(Block from, Block a, Way way_a, Block b, Way way_b, const Stop* stop) {
  if (from.rows == 0 || from.cols == 0) return;
  Matrix product(from.rows, from.cols);
  multiply(a, way_a, b, way_b, product, stop);
  const Block p = product;
  spread(from.cols, std::max<Index>(1, 65536 / from.rows), [&](Index lo, Index hi) {
    for (Index j = lo; j < hi; ++j) column(from, j) -= column(p, j);
  });
}

void multiply_vector(Block a, Way way, const double* x, double* y) {
  const Eigen::Map<const Eigen::VectorXd> in(x, way == Way::Plain ? a.cols : a.rows);
  if (a.rows == 0 || a.cols == 0) {
    std::fill_n(y, way == Way::Plain ? a.rows : a.cols, 0.0);
    return;
  }
  constexpr Index kWork = 1 << 17;
  if (way == Way::Transposed) {
    spread(a.cols, std::max<Index>(4, kWork / a.rows), [&](Index lo, Index hi) {
      Eigen::Map<Eigen::VectorXd>(y + lo, hi - lo).noalias() = map(a.part(0, lo, a.rows, hi - lo)).transpose() * in;
    });
  } else {
    spread(a.rows, std::max<Index>(64, kWork / a.cols), [&](Index lo, Index hi) {
      Eigen::Map<Eigen::VectorXd>(y + lo, hi - lo).noalias() = map(a.part(lo, 0, hi - lo, a.cols)) * in;
    });
  }
}

double reflect(double* x, Index n) {
  double largest = 0;
  for (Index i = 1; i < n; ++i) largest = std::max(largest, std::abs(x[i]));
  if (largest == 0) return 0;
  const double scale = std::max(largest, std::abs(x[0]));
  double squares = 0;
  for (Index i = 0; i < n; ++i) squares += (x[i] / scale) * (x[i] / scale);
  const double norm = std::sqrt(squares) * scale, beta = x[0] >= 0 ? -norm : norm, first = x[0] - beta;
  const double tau = -first / beta;
  for (Index i = 1; i < n; ++i) x[i] /= first;
  x[0] = beta;
  return tau;
}

void apply_reflectors(Block v, const std::vector<double>& tau, Way way, Block c, const Stop* stop) {
  const Index n = static_cast<Index>(tau.size()), blocks = (n + kBlock - 1) / kBlock;
  for (Index k = 0; k < blocks; ++k) {
    const Index begin = (way == Way::Plain ? blocks - 1 - k : k) * kBlock, width = std::min(kBlock, n - begin),
                rows = v.rows - begin;
    // H0 ... H(width - 1) = I - W T Wᵀ with T upper triangular.
    Matrix w(rows, width), t(width, width), product(width, c.cols), turned(width, c.cols);
    for (Index j = 0; j < width; ++j) {
      w(j, j) = 1;
      for (Index i = j + 1; i < rows; ++i) w(i, j) = v(begin + i, begin + j);
    }
    const Eigen::MatrixXd gram = map(w).transpose() * map(w);
    for (Index j = 0; j < width; ++j) {
      t(j, j) = tau[static_cast<std::size_t>(begin + j)];
      const Eigen::VectorXd before = gram.col(j).head(j);
      map(t).col(j).head(j) = map(t).topLeftCorner(j, j).triangularView<Eigen::Upper>() * before;
      map(t).col(j).head(j) *= -t(j, j);
    }
    const Block below = c.part(begin, 0, rows, c.cols);
    multiply(w, Way::Transposed, below, Way::Plain, product, stop);
    multiply(t, way, product, Way::Plain, turned, stop);
    subtract_product(below, w, Way::Plain, turned, Way::Plain, stop);
  }
}

void solve_in_place(Block t, Triangle which, Block x, const Stop* stop) {
  const bool lower = which == Triangle::Lower || which == Triangle::UnitLower;
  const Index n = t.rows, blocks = (n + kBlock - 1) / kBlock;
  for (Index k = 0; k < blocks; ++k) {
    const Index begin = (lower ? k : blocks - 1 - k) * kBlock, width = std::min(kBlock, n - begin);
    const Index known = lower ? 0 : begin + width, count = lower ? begin : n - known;
    const Block here = x.part(begin, 0, width, x.cols), corner = t.part(begin, begin, width, width);
    if (count > 0)
      subtract_product(here, t.part(begin, known, width, count), Way::Plain, x.part(known, 0, count, x.cols),
                       Way::Plain, stop);
    spread(
        x.cols, 128,
        [&](Index lo, Index hi) {
          auto columns = map(here.part(0, lo, width, hi - lo));
          switch (which) {
            case Triangle::Lower: map(corner).triangularView<Eigen::Lower>().solveInPlace(columns); break;
            case Triangle::UnitLower: map(corner).triangularView<Eigen::UnitLower>().solveInPlace(columns); break;
            case Triangle::Upper: map(corner).triangularView<Eigen::Upper>().solveInPlace(columns); break;
            case Triangle::UnitUpper: map(corner).triangularView<Eigen::UnitUpper>().solveInPlace(columns); break;
          }
        },
        stop);
  }
}

}  // namespace shard::runtime::dense
