// Decompositions of matrices and systems of equations: one matrix after the other over a leading dimension, f32 or f64.
// Inputs are views of rank 3 [batch, rows, columns] with any strides; results are contiguous. What has no answer is
// nan, never an exception. Called by the kernels of stdlib/ops/linalg.cpp; Eigen stays in decompose.cpp.
#pragma once
#include "runtime/array/view.h"

namespace shard::runtime {

void cholesky(const View& a,
              const View& lower);  // a = L Lᵀ, reads the lower triangle; nan where a is not positive definite
void solve(const View& a, const View& b, const View& x);  // a x = b by LU with pivots; inf or nan where a is singular
void solve_triangular(const View& a, const View& b, const View& x, bool lower, bool transposed,
                      bool unit);                      // reads one triangle of a
void qr(const View& a, const View& q, const View& r);  // q [m, k], r [k, n]: k = min(m, n), or q [m, m], r [m, n]
void eigh(const View& a, const View& values,
          const View& vectors);  // symmetric (lower triangle), ascending; vectors in columns
void svd(const View& a, const View& u, const View& values,
         const View& vt);  // descending; u [m, k or m], vt [k or n, n]

}  // namespace shard::runtime
