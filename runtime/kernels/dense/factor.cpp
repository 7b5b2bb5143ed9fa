// Cholesky, LU with pivots and QR by blocks of columns: a panel at a time is factored column by column, all else is
// matrix products.
#define EIGEN_DONT_PARALLELIZE
#include <Eigen/Dense>
#include <algorithm>
#include <cmath>

#include "runtime/kernels/dense/dense.h"
#include "runtime/kernels/dense/eigen.h"
#include "runtime/kernels/spread.h"

namespace shard::runtime::dense {
namespace {

constexpr Index kFactorPanel = 64;

}  // namespace

bool cholesky(Block a, const Stop* stop) {
  const Index n = a.rows;
  for (Index j = 0; j < n; j += kFactorPanel) {
    const Index width = std::min(kFactorPanel, n - j), below = n - j - width;
    const Block panel = a.part(j, j, n - j, width);
    if (j > 0)
      subtract_product(panel, a.part(j, 0, n - j, j), Way::Plain, a.part(j, 0, width, j), Way::Transposed, stop);
    Eigen::LLT<Eigen::MatrixXd> corner(map(panel.part(0, 0, width, width)));
    if (corner.info() != Eigen::Success) return false;
    map(panel.part(0, 0, width, width)) = corner.matrixL();
    spread(
        below, 128,
        [&](Index lo, Index hi) {
          auto rows = map(panel.part(width + lo, 0, hi - lo, width));
          corner.matrixU().solveInPlace<Eigen::OnTheRight>(rows);
        },
        stop);
  }
  return true;
}

std::vector<Index> lu(Block a, const Stop* stop) {
  const Index n = a.rows;
  std::vector<Index> pivots(static_cast<std::size_t>(n));
  for (Index j = 0; j < n; j += kFactorPanel) {
    const Index width = std::min(kFactorPanel, n - j), after = n - j - width;
    for (Index k = j; k < j + width; ++k) {
      if (stop) stop->ask();
      Index best = 0;
      column(a, k).segment(k, n - k).cwiseAbs().maxCoeff(&best);
      best += k;
      pivots[static_cast<std::size_t>(k)] = best;
      if (best != k) map(a).row(k).swap(map(a).row(best));
      auto below = column(a, k).segment(k + 1, n - k - 1);
      if (a(k, k) != 0) below /= a(k, k);  // else it is zero itself, and the solution infinite
      for (Index c = k + 1; c < j + width; ++c) column(a, c).segment(k + 1, n - k - 1) -= a(k, c) * below;
    }
    if (after == 0) break;
    const Block right = a.part(j, j + width, width, after);
    solve_in_place(a.part(j, j, width, width), Triangle::UnitLower, right, stop);
    subtract_product(a.part(j + width, j + width, after, after), a.part(j + width, j, after, width), Way::Plain, right,
                     Way::Plain, stop);
  }
  return pivots;
}

std::vector<double> qr(Block a, const Stop* stop) {
  const Index n = std::min(a.rows, a.cols);
  std::vector<double> tau(static_cast<std::size_t>(n));
  for (Index j = 0; j < n; j += kFactorPanel) {
    const Index width = std::min(kFactorPanel, n - j), rows = a.rows - j, after = a.cols - j - width;
    for (Index k = j; k < j + width; ++k) {
      if (stop) stop->ask();
      const double t = tau[static_cast<std::size_t>(k)] = reflect(&a(k, k), a.rows - k);
      auto v = column(a, k).segment(k + 1, a.rows - k - 1);
      for (Index c = k + 1; c < j + width; ++c) {
        auto x = column(a, c).segment(k + 1, a.rows - k - 1);
        const double s = t * (a(k, c) + v.dot(x));
        a(k, c) -= s;
        x -= s * v;
      }
    }
    if (after == 0) continue;
    apply_reflectors(a.part(j, j, rows, width), {tau.begin() + j, tau.begin() + j + width}, Way::Transposed,
                     a.part(j, j + width, rows, after), stop);
  }
  return tau;
}

}  // namespace shard::runtime::dense
