// Decompositions of matrices and systems of equations: one matrix after the other over a leading dimension, f32 or f64;
// cholesky, qr, eigh, svd and determinants of c64 and c128 too (where ᵀ is said: the adjoint). Inputs are views of rank
// 3 [batch, rows, columns] with any strides; results are contiguous; one without data is not wanted, and not made where
// that saves work. What has no answer is nan, never an exception; `stop` (it may be null) ends the work with its
// RuntimeError. Called by the kernels of stdlib/ops/products.
#pragma once
#include "runtime/array/stop.h"
#include "runtime/array/view.h"

namespace shard::runtime {

// a = L Lᵀ, reads the lower triangle; nan where a is not positive definite
void cholesky(const View& a, const View& lower, const Stop* stop);
// a x = b, or aᵀ x = b, by LU with pivots; inf or nan where a is singular
void solve(const View& a, const View& b, const View& x, bool transposed, const Stop* stop);
// reads one triangle of a
void solve_triangular(const View& a, const View& b, const View& x, bool lower, bool transposed, bool unit,
                      const Stop* stop);
// q [m, k], r [k, n]: k = min(m, n), or q [m, m], r [m, n]
void qr(const View& a, const View& q, const View& r, const Stop* stop);
// symmetric (lower triangle), ascending; vectors in columns
void eigh(const View& a, const View& values, const View& vectors, const Stop* stop);
// descending; u [m, k or m], vt [k or n, n]
void svd(const View& a, const View& u, const View& values, const View& vt, const Stop* stop);
// out of rank 1, as `sign` and `logarithm` below
void determinant(const View& a, const View& out, const Stop* stop);
// Of square matrices; `sign` (of complex ones the phase) and `logarithm` of the size of the determinant have rank 1.
// Singular: 0 and -inf.
void log_det(const View& a, const View& sign, const View& logarithm, const Stop* stop);
// the determinant's derivative, of singular matrices too
void cofactors(const View& a, const View& out, const Stop* stop);
// The matrix exponential, by scaling and squaring; nan where more than `squarings` of them would be needed.
void expm(const View& a, const View& out, int squarings, const Stop* stop);
// Its derivative at a in the direction e.
void expm_along(const View& a, const View& e, const View& out, int squarings, const Stop* stop);
// The pseudoinverse [n, m]; singular values up to `share` of the largest count as 0.
void pinv(const View& a, const View& out, double share, const Stop* stop);

}  // namespace shard::runtime
