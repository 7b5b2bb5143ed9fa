// Singular values and vectors: to bidiagonal form by reflectors from both sides, half of the work in matrix products
// (LAPACK's dgebrd); then divide and conquer (Gu and Eisenstat): without its middle row the bidiagonal matrix is two
// halves, and with it the one that secular.h is about.
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

constexpr Index kSingularPanel = 32, kSingularLeaf = 32;

struct Bidiagonal {
  std::vector<double> diagonal, above, tau_left, tau_right;
};

// The first `count` columns and rows of `a`; x and y: what the rest of it changes by, with the vectors.
void panel(Block a, Index count, Block x, Block y, Bidiagonal& out, Index at, const Stop* stop) {
  const Index m = a.rows, n = a.cols;
  auto A = map(a), X = map(x), Y = map(y);
  Eigen::VectorXd row;
  for (Index i = 0; i < count; ++i) {
    if (stop) stop->ask();
    const Index down = m - i, right = n - i - 1, below = m - i - 1;
    A.col(i).tail(down).noalias() -= A.block(i, 0, down, i) * Y.row(i).head(i).transpose();
    A.col(i).tail(down).noalias() -= X.block(i, 0, down, i) * A.col(i).head(i);
    const double left_tau = out.tau_left[u(at + i)] = reflect(&a(i, i), down);
    out.diagonal[u(at + i)] = a(i, i);
    a(i, i) = 1;
    if (right == 0) return;
    const auto v = A.col(i).tail(down);
    auto ys = Y.col(i).tail(right);
    multiply_vector(a.part(i, i + 1, down, right), Way::Transposed, &a(i, i), &y(i + 1, i));
    const Eigen::VectorXd of_v = A.block(i, 0, down, i).transpose() * v, of_x = X.block(i, 0, down, i).transpose() * v;
    ys.noalias() -= Y.block(i + 1, 0, right, i) * of_v;
    ys.noalias() -= A.block(0, i + 1, i, right).transpose() * of_x;
    ys *= left_tau;

    row = A.row(i).tail(right).transpose();
    row.noalias() -= Y.block(i + 1, 0, right, i + 1) * A.row(i).head(i + 1).transpose();
    row.noalias() -= A.block(0, i + 1, i, right).transpose() * X.row(i).head(i).transpose();
    const double right_tau = out.tau_right[u(at + i)] = reflect(row.data(), right);
    out.above[u(at + i)] = row[0];
    row[0] = 1;
    A.row(i).tail(right) = row.transpose();
    if (below == 0) continue;
    auto xs = X.col(i).tail(below);
    multiply_vector(a.part(i + 1, i + 1, below, right), Way::Plain, row.data(), &x(i + 1, i));
    const Eigen::VectorXd of_y = Y.block(i + 1, 0, right, i + 1).transpose() * row,
                          of_rows = A.block(0, i + 1, i, right) * row;
    xs.noalias() -= A.block(i + 1, 0, below, i + 1) * of_y;
    xs.noalias() -= X.block(i + 1, 0, below, i) * of_rows;
    xs *= right_tau;
  }
}

// Reflectors of the left are left below the diagonal of `a`, those of the right to the right of the one above.
Bidiagonal bidiagonal(Block a, const Stop* stop) {
  const Index m = a.rows, n = a.cols;
  Bidiagonal out;
  out.diagonal.resize(u(n));
  out.tau_left.resize(u(n));
  out.above.resize(u(n - 1));
  out.tau_right.resize(u(n - 1));
  Matrix x(m, kSingularPanel), y(n, kSingularPanel);
  for (Index j = 0; j < n; j += kSingularPanel) {
    const Index count = std::min(kSingularPanel, n - j), down = m - j - count, right = n - j - count;
    const Block part = a.part(j, j, m - j, n - j), xs = x.all().part(0, 0, m - j, count),
                ys = y.all().part(0, 0, n - j, count);
    panel(part, count, xs, ys, out, j, stop);
    if (right == 0) break;
    Matrix outer(down, 2 * count), inner(2 * count, right);  // V Yᵀ + X U
    map(outer) << map(part.part(count, 0, down, count)), map(xs.part(count, 0, down, count));
    map(inner) << map(ys.part(count, 0, right, count)).transpose(), map(part.part(0, count, count, right));
    subtract_product(part.part(count, count, down, right), outer, Way::Plain, inner, Way::Plain, stop);
  }
  return out;
}

