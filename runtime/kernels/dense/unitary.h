// Matrices of complex numbers, column by column, and what brings them to real form: reflectors H = I - tau v vᴴ, chosen
// as LAPACK chooses them (what a column is turned into is real). Real solvers (dense.h) do the rest: the eigenvectors
// of a tridiagonal matrix, the singular vectors of a bidiagonal one. Without blocks.
#pragma once
#include <complex>

#include "runtime/kernels/dense/dense.h"

namespace shard::runtime::dense {

using Complex = std::complex<double>;

class ComplexMatrix {  // zeros at first
 public:
  ComplexMatrix(Index rows, Index cols) : rows(rows), cols(cols), data_(u(rows * cols)) {}
  Complex& operator()(Index i, Index j) { return data_[u(i + j * rows)]; }
  const Complex& operator()(Index i, Index j) const { return data_[u(i + j * rows)]; }
  Complex* column(Index j) { return data_.data() + j * rows; }
  const Complex* column(Index j) const { return data_.data() + j * rows; }
  bool all_finite() const;
  Index rows, cols;

 private:
  std::vector<Complex> data_;
};

ComplexMatrix adjoint(const ComplexMatrix& a);
ComplexMatrix product(const ComplexMatrix& a, const ComplexMatrix& b, const Stop* stop);

// a becomes L (unit) and U by swapping rows; the sign of the swaps.
double lu(ComplexMatrix& a, const Stop* stop);
bool cholesky(ComplexMatrix& a, const Stop* stop);  // the lower triangle becomes L; false where a is not definite

// The vector of the k-th reflector stands in column k from row k + `below` on, its first element counts as 1.
struct Reflectors {
  ComplexMatrix vectors;
  std::vector<Complex> tau;
  Index below = 0;
};
// c = H0 H1 ... c
void apply(const Reflectors& h, ComplexMatrix& c, const Stop* stop);

// a = (H0 H1 ...) r: r stands in the upper triangle of `vectors`, its diagonal is real.
Reflectors unitary_triangular(ComplexMatrix a, const Stop* stop);
// a = q t qᴴ of a Hermitian matrix, of which the lower triangle is read; t is real and tridiagonal.
Reflectors real_tridiagonal(ComplexMatrix a, Matrix& t, const Stop* stop);
// a = p b qᴴ for rows >= cols; b is real, upper bidiagonal and square.
struct BothSides {
  Reflectors left, right;
};
BothSides real_bidiagonal(ComplexMatrix a, Matrix& b, const Stop* stop);

}  // namespace shard::runtime::dense
