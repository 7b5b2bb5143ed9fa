#include "runtime/kernels/decompose.h"

#define EIGEN_DONT_PARALLELIZE
#include <Eigen/Dense>
#include <limits>

#include "runtime/kernels/spread.h"

namespace shard::runtime {
namespace {

// All in double: matrices here are small beside products, f32 gains digits, and Eigen's solvers are compiled once.
using Matrix = Eigen::MatrixXd;
constexpr double kNan = std::numeric_limits<double>::quiet_NaN();

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

void store(const View& v, std::int64_t i, const Matrix& m) {
  if (v.dtype == DType::F64)
    mapped<double>(v, i) = m;
  else
    mapped<float>(v, i) = m.cast<float>();
}

void store_nan(const View& v, std::int64_t i) {
  store(v, i, Matrix::Constant(v.shape[1], v.rank() == 2 ? 1 : v.shape[2], kNan));
}

template <class F>
void each_matrix(const View& like, F&& f) {
  if (like.dtype != DType::F32 && like.dtype != DType::F64)
    throw RuntimeError("kernel", "decompositions are of f32 and f64 matrices");
  spread(like.shape[0], 1, [&](std::int64_t lo, std::int64_t hi) {
    for (std::int64_t i = lo; i < hi; ++i) f(i);
  });
}

}  // namespace

void cholesky(const View& a, const View& lower) {
  each_matrix(a, [&](std::int64_t i) {
    Eigen::LLT<Matrix> llt(load(a, i));
    Matrix l = llt.matrixL();
    if (llt.info() != Eigen::Success || !l.allFinite()) {
      l.setZero();
      l.triangularView<Eigen::Lower>().setConstant(kNan);
    }
    store(lower, i, l);
  });
}

void solve(const View& a, const View& b, const View& x) {
  each_matrix(a, [&](std::int64_t i) {
    if (a.shape[1] > 0) store(x, i, Eigen::PartialPivLU<Matrix>(load(a, i)).solve(load(b, i)));
  });
}

void solve_triangular(const View& a, const View& b, const View& x, bool lower, bool transposed, bool unit) {
  each_matrix(a, [&](std::int64_t i) {
    if (a.shape[1] == 0) return;
    Matrix m = load(a, i), rhs = load(b, i);
    if (transposed) m.transposeInPlace();
    if (unit) m.diagonal().setOnes();
    if (lower != transposed)
      m.triangularView<Eigen::Lower>().solveInPlace(rhs);
    else
      m.triangularView<Eigen::Upper>().solveInPlace(rhs);
    store(x, i, rhs);
  });
}

void qr(const View& a, const View& q, const View& r) {
  each_matrix(a, [&](std::int64_t i) {
    Eigen::HouseholderQR<Matrix> f(load(a, i));
    store(q, i, f.householderQ() * Matrix::Identity(a.shape[1], q.shape[2]));
    Matrix upper = f.matrixQR().topRows(r.shape[1]).triangularView<Eigen::Upper>();
    store(r, i, upper);
  });
}

void eigh(const View& a, const View& values, const View& vectors) {
  each_matrix(a, [&](std::int64_t i) {
    Matrix m = load(a, i);
    if (m.size() == 0) return;
    if (!m.allFinite()) {
      store_nan(values, i);
      store_nan(vectors, i);
      return;
    }
    Eigen::SelfAdjointEigenSolver<Matrix> f(m);
    store(values, i, f.eigenvalues());
    store(vectors, i, f.eigenvectors());
  });
}

void svd(const View& a, const View& u, const View& values, const View& vt) {
  each_matrix(a, [&](std::int64_t i) {
    Matrix m = load(a, i);
    if (!m.allFinite() || m.size() == 0) {
      for (const View* v : {&u, &values, &vt}) store_nan(*v, i);
      return;
    }
    const bool full = u.shape[2] == a.shape[1] && vt.shape[1] == a.shape[2];
    Eigen::JacobiSVD<Matrix> f(
        m, full ? Eigen::ComputeFullU | Eigen::ComputeFullV : Eigen::ComputeThinU | Eigen::ComputeThinV);
    store(u, i, f.matrixU());
    store(values, i, f.singularValues());
    store(vt, i, f.matrixV().transpose());
  });
}

}  // namespace shard::runtime