class Conquer {
 public:
  Conquer(const Bidiagonal& b, Block left, Block right, const Stop* stop)
      : values(b.diagonal), b_(b), left_(left), right_(right), stop_(stop) {}

  // Rows [begin, end) of the bidiagonal matrix; with one column more than rows but for the last ones, whose vector that
  // gives zero becomes column `end` of `right`.
  void rows(Index begin, Index end) {
    if (end - begin <= kSingularLeaf) return leaf(begin, end);
    const Index middle = begin + (end - begin) / 2;
    rows(begin, middle);
    rows(middle + 1, end);
    join(begin, middle, end);
  }
  std::vector<double> values;  // by column of `left` and `right`

 private:
  bool wide(Index end) const { return end < left_.cols; }

  void leaf(Index begin, Index end) {
    const Index n = end - begin, m = n + wide(end);
    Eigen::MatrixXd part = Eigen::MatrixXd::Zero(n, m);
    for (Index i = 0; i < n; ++i) {
      part(i, i) = b_.diagonal[u(begin + i)];
      if (i + 1 < m) part(i, i + 1) = b_.above[u(begin + i)];
    }
    const Eigen::JacobiSVD<Eigen::MatrixXd> svd(part, Eigen::ComputeFullU | Eigen::ComputeFullV);
    map(left_.part(begin, begin, n, n)) = svd.matrixU();
    map(right_.part(begin, begin, m, m)) = svd.matrixV();
    for (Index i = 0; i < n; ++i) values[u(begin + i)] = svd.singularValues()[i];
  }

  void join(Index begin, Index middle, Index end) {
    const Index n = end - begin, c = middle - begin;  // c: the row between the halves, with a value of 0
    const Block left = left_.part(begin, begin, n, n), right = right_.part(begin, begin, n + wide(end), n + wide(end));
    const double alpha = b_.diagonal[u(middle)], beta = b_.above[u(middle)];
    std::vector<double> d(values.begin() + begin, values.begin() + end), z(u(n));
    std::vector<std::uint8_t> of_left(u(n)), of_right(u(n));
    for (Index j = 0; j < n; ++j) {
      z[u(j)] = j <= c ? alpha * right(c, j) : beta * right(c + 1, j);
      of_left[u(j)] = of_right[u(j)] = j <= c ? kUpper : kLower;
    }
    d[u(c)] = 0;
    left(c, c) = 1;
    if (wide(end)) {  // the vectors that give zero: one that meets the row between, and one that does not
      const double of_upper = z[u(c)], of_lower = beta * right(c + 1, n), r = std::hypot(of_upper, of_lower);
      z[u(c)] = r;
      if (r > 0) turn_columns(right, n, c, of_upper / r, of_lower / r);
      of_right[u(c)] = kUpper | kLower;
    }
    solve(left, right, c, d, z, of_left, of_right);
    std::copy(d.begin(), d.end(), values.begin() + begin);
  }

