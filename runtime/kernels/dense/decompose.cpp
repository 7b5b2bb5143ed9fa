// Decompositions of a batch: small matrices by Eigen, one a thread; large ones by blocks (dense/), one after the other
// over all threads.
#include "runtime/kernels/dense/decompose.h"

#define EIGEN_DONT_PARALLELIZE
#include <Eigen/Dense>
#include <cmath>
#include <limits>

#include "runtime/kernels/dense/decompose_complex.h"
#include "runtime/kernels/dense/dense.h"
#include "runtime/kernels/pade.h"
#include "runtime/kernels/spread.h"

namespace shard::runtime {
namespace {

// All in double: matrices here are small beside products, f32 gains digits, and Eigen's solvers are compiled once.
using Matrix = Eigen::MatrixXd;
constexpr double kNan = std::numeric_limits<double>::quiet_NaN();
constexpr std::int64_t kSmall = 48, kLongest = 4096;  // rows and columns

// Matrix number `i` of a batch; a view of rank 2 is a batch of columns.
template <class T>
auto mapped(const View& v, std::int64_t i) {
  using Stride = Eigen::Stride<Eigen::Dynamic, Eigen::Dynamic>;
  bool column = v.rank() == 2;
  return Eigen::Map<Eigen::Matrix<T, Eigen::Dynamic, Eigen::Dynamic>, Eigen::Unaligned, Stride>(
      v.as<T>() + i * v.strides[0], v.shape[1], column ? 1 : v.shape[2],
      Stride(column ? 1 : v.strides[2], v.strides[1]));
}

Matrix load(const View& v, std::int64_t i) {
  if (v.dtype == DType::F64) return mapped<double>(v, i);
  return mapped<float>(v, i).cast<double>();
}

template <class M>
void store(const View& v, std::int64_t i, const M& m) {
  if (v.dtype == DType::F64)
    mapped<double>(v, i) = m;
  else
    mapped<float>(v, i) = m.template cast<float>();
}

void store_nan(const View& v, std::int64_t i) {
  store(v, i, Matrix::Constant(v.shape[1], v.rank() == 2 ? 1 : v.shape[2], kNan));
}

// One number a matrix.
void store_number(const View& v, std::int64_t i, double x) {
  if (v.dtype == DType::F64)
    v.as<double>()[i * v.strides[0]] = x;
  else
    v.as<float>()[i * v.strides[0]] = static_cast<float>(x);
}

dense::Block block(Matrix& m) { return {m.data(), m.rows(), m.cols(), m.rows()}; }
auto eigen(dense::Matrix& m) {
  const dense::Block b = m;
  return Eigen::Map<Matrix>(b.data, b.rows, b.cols);
}
auto eigen(std::vector<double>& values) {
  return Eigen::Map<Matrix>(values.data(), static_cast<Eigen::Index>(values.size()), 1);
}

// Large matrices one after the other, as each uses all threads.
template <class F>
void each_matrix(const View& like, std::int64_t size, const Stop* stop, F&& f) {
  if (like.dtype != DType::F32 && like.dtype != DType::F64)
    throw RuntimeError("kernel", "decompositions are of f32 and f64 matrices");
  spread(
      like.shape[0], size > kSmall ? like.shape[0] : 1,
      [&](std::int64_t lo, std::int64_t hi) {
        for (std::int64_t i = lo; i < hi; ++i) f(i);
      },
      stop);
}

Matrix times(Matrix a, Matrix b, const Stop* stop) {
  Matrix out(a.rows(), b.cols());
  dense::multiply(block(a), dense::Way::Plain, block(b), dense::Way::Plain, block(out), stop);
  return out;
}

// L U of a square matrix with its rows swapped.
class Factors {
 public:
  Factors(Matrix a, const Stop* stop) : lu_(std::move(a)), pivots_(dense::lu(block(lu_), stop)) {}
  auto diagonal() const { return lu_.diagonal(); }
  double sign() const {  // of the swaps
    double s = 1;
    for (std::size_t k = 0; k < pivots_.size(); ++k)
      if (pivots_[k] != static_cast<std::int64_t>(k)) s = -s;
    return s;
  }
  void solve(Matrix& rhs, const Stop* stop) {
    for (std::size_t k = 0; k < pivots_.size(); ++k) rhs.row(static_cast<Eigen::Index>(k)).swap(rhs.row(pivots_[k]));
    dense::solve_in_place(block(lu_), dense::Triangle::UnitLower, block(rhs), stop);
    dense::solve_in_place(block(lu_), dense::Triangle::Upper, block(rhs), stop);
  }

