#include "runtime/kernels/decompose.h"

#define EIGEN_DONT_PARALLELIZE
#include <Eigen/Dense>
#include <cmath>
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

// One number a matrix.
void store_number(const View& v, std::int64_t i, double x) {
  if (v.dtype == DType::F64)
    v.as<double>()[i * v.strides[0]] = x;
  else
    v.as<float>()[i * v.strides[0]] = static_cast<float>(x);
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

void determinant(const View& a, const View& out) {
  each_matrix(a, [&](std::int64_t i) {
    store_number(out, i, a.shape[1] == 0 ? 1 : Eigen::PartialPivLU<Matrix>(load(a, i)).determinant());
  });
}

void log_det(const View& a, const View& sign, const View& logarithm) {
  each_matrix(a, [&](std::int64_t i) {
    double s = 1, log = 0;
    if (a.shape[1] > 0) {
      const Eigen::PartialPivLU<Matrix> lu(load(a, i));
      s = static_cast<double>(lu.permutationP().determinant());
      for (Eigen::Index k = 0; k < a.shape[1]; ++k) {
        const double d = lu.matrixLU()(k, k);
        s = d != d ? kNan : d == 0 ? 0 : d < 0 ? -s : s;
        log += std::log(std::fabs(d));
      }
    }
    store_number(sign, i, s);
    store_number(logarithm, i, s == 0 ? -std::numeric_limits<double>::infinity() : log);
  });
}

void cofactors(const View& a, const View& out) {
  each_matrix(a, [&](std::int64_t i) {
    const Matrix m = load(a, i);
    if (m.size() == 0) return;
    if (!m.allFinite()) return store_nan(out, i);
    const Eigen::JacobiSVD<Matrix> f(m, Eigen::ComputeFullU | Eigen::ComputeFullV);
    const auto& s = f.singularValues();
    Eigen::VectorXd others = Eigen::VectorXd::Ones(s.size());
    for (Eigen::Index k = 0; k < s.size(); ++k)
      for (Eigen::Index j = 0; j < s.size(); ++j) others[k] *= j == k ? 1 : s[j];
    const double sign = f.matrixU().determinant() * f.matrixV().determinant() < 0 ? -1 : 1;
    store(out, i, sign * f.matrixU() * others.asDiagonal() * f.matrixV().transpose());
  });
}

// Padé approximant of order 13 (Higham, "The scaling and squaring method for the matrix exponential revisited", 2005).
void expm(const View& a, const View& out, int squarings) {
  constexpr double b[] = {64764752532480000.,
                          32382376266240000.,
                          7771770303897600.,
                          1187353796428800.,
                          129060195264000.,
                          10559470521600.,
                          670442572800.,
                          33522128640.,
                          1323241920.,
                          40840800.,
                          960960.,
                          16380.,
                          182.,
                          1.};
  const double bound = a.dtype == DType::F64 ? 5.371920351148152 : 3.925724783138660;
  each_matrix(a, [&](std::int64_t i) {
    Matrix m = load(a, i);
    if (m.size() == 0) return;
    const double norm = m.cwiseAbs().colwise().sum().maxCoeff();
    const double turns = norm > bound ? std::floor(std::log2(norm / bound)) : 0;
    if (!m.allFinite() || turns > squarings) return store_nan(out, i);
    int scale = 0;
    std::frexp(norm / 5.371920351148152, &scale);
    scale = std::max(scale, 0);
    m *= std::ldexp(1.0, -scale);
    const Matrix one = Matrix::Identity(m.rows(), m.cols()), m2 = m * m, m4 = m2 * m2, m6 = m4 * m2;
    const Matrix odd =
        m * (m6 * (b[13] * m6 + b[11] * m4 + b[9] * m2) + b[7] * m6 + b[5] * m4 + b[3] * m2 + b[1] * one);
    const Matrix even = m6 * (b[12] * m6 + b[10] * m4 + b[8] * m2) + b[6] * m6 + b[4] * m4 + b[2] * m2 + b[0] * one;
    Matrix e = Eigen::PartialPivLU<Matrix>(even - odd).solve(even + odd);
    for (int k = 0; k < scale; ++k) e = (e * e).eval();
    store(out, i, e);
  });
}

void pinv(const View& a, const View& out, double share) {
  each_matrix(a, [&](std::int64_t i) {
    const Matrix m = load(a, i);
    if (m.size() == 0) return;
    if (!m.allFinite()) return store_nan(out, i);
    const Eigen::JacobiSVD<Matrix> f(m, Eigen::ComputeThinU | Eigen::ComputeThinV);
    Eigen::VectorXd s = f.singularValues();
    const double cut = share * s[0];
    for (auto& x : s) x = x > cut ? 1 / x : 0;
    store(out, i, f.matrixV() * s.asDiagonal() * f.matrixU().transpose());
  });
}

}  // namespace shard::runtime