  void solve(Block left, Block right, Index c, std::vector<double>& d, std::vector<double>& z,
             std::vector<std::uint8_t>& of_left, std::vector<std::uint8_t>& of_right) {
    const Index n = static_cast<Index>(d.size());
    double largest = 0;
    for (Index j = 0; j < n; ++j) largest = std::max({largest, d[u(j)], std::abs(z[u(j)])});
    const double small = 8 * std::numeric_limits<double>::epsilon() * largest;
    if (largest == 0) return;
    std::vector<Index> order{c};
    for (Index j = 0; j < n; ++j) {
      if (j == c) continue;
      if (d[u(j)] > small) {
        order.push_back(j);
      } else if (std::abs(z[u(j)]) > 0) {  // as good as 0, as that of c is: its z goes over, on the right side alone
        const double r = std::hypot(z[u(c)], z[u(j)]);
        turn_columns(right, j, c, z[u(c)] / r, z[u(j)] / r);
        of_right[u(j)] = of_right[u(c)] = of_right[u(j)] | of_right[u(c)];
        z[u(c)] = r;
        z[u(j)] = 0;
      }
    }
    if (std::abs(z[u(c)]) <= small) z[u(c)] = std::copysign(2 * small, z[u(c)]);
    std::sort(order.begin() + 1, order.end(), [&](Index i, Index j) { return d[u(i)] < d[u(j)]; });
    const std::vector<Index> kept = deflate(d, z, order, small, small, [&](Index i, Index j, double co, double si) {
      turn_columns(left, i, j, co, si);
      turn_columns(right, i, j, co, si);
      of_left[u(i)] = of_left[u(j)] = of_left[u(i)] | of_left[u(j)];
      of_right[u(i)] = of_right[u(j)] = of_right[u(i)] | of_right[u(j)];
    });
    const Index m = static_cast<Index>(kept.size());
    std::vector<double> kept_d, kept_z;
    for (const Index j : kept) kept_d.push_back(d[u(j)]), kept_z.push_back(z[u(j)]);
    const Roots roots = secular_roots(Values::Singular, std::move(kept_d), std::move(kept_z), 1, stop_);
    Matrix mix_left(m, m), mix_right(m, m);
    spread(
        m, std::max<Index>(1, 16384 / m),
        [&](Index lo, Index hi) {
          for (Index i = lo; i < hi; ++i) {
            for (Index j = 0; j < m; ++j) {
              mix_right(j, i) = roots.z[u(j)] / roots.gap(j, i);
              mix_left(j, i) = j == 0 ? -1 : roots.d[u(j)] * mix_right(j, i);
            }
            column(mix_left, i).normalize();
            column(mix_right, i).normalize();
          }
        },
        stop_);
    mix_columns(left, c + 1, kept, of_left, mix_left, stop_);
    mix_columns(right, c + 1, kept, of_right, mix_right, stop_);
    for (Index i = 0; i < m; ++i) d[u(kept[u(i)])] = roots.value(i);
  }

  const Bidiagonal& b_;
  Block left_, right_;
  const Stop* stop_;
};

}  // namespace

void singular(Block a, Index u_cols, Matrix& left, std::vector<double>& values, Matrix& right, const Stop* stop) {
  const Index m = a.rows, n = a.cols;
  const double scale = map(a).cwiseAbs().maxCoeff();
  values.assign(u(n), 0.0);
  left = Matrix(m, u_cols);
  right = Matrix(n, n);
  if (scale == 0) {
    map(left).setIdentity();
    map(right).setIdentity();
    return;
  }
  map(a) /= scale;
  const Bidiagonal b = bidiagonal(a, stop);
  Matrix small_left(n, n), small_right(n, n);
  Conquer inside(b, small_left, small_right, stop);
  inside.rows(0, n);
  std::vector<Index> order(u(n));
  std::iota(order.begin(), order.end(), Index{0});
  std::stable_sort(order.begin(), order.end(),
                   [&](Index i, Index j) { return inside.values[u(i)] > inside.values[u(j)]; });
  for (Index i = 0; i < n; ++i) {
    values[u(i)] = inside.values[u(order[u(i)])] * scale;
    column(left, i).head(n) = column(small_left, order[u(i)]);
    column(right, i) = column(small_right, order[u(i)]);
  }
  for (Index i = n; i < u_cols; ++i) left(i, i) = 1;
  apply_reflectors(a, b.tau_left, Way::Plain, left, stop);
  if (n < 2) return;
  Matrix rows(n - 1, n - 1);  // the vectors of the right, as columns
  for (Index i = 0; i < n - 1; ++i)
    for (Index j = i + 1; j < n - 1; ++j) rows(j, i) = a(i, j + 1);
  apply_reflectors(rows, b.tau_right, Way::Plain, right.all().part(1, 0, n - 1, n), stop);
}

}  // namespace shard::runtime::dense
