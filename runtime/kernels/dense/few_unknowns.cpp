#include "runtime/kernels/dense/few_unknowns.h"

#include <algorithm>
#include <cmath>
#include <utility>

#include "runtime/array/shape.h"

namespace shard::runtime::dense {
namespace {

constexpr Index kFew = 8;

// f(pointer to a's elements) of their type
template <class F>
void of_type(Matrix& a, F f) {
  switch (a.type()) {
    case DType::F32: return f(a.as<float>());
    case DType::F64: return f(a.as<double>());
    case DType::C64: return f(a.as<std::complex<float>>());
    default: return f(a.as<Complex>());
  }
}

template <class T>
void factor(T* a, Index n, int* pivots) {
  for (Index k = 0; k < n; ++k) {
    T* column = a + k * n;
    Index most = k;
    for (Index i = k + 1; i < n; ++i)
      if (std::abs(column[i]) > std::abs(column[most])) most = i;
    pivots[k] = static_cast<int>(most) + 1;
    if (column[most] == T(0)) continue;
    if (most != k)
      for (Index c = 0; c < n; ++c) std::swap(a[k + c * n], a[most + c * n]);
    for (Index i = k + 1; i < n; ++i) column[i] /= column[k];
    for (Index c = k + 1; c < n; ++c)
      for (Index i = k + 1; i < n; ++i) a[i + c * n] -= column[i] * a[k + c * n];
  }
}

// x = t^-1 x of one triangle of t, whose elements lie so many apart from row to row and from column to column.
template <class T>
void substitute(const T* t, Index n, Index row, Index col, bool lower, bool unit, T* x) {
  for (Index k = 0; k < n; ++k) {
    const Index r = lower ? k : n - 1 - k, from = lower ? r + 1 : 0, to = lower ? n : r;
    if (!unit) x[r] /= t[r * (row + col)];
    for (Index i = from; i < to; ++i) x[i] -= t[i * row + r * col] * x[r];
  }
}

}  // namespace

bool few_unknowns(const Matrix& a) { return a.rows() <= kFew; }
bool few_unknowns(const Matrix& a, const Matrix& b) { return few_unknowns(a) && b.cols() <= kFew; }

void factor_few(Matrix& a, std::vector<int>& pivots) {
  of_type(a, [&](auto* x) { factor(x, a.rows(), pivots.data()); });
}

void solve_few(Matrix& a, const std::vector<int>& pivots, bool transposed, Matrix& b) {
  of_type(a, [&](auto* lu) {
    using T = std::remove_pointer_t<decltype(lu)>;
    const Index n = a.rows();
    for (Index c = 0; c < b.cols(); ++c) {
      T* x = b.as<T>() + c * n;
      const auto exchange = [&](Index k) { std::swap(x[k], x[pivots[static_cast<std::size_t>(k)] - 1]); };
      if (transposed) {
        substitute(lu, n, n, 1, true, false, x);
        substitute(lu, n, n, 1, false, true, x);
        for (Index k = n; k-- > 0;) exchange(k);
      } else {
        for (Index k = 0; k < n; ++k) exchange(k);
        substitute(lu, n, 1, n, true, true, x);
        substitute(lu, n, 1, n, false, false, x);
      }
    }
  });
}

void solve_few(Matrix& triangle, bool lower, bool transposed, bool unit, Matrix& b) {
  of_type(triangle, [&](auto* t) {
    using T = std::remove_pointer_t<decltype(t)>;
    const Index n = triangle.rows();
    for (Index c = 0; c < b.cols(); ++c)
      substitute(t, n, transposed ? n : 1, transposed ? 1 : n, lower != transposed, unit, b.as<T>() + c * n);
  });
}

}  // namespace shard::runtime::dense