 private:
  Matrix lu_;
  std::vector<std::int64_t> pivots_;
};

struct Singular {
  Matrix u;
  Eigen::VectorXd values;
  Matrix v;
};
Singular singular(Matrix m, bool full, const Stop* stop) {
  if (std::min(m.rows(), m.cols()) <= kSmall && std::max(m.rows(), m.cols()) <= kLongest) {
    const Eigen::JacobiSVD<Matrix> f(
        m, full ? Eigen::ComputeFullU | Eigen::ComputeFullV : Eigen::ComputeThinU | Eigen::ComputeThinV);
    return {f.matrixU(), f.singularValues(), f.matrixV()};
  }
  const bool flat = m.rows() < m.cols();  // then of the transposed, with u and v in each other's place
  if (flat) m = Matrix(m.transpose());
  std::vector<double> found;
  dense::Matrix left, right;
  dense::singular(block(m), full ? m.rows() : m.cols(), left, found, right, stop);
  if (flat) std::swap(left, right);
  return {eigen(left), eigen(found), eigen(right)};
}

}  // namespace

void cholesky(const View& a, const View& lower, const Stop* stop) {
  if (is_complex(a.dtype)) return complex::cholesky(a, lower, stop);
  const std::int64_t n = a.shape[1];
  each_matrix(a, n, stop, [&](std::int64_t i) {
    Matrix l = load(a, i);
    const bool found = dense::cholesky(block(l), stop) && Matrix(l.triangularView<Eigen::Lower>()).allFinite();
    l.triangularView<Eigen::StrictlyUpper>().setZero();
    if (!found) l.triangularView<Eigen::Lower>().setConstant(kNan);
    store(lower, i, l);
  });
}

void solve(const View& a, const View& b, const View& x, const Stop* stop) {
  const std::int64_t n = a.shape[1];
  each_matrix(a, n, stop, [&](std::int64_t i) {
    if (n == 0) return;
    Matrix rhs = load(b, i);
    Factors(load(a, i), stop).solve(rhs, stop);
    store(x, i, rhs);
  });
}

void solve_triangular(const View& a, const View& b, const View& x, bool lower, bool transposed, bool unit,
                      const Stop* stop) {
  each_matrix(a, a.shape[1], stop, [&](std::int64_t i) {
    if (a.shape[1] == 0) return;
    Matrix m = load(a, i), rhs = load(b, i);
    if (transposed) m.transposeInPlace();
    using dense::Triangle;
    const bool below = lower != transposed;
    const Triangle which =
        below ? (unit ? Triangle::UnitLower : Triangle::Lower) : (unit ? Triangle::UnitUpper : Triangle::Upper);
    dense::solve_in_place(block(m), which, block(rhs), stop);
    store(x, i, rhs);
  });
}

void qr(const View& a, const View& q, const View& r, const Stop* stop) {
  if (is_complex(a.dtype)) return complex::qr(a, q, r, stop);
  each_matrix(a, std::min(a.shape[1], a.shape[2]), stop, [&](std::int64_t i) {
    Matrix f = load(a, i);
    const std::vector<double> tau = dense::qr(block(f), stop);
    Matrix all = Matrix::Identity(a.shape[1], q.shape[2]);
    dense::apply_reflectors(block(f), tau, dense::Way::Plain, block(all), stop);
    store(q, i, all);
    store(r, i, Matrix(f.topRows(r.shape[1]).triangularView<Eigen::Upper>()));
  });
}

void eigh(const View& a, const View& values, const View& vectors, const Stop* stop) {
  if (is_complex(a.dtype)) return complex::eigh(a, values, vectors, stop);
  each_matrix(a, a.shape[1], stop, [&](std::int64_t i) {
    Matrix m = load(a, i);
    if (m.size() == 0) return;
    if (!m.allFinite()) {
      store_nan(values, i);
      store_nan(vectors, i);
      return;
    }
    if (m.rows() <= kSmall) {
      const Eigen::SelfAdjointEigenSolver<Matrix> f(m);
      store(values, i, f.eigenvalues());
      store(vectors, i, f.eigenvectors());
      return;
    }
    m.triangularView<Eigen::StrictlyUpper>() = m.transpose();
    std::vector<double> found;
    dense::Matrix q;
    dense::eigen_symmetric(block(m), found, q, stop);
    store(values, i, eigen(found));
    store(vectors, i, eigen(q));
  });
}

void svd(const View& a, const View& u, const View& values, const View& vt, const Stop* stop) {
  if (is_complex(a.dtype)) return complex::svd(a, u, values, vt, stop);
  each_matrix(a, std::min(a.shape[1], a.shape[2]), stop, [&](std::int64_t i) {
    const Matrix m = load(a, i);
    if (!m.allFinite() || m.size() == 0) {
      for (const View* v : {&u, &values, &vt}) store_nan(*v, i);
      return;
    }
    const Singular f = singular(m, u.shape[2] == a.shape[1] && vt.shape[1] == a.shape[2], stop);
    store(u, i, f.u);
    store(values, i, f.values);
    store(vt, i, f.v.transpose());
  });
}

void determinant(const View& a, const View& out, const Stop* stop) {
  if (is_complex(a.dtype)) return complex::determinant(a, out, stop);
  each_matrix(a, a.shape[1], stop, [&](std::int64_t i) {
    if (a.shape[1] == 0) return store_number(out, i, 1);
    const Factors f(load(a, i), stop);
    store_number(out, i, f.sign() * f.diagonal().prod());
  });
}

void log_det(const View& a, const View& sign, const View& logarithm, const Stop* stop) {
  if (is_complex(a.dtype)) return complex::log_det(a, sign, logarithm, stop);
  each_matrix(a, a.shape[1], stop, [&](std::int64_t i) {
    double s = 1, log = 0;
    if (a.shape[1] > 0) {
      const Factors f(load(a, i), stop);
      s = f.sign();
      for (const double d : f.diagonal()) {
        s = d != d ? kNan : d == 0 ? 0 : d < 0 ? -s : s;
        log += std::log(std::fabs(d));
      }
    }
    store_number(sign, i, s);
    store_number(logarithm, i, s == 0 ? -std::numeric_limits<double>::infinity() : log);
  });
}

void cofactors(const View& a, const View& out, const Stop* stop) {
  if (is_complex(a.dtype)) return complex::cofactors(a, out, stop);
  each_matrix(a, a.shape[1], stop, [&](std::int64_t i) {
    const Matrix m = load(a, i);
    if (m.size() == 0) return;
    if (!m.allFinite()) return store_nan(out, i);
    const Singular f = singular(m, true, stop);
    const Eigen::VectorXd& s = f.values;
    Eigen::VectorXd others = Eigen::VectorXd::Ones(s.size());
    for (Eigen::Index k = 0; k < s.size(); ++k)
      for (Eigen::Index j = 0; j < s.size(); ++j) others[k] *= j == k ? 1 : s[j];
    const auto turn = [&](const Matrix& q) {
      const Factors g(q, stop);
      return g.sign() * g.diagonal().prod();
    };
    const Matrix scaled = (turn(f.u) * turn(f.v) < 0 ? -1 : 1) * f.u * others.asDiagonal();
    store(out, i, times(scaled, f.v.transpose(), stop));
  });
}

// By the Padé approximant of order 13.
void expm(const View& a, const View& out, int squarings, const Stop* stop) {
  constexpr auto& b = kPade13;
  const double bound = a.dtype == DType::F64 ? kPadeBoundF64 : kPadeBoundF32;
  each_matrix(a, a.shape[1], stop, [&](std::int64_t i) {
    Matrix m = load(a, i);
    if (m.size() == 0) return;
    const double norm = m.cwiseAbs().colwise().sum().maxCoeff();
    const double turns = norm > bound ? std::floor(std::log2(norm / bound)) : 0;
    if (!m.allFinite() || turns > squarings) return store_nan(out, i);
    int scale = 0;
    std::frexp(norm / kPadeBoundF64, &scale);
    scale = std::max(scale, 0);
    m *= std::ldexp(1.0, -scale);
    const Matrix one = Matrix::Identity(m.rows(), m.cols()), m2 = times(m, m, stop), m4 = times(m2, m2, stop),
                 m6 = times(m4, m2, stop);
    const Matrix odd = times(
        m, times(m6, b[13] * m6 + b[11] * m4 + b[9] * m2, stop) + b[7] * m6 + b[5] * m4 + b[3] * m2 + b[1] * one, stop);
    const Matrix even =
        times(m6, b[12] * m6 + b[10] * m4 + b[8] * m2, stop) + b[6] * m6 + b[4] * m4 + b[2] * m2 + b[0] * one;
    Matrix e = even + odd;
    Factors(even - odd, stop).solve(e, stop);
    for (int k = 0; k < scale; ++k) e = times(e, e, stop);
    store(out, i, e);
  });
}

void pinv(const View& a, const View& out, double share, const Stop* stop) {
  each_matrix(a, std::min(a.shape[1], a.shape[2]), stop, [&](std::int64_t i) {
    const Matrix m = load(a, i);
    if (m.size() == 0) return;
    if (!m.allFinite()) return store_nan(out, i);
    const Singular f = singular(m, false, stop);
    const double cut = share * f.values[0];
    const Eigen::VectorXd inverse = f.values.unaryExpr([&](double x) { return x > cut ? 1 / x : 0; });
    store(out, i, times(f.v * inverse.asDiagonal(), f.u.transpose(), stop));
  });
}

}  // namespace shard::runtime
