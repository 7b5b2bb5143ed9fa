// Eigenvalues and vectors of symmetric matrices: to tridiagonal form by reflectors, half of the work in matrix products
// (LAPACK's dsytrd); then divide and conquer (Cuppen): the tridiagonal matrix is two halves and one product of a vector
// with itself.
#define EIGEN_DONT_PARALLELIZE
#include <Eigen/Dense>
#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>

#include "runtime/kernels/dense/dense.h"
#include "runtime/kernels/dense/divide.h"
#include "runtime/kernels/dense/eigen.h"
#include "runtime/kernels/spread.h"

namespace shard::runtime::dense {
namespace {

constexpr Index kSymmetricPanel = 32, kSymmetricLeaf = 32;

struct Tridiagonal {
  std::vector<double> diagonal, beside, tau;
};

// The first `count` columns of `a`, which is symmetric and whole. `w`: what the rest of it changes by, with the
// vectors.
void panel(Block a, Index count, Block w, double* diagonal, double* beside, double* tau, const Stop* stop) {
  const Index n = a.rows;
  auto A = map(a), W = map(w);
  for (Index i = 0; i < count; ++i) {
    if (stop) stop->ask();
    const Index below = n - i - 1;
    A.col(i).tail(n - i).noalias() -= A.block(i, 0, n - i, i) * W.row(i).head(i).transpose();
    A.col(i).tail(n - i).noalias() -= W.block(i, 0, n - i, i) * A.row(i).head(i).transpose();
    diagonal[i] = a(i, i);
    if (below == 0) return;
    const double t = tau[i] = reflect(&a(i + 1, i), below);
    beside[i] = a(i + 1, i);
    a(i + 1, i) = 1;
    const auto v = A.col(i).tail(below);
    auto x = W.col(i).tail(below);
    multiply_vector(a.part(i + 1, i + 1, below, below), Way::Transposed, &a(i + 1, i), &w(i + 1, i));
    const auto before_w = W.block(i + 1, 0, below, i), before_v = A.block(i + 1, 0, below, i);
    const Eigen::VectorXd of_w = before_w.transpose() * v, of_v = before_v.transpose() * v;
    x.noalias() -= before_v * of_w;
    x.noalias() -= before_w * of_v;
    x *= t;
    x -= (t / 2 * x.dot(v)) * v;
  }
}

Tridiagonal tridiagonal(Block a, const Stop* stop) {
  const Index n = a.rows;
  Tridiagonal t{std::vector<double>(u(n)), std::vector<double>(u(std::max<Index>(n - 1, 0))), {}};
  t.tau.resize(t.beside.size());
  Matrix w(n, kSymmetricPanel);
  for (Index j = 0; j < n; j += kSymmetricPanel) {
    const Index count = std::min(kSymmetricPanel, n - j), rest = n - j - count;
    const Block part = a.part(j, j, n - j, n - j), ws = w.all().part(0, 0, n - j, count);
    panel(part, count, ws, &t.diagonal[u(j)], t.beside.data() + j, t.tau.data() + j, stop);
    if (rest == 0) break;
    Matrix left(rest, 2 * count), right(rest, 2 * count);  // V Wᵀ + W Vᵀ
    map(left) << map(part.part(count, 0, rest, count)), map(ws.part(count, 0, rest, count));
    map(right) << map(ws.part(count, 0, rest, count)), map(part.part(count, 0, rest, count));
    subtract_product(part.part(count, count, rest, rest), left, Way::Plain, right, Way::Transposed, stop);
  }
  return t;
}

// Values into `d` (in no order), vectors into the columns of `q`, zeros before.
void conquer(double* diagonal, double* beside, Index n, double* d, Block q, const Stop* stop) {
  if (n <= kSymmetricLeaf) {
    Eigen::SelfAdjointEigenSolver<Eigen::MatrixXd> leaf;
    const Eigen::VectorXd on = Eigen::Map<Eigen::VectorXd>(diagonal, n),
                          off = Eigen::Map<Eigen::VectorXd>(beside, n - 1);
    leaf.computeFromTridiagonal(on, off);
    Eigen::Map<Eigen::VectorXd>(d, n) = leaf.eigenvalues();
    map(q) = leaf.eigenvectors();
    return;
  }
  const Index k = n / 2;
  const double join = beside[k - 1], rho = 2 * std::abs(join);
  diagonal[k - 1] -= std::abs(join);
  diagonal[k] -= std::abs(join);
  conquer(diagonal, beside, k, d, q.part(0, 0, k, k), stop);
  conquer(diagonal + k, beside + k, n - k, d + k, q.part(k, k, n - k, n - k), stop);
  if (rho == 0) return;

  std::vector<double> values(d, d + n), z(u(n));
  std::vector<std::uint8_t> halves(u(n));
  for (Index j = 0; j < n; ++j) {
    z[u(j)] = std::sqrt(0.5) * (j < k ? q(k - 1, j) : std::copysign(1.0, join) * q(k, j));
    halves[u(j)] = j < k ? kUpper : kLower;
  }
  std::vector<Index> order(u(n));
  std::iota(order.begin(), order.end(), Index{0});
  std::sort(order.begin(), order.end(), [&](Index i, Index j) { return values[u(i)] < values[u(j)]; });
  const double largest = std::max(std::abs(values[u(order.front())]), std::abs(values[u(order.back())]));
  const double small = 8 * std::numeric_limits<double>::epsilon() * std::max(largest, rho);
  const std::vector<Index> kept =
      deflate(values, z, order, small, small / rho, [&](Index i, Index j, double c, double s) {
        turn_columns(q, i, j, c, s);
        halves[u(i)] = halves[u(j)] = halves[u(i)] | halves[u(j)];
      });
  const Index m = static_cast<Index>(kept.size());
  if (m == 0) return;
  std::vector<double> kept_d, kept_z;
  for (const Index j : kept) kept_d.push_back(values[u(j)]), kept_z.push_back(z[u(j)]);
  const Roots roots = secular_roots(Values::Eigen, std::move(kept_d), std::move(kept_z), rho, stop);
  Matrix mix(m, m);
  spread(
      m, std::max<Index>(1, 16384 / m),
      [&](Index lo, Index hi) {
        for (Index i = lo; i < hi; ++i) {
          for (Index j = 0; j < m; ++j) mix(j, i) = roots.z[u(j)] / roots.gap(j, i);
          column(mix, i).normalize();
        }
      },
      stop);
  mix_columns(q, k, kept, halves, mix, stop);
  for (Index i = 0; i < m; ++i) d[kept[u(i)]] = roots.value(i);
}

}  // namespace

void eigen_symmetric(Block a, std::vector<double>& values, Matrix& q, const Stop* stop) {
  const Index n = a.rows;
  const double scale = n == 0 ? 0 : map(a).cwiseAbs().maxCoeff();
  values.assign(u(n), 0.0);
  q = Matrix(n, n);
  if (scale == 0) {
    map(q).setIdentity();
    return;
  }
  map(a) /= scale;
  Tridiagonal t = tridiagonal(a, stop);
  std::vector<double> found(u(n));
  Matrix vectors(n, n);
  conquer(t.diagonal.data(), t.beside.data(), n, found.data(), vectors, stop);
  std::vector<Index> order(u(n));
  std::iota(order.begin(), order.end(), Index{0});
  std::stable_sort(order.begin(), order.end(), [&](Index i, Index j) { return found[u(i)] < found[u(j)]; });
  for (Index i = 0; i < n; ++i) {
    values[u(i)] = found[u(order[u(i)])] * scale;
    column(q, i) = column(vectors, order[u(i)]);
  }
  if (n > 1) apply_reflectors(a.part(1, 0, n - 1, n - 1), t.tau, Way::Plain, q.all().part(1, 0, n - 1, n), stop);
}

}  // namespace shard::runtime::dense
