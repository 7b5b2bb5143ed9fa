// What decompositions of a batch share: one matrix after the other, with what a call of LAPACK works on.
#pragma once
#include <algorithm>
#include <memory>
#include <utility>
#include <vector>

#include "runtime/kernels/dense/long_call.h"
#include "runtime/kernels/dense/matrix.h"
#include "runtime/kernels/spread.h"

namespace shard::runtime::dense {

// All that a call of LAPACK works on: it may outlive the run (long_call.h).
struct Work {
  Matrix a, b, u, values, vt, factors, space;
  std::vector<int> pivots;
  int status = 0;
};
using WorkRef = std::shared_ptr<Work>;

void need_decomposable(DType t);

// f(i, work) for each matrix, small ones several at a time.
template <class F>
void each(const View& a, const Stop* stop, F f) {
  need_decomposable(a.dtype);
  constexpr Index kSmall = 8, kTogether = 32;
  spread(
      a.shape[0], std::max(a.shape[1], a.shape[2]) <= kSmall ? kTogether : 1,
      [&](Index lo, Index hi) {
        const WorkRef w = std::make_shared<Work>();
        for (Index i = lo; i < hi; ++i) f(i, w);
      },
      stop);
}

inline View turned(View v) {  // each matrix
  std::swap(v.shape[1], v.shape[2]);
  std::swap(v.strides[1], v.strides[2]);
  return v;
}

inline double cube(double n) { return n * n * n; }

void store_nan(const View& v, Index i, Matrix& any);

// w->b becomes a^-1 b, of w->a, which is lost; `transposed`: aᵀ^-1 b.
void solve_lu(const WorkRef& w, bool transposed, const Stop* stop);
// The same of the L and U that this left in w->a.
void solve_factored(const WorkRef& w, bool transposed, const Stop* stop);

}  // namespace shard::runtime::dense
