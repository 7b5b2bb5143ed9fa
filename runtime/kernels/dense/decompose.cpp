// Decompositions of a batch by LAPACK, one matrix a thread.
#include "runtime/kernels/dense/decompose.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <string>

#include "runtime/kernels/dense/batch.h"
#include "runtime/kernels/dense/few_unknowns.h"
#include "runtime/kernels/dense/reflectors.h"
#include "runtime/kernels/kernels.h"

namespace shard::runtime {
namespace {

using namespace dense;
constexpr double kNan = std::numeric_limits<double>::quiet_NaN();
constexpr int kColumns = Lapack::kColumns;

DType real_type(DType t) { return is_complex(t) ? part_of(t) : t; }

void store_number(const View& v, Index i, Complex x, Matrix& any) {
  any.reset(v.dtype, 1, 1);
  any.set(0, 0, x);
  any.store(v, i);
}

void need_memory(int status) {
  if (status < 0) throw RuntimeError("memory", "there is no memory for a decomposition to work in");
}
// LAPACK counts the elements that it works in with 32 bits: a few times the square of this.
void need_countable(Index n) {
  constexpr Index kMost = 20000;
  if (n > kMost)
    throw RuntimeError("kernel",
                       "eigh and svd are of matrices of up to " + std::to_string(kMost) + " rows and columns");
}

// w->a becomes L (unit) and U; row i was swapped with row pivots[i] - 1, one after the other.
void lu(const WorkRef& w, const Stop* stop) {
  w->pivots.resize(static_cast<std::size_t>(w->a.rows()));
  if (few_unknowns(w->a)) return factor_few(w->a, w->pivots);
  call(cube(w->a.rows()) / 3, stop, [w] {
    Matrix& a = w->a;
    lapack(a.type()).getrf(kColumns, a.rows(), a.cols(), a.data(), a.step(), w->pivots.data());
  });
}

// Of L and U.
struct Determinant {
  Complex number = 1, phase = 1;
  double logarithm = 0;
  explicit Determinant(const Work& w) {
    for (Index k = 0; k < w.a.rows(); ++k) {
      const Complex d = w.pivots[static_cast<std::size_t>(k)] == k + 1 ? w.a.at(k, k) : -w.a.at(k, k);
      const double size = std::abs(d);
      number *= d;
      phase *= size == 0 ? 0 : d / size;
      logarithm += std::log(size);
    }
    if (phase == 0.0) logarithm = -std::numeric_limits<double>::infinity();
  }
};
Determinant determinant_of(const Matrix& a, const Stop* stop) {
  const WorkRef w = std::make_shared<Work>();
  w->a = a;
  lu(w, stop);
  return Determinant(*w);
}

// f(first column, count) of columns of w->b, which do not depend on one another, some a thread.
template <class F>
void by_columns(const WorkRef& w, double multiplications, const Stop* stop, F f) {
  constexpr Index kColumnsEach = 128;
  spread(
      w->b.cols(), kColumnsEach,
      [&](Index lo, Index hi) {
        call(multiplications * static_cast<double>(hi - lo), stop,
             [=] { f(w->b.column(lo), static_cast<int>(hi - lo)); });
      },
      stop);
}

// What is made of a singular value decomposition: as many vectors as the smaller side has, or all.
enum class Vectors : char { None = 'N', Few = 'S', All = 'A' };

// values of w->a, which has as many rows as columns or more, and its vectors u and vt; false where there are none.
bool singular(const WorkRef& w, Vectors vectors, const Stop* stop) {
  Matrix& a = w->a;
  if (a.size() == 0 || !a.finite()) return false;
  const bool made = vectors != Vectors::None;
  const int k = a.cols(), columns = vectors == Vectors::All ? a.rows() : k;
  need_countable(columns);
  // Of much more rows it is cheaper to go through r of a = q r, as LAPACK does too, but with its slow q.
  const bool tall = a.rows() >= 11 * static_cast<Index>(k) / 6 && in_blocks(a, columns) && a.rows() > k;
  w->u.reset(a.type(), made ? a.rows() : 0, made ? columns : 0);
  w->vt.reset(a.type(), made ? k : 0, made ? k : 0);
  if (tall) {
    reflect(w, columns, stop);
    w->b.reset(a.type(), k, k);
    a.store({a.type(), {1, k, k}, {0, 1, k}, w->b.data()}, 0);
    w->b.clear_below();
    w->u.fill_identity();
  }
  w->values.reset(real_type(a.type()), k, 1);
  const char job = static_cast<char>(tall && made ? Vectors::Few : vectors);
  call(10 * static_cast<double>((tall ? w->b : a).size()) * k, stop, [w, job, tall] {
    Matrix& m = tall ? w->b : w->a;
    w->status = lapack(m.type()).gesdd(kColumns, job, m.rows(), m.cols(), m.data(), m.step(), w->values.data(),
                                       w->u.data(), w->u.step(), w->vt.data(), w->vt.step());
  });
  need_memory(w->status);
  if (tall && made && w->status == 0) apply(w, stop);
  return w->status == 0;
}

}  // namespace

namespace dense {

void need_decomposable(DType t) {
  if (t != DType::F32 && t != DType::F64 && !is_complex(t))
    throw RuntimeError("kernel", "decompositions are of f32, f64, c64 and c128 matrices");
}

void store_nan(const View& v, Index i, Matrix& any) {
  if (!v.data) return;
  any.reset(v.dtype, v.rank() > 1 ? v.shape[1] : 1, v.rank() > 2 ? v.shape[2] : 1);
  any.fill(kNan);
  any.store(v, i);
}

void solve_factored(const WorkRef& w, bool transposed, const Stop* stop) {
  if (few_unknowns(w->a, w->b)) return solve_few(w->a, w->pivots, transposed, w->b);
  by_columns(w, static_cast<double>(w->a.size()), stop, [w, transposed](void* b, int count) {
    Matrix& a = w->a;
    lapack(a.type()).getrs(kColumns, transposed ? 'T' : 'N', a.rows(), count, a.data(), a.step(), w->pivots.data(), b,
                           w->b.step());
  });
}

void solve_lu(const WorkRef& w, bool transposed, const Stop* stop) {
  if (w->b.size() == 0) return;
  lu(w, stop);
  solve_factored(w, transposed, stop);
}

}  // namespace dense

// By rows the lower triangle of a is the upper one of aᵀ by columns: Lᵀ of aᵀ = conj(L) Lᵀ is made, and nothing turned.
void cholesky(const View& a, const View& lower, const Stop* stop) {
  const View from = turned(a), to = turned(lower);
  each(a, stop, [&](Index i, const WorkRef& w) {
    w->a.load(from, i);
    w->a.clear_below();
    call(cube(w->a.rows()) / 6, stop,
         [w] { w->status = lapack(w->a.type()).potrf(kColumns, 'U', w->a.rows(), w->a.data(), w->a.step()); });
    if (w->status != 0 || !w->a.finite()) {
      w->a.fill(kNan);
      w->a.clear_below();
    }
    w->a.store(to, i);
  });
}

// By rows a is aᵀ by columns, of which L and U serve as well, and nothing is turned.
void solve(const View& a, const View& b, const View& x, bool transposed, const Stop* stop) {
  const View from = turned(a);
  each(a, stop, [&](Index i, const WorkRef& w) {
    w->a.load(from, i);
    w->b.load(b, i);
    solve_lu(w, !transposed, stop);
    w->b.store(x, i);
  });
}

void solve_triangular(const View& a, const View& b, const View& x, bool lower, bool transposed, bool unit,
                      const Stop* stop) {
  const View from = turned(a);  // as above
  each(a, stop, [&](Index i, const WorkRef& w) {
    w->a.load(from, i);
    w->b.load(b, i);
    if (w->b.size() == 0) return;
    if (few_unknowns(w->a, w->b)) {
      solve_few(w->a, !lower, !transposed, unit, w->b);
      return w->b.store(x, i);
    }
    by_columns(w, static_cast<double>(w->a.size()) / 2, stop, [=](void* columns, int count) {
      using L = Lapack;
      const L& library = lapack(w->a.type());
      const auto run = [&](auto trsm, auto one) {
        using T = decltype(one);
        trsm(kColumns, L::kLeft, lower ? L::kUpper : L::kLower, transposed ? L::kPlain : L::kTransposed,
             unit ? L::kUnit : L::kGeneral, w->b.rows(), count, one, w->a.as<T>(), w->a.step(),
             static_cast<T*>(columns), w->b.step());
      };
      if (w->a.type() == DType::F32)
        run(library.strsm, 1.0F);
      else
        run(library.dtrsm, 1.0);
    });
    w->b.store(x, i);
  });
}

void qr(const View& a, const View& q, const View& r, const Stop* stop) {
  each(a, stop, [&](Index i, const WorkRef& w) {
    w->a.load(a, i);
    if (!w->a.finite()) w->a.fill(kNan);  // norms of OpenBLAS miss some
    const Index columns = q.shape[2];
    reflect(w, columns, stop);
    if (q.data) {
      unfold(w, columns, stop);
      w->u.store(q, i);
    }
    if (!r.data) return;
    w->a.clear_below();
    w->a.store(r, i);
  });
}

void eigh(const View& a, const View& values, const View& vectors, const Stop* stop) {
  const char job = vectors.data ? 'V' : 'N';
  each(a, stop, [&](Index i, const WorkRef& w) {
    w->a.load(a, i);
    if (w->a.size() == 0) return;
    need_countable(w->a.rows());
    w->values.reset(values.dtype, w->a.rows(), 1);
    w->status = 1;
    if (w->a.finite())
      call(4 * cube(w->a.rows()), stop, [w, job] {
        w->status =
            lapack(w->a.type()).syevd(kColumns, job, 'L', w->a.rows(), w->a.data(), w->a.step(), w->values.data());
      });
    need_memory(w->status);
    if (w->status > 0) {
      w->values.fill(kNan);
      w->a.fill(kNan);
    }
    w->values.store(values, i);
    w->a.store(vectors, i);
  });
}

// Of more columns than rows: aᵀ = vᵀᵀ s uᵀ.
void svd(const View& a, const View& u, const View& values, const View& vt, const Stop* stop) {
  const bool full = u.shape[2] == a.shape[1] && vt.shape[1] == a.shape[2], wide = a.shape[1] < a.shape[2];
  const Vectors vectors = !u.data && !vt.data ? Vectors::None : full ? Vectors::All : Vectors::Few;
  const View from = wide ? turned(a) : a, left = wide ? turned(vt) : u, right = wide ? turned(u) : vt;
  each(a, stop, [&](Index i, const WorkRef& w) {
    w->a.load(from, i);
    if (!singular(w, vectors, stop)) {
      for (const View* v : {&u, &values, &vt}) store_nan(*v, i, w->space);
      return;
    }
    w->u.store(left, i);
    w->values.store(values, i);
    w->vt.store(right, i);
  });
}

void determinant(const View& a, const View& out, const Stop* stop) {
  each(a, stop, [&](Index i, const WorkRef& w) {
    w->a.load(a, i);
    lu(w, stop);
    store_number(out, i, Determinant(*w).number, w->space);
  });
}

void log_det(const View& a, const View& sign, const View& logarithm, const Stop* stop) {
  each(a, stop, [&](Index i, const WorkRef& w) {
    w->a.load(a, i);
    lu(w, stop);
    const Determinant d(*w);
    store_number(sign, i, d.phase, w->space);
    store_number(logarithm, i, d.logarithm, w->space);
  });
}

// w->b: those of a regular matrix are its determinant times the inverse of aᵀ, here turned. False where a, of which L
// and U are left, may be singular or nearly so, or where the determinant is no number to divide by.
bool regular_cofactors(const WorkRef& w, const Stop* stop) {
  lu(w, stop);
  const Index n = w->a.rows();
  double least = std::abs(w->a.at(0, 0)), most = least;
  for (Index k = 1; k < n; ++k) {
    const double size = std::abs(w->a.at(k, k));
    least = std::min(least, size);
    most = std::max(most, size);
  }
  const bool wide = real_type(w->a.type()) == DType::F64;
  const Complex number = Determinant(*w).number;
  const double size = std::abs(number);
  if (!(least > most * (wide ? 1e-8 : 1e-4) && std::isfinite(size))) return false;
  if (wide ? size < 1e-290 : size < 1e-30 || size > 1e30) return false;
  w->b.reset(w->a.type(), n, n);
  w->b.fill_identity();
  for (Index k = 0; k < n; ++k) w->b.set(k, k, number);
  solve_factored(w, false, stop);
  return true;
}

// Of a = u s vᴴ: conj(det u det vᴴ u s' vᴴ), where s' has the products of all other values.
void cofactors(const View& a, const View& out, const Stop* stop) {
  each(a, stop, [&](Index i, const WorkRef& w) {
    w->a.load(a, i);
    const Index n = w->a.rows();
    if (n == 0) return;
    if (regular_cofactors(w, stop)) return w->b.store(turned(out), i);
    w->a.load(a, i);
    if (!singular(w, Vectors::All, stop)) return store_nan(out, i, w->space);
    const Complex turn = std::conj(determinant_of(w->u, stop).number * determinant_of(w->vt, stop).number);
    for (Index k = 0; k < n; ++k) {
      Complex others = turn;
      for (Index j = 0; j < n; ++j) others *= j == k ? 1 : w->values.at(j, 0);
      for (Index r = 0; r < n; ++r) w->u.set(r, k, w->u.at(r, k) * others);
    }
    if (!is_complex(a.dtype)) {
      matmul(w->vt.turned(), w->u.turned(), w->a.turned(), stop);  // as lines: (u vt)ᵀ = vtᵀ uᵀ
    } else {
      call(4 * cube(n), stop, [w] {
        Matrix &u = w->u, &vt = w->vt;
        const Complex one(1), none(0);
        const std::complex<float> one_c64(1), none_c64(0);
        const bool c64 = u.type() == DType::C64;
        lapack(u.type()).gemm(kColumns, Lapack::kPlain, Lapack::kPlain, u.step(), u.step(), u.step(),
                              c64 ? static_cast<const void*>(&one_c64) : &one, u.data(), u.step(), vt.data(), vt.step(),
                              c64 ? static_cast<const void*>(&none_c64) : &none, w->a.data(), u.step());
      });
      for (Index c = 0; c < n; ++c)
        for (Index r = 0; r < n; ++r) w->a.set(r, c, std::conj(w->a.at(r, c)));
    }
    w->a.store(out, i);
  });
}

void pinv(const View& a, const View& out, double share, const Stop* stop) {
  const bool wide = a.shape[1] < a.shape[2];
  const View from = wide ? turned(a) : a, to = wide ? turned(out) : out;
  each(a, stop, [&](Index i, const WorkRef& w) {
    w->a.load(from, i);
    if (w->a.size() == 0) return;
    if (!singular(w, Vectors::Few, stop)) return store_nan(out, i, w->space);
    const double cut = share * w->values.at(0, 0).real();
    for (Index k = 0; k < w->values.rows(); ++k) {
      const double x = w->values.at(k, 0).real(), inverse = x > cut ? 1 / x : 0;
      for (Index c = 0; c < w->vt.cols(); ++c) w->vt.set(k, c, w->vt.at(k, c) * inverse);
    }
    w->space.reset(a.dtype, w->a.cols(), w->a.rows());
    matmul(w->u.view(), w->vt.view(), w->space.turned(), stop);  // as lines: (v uᵀ)ᵀ = u vt
    w->space.store(to, i);
  });
}

}  // namespace shard::runtime
