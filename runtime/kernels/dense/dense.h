// Dense matrices of doubles, column by column, as the decompositions of large matrices see them: products and
// reflectors by blocks. Everything that may take long is cut into pieces and asks `stop` between them (it may be null).
// Called by the files of this folder; Eigen stays in the .cpp files.
#pragma once
#include <cstdint>
#include <vector>

#include "runtime/array/stop.h"

namespace shard::runtime::dense {

using Index = std::int64_t;
inline std::size_t u(Index i) { return static_cast<std::size_t>(i); }  // as the containers count

struct Block {  // a view: element (i, j) is data[i + j * step]
  double* data;
  Index rows, cols, step;
  double& operator()(Index i, Index j) const { return data[i + j * step]; }
  Block part(Index i, Index j, Index r, Index c) const { return {data + i + j * step, r, c, step}; }
};

class Matrix {  // that owns its elements, zeros at first
 public:
  Matrix() = default;
  Matrix(Index rows, Index cols) : data_(static_cast<std::size_t>(rows * cols)), rows_(rows), cols_(cols) {}
  Block all() { return {data_.data(), rows_, cols_, rows_}; }
  operator Block() { return all(); }  // NOLINT: a matrix is a block
  double& operator()(Index i, Index j) { return data_[static_cast<std::size_t>(i + j * rows_)]; }

 private:
  std::vector<double> data_;
  Index rows_ = 0, cols_ = 0;
};

enum class Way : bool { Plain, Transposed };

// out = a b, or with either transposed; `out` overlaps neither.
void multiply(Block a, Way way_a, Block b, Way way_b, Block out, const Stop* stop);
// from -= a b.
void subtract_product(Block from, Block a, Way way_a, Block b, Way way_b, const Stop* stop);
// y = a x, or with `a` transposed; over threads where it is worth it.
void multiply_vector(Block a, Way way, const double* x, double* y);

// H = I - tau v vᵀ with v[0] = 1 so that H x = (beta, 0, ...): v[1..] stands in x[1..] afterwards, beta in x[0].
// Returns tau.
double reflect(double* x, Index n);

// c = (H0 H1 ...) c, or its transposed, in blocks. Column j of `v` has the vector of Hj: 1 at row j (not read), the
// rest below it.
void apply_reflectors(Block v, const std::vector<double>& tau, Way way, Block c, const Stop* stop);

// x = t⁻¹ x for a triangle of `t`, in blocks.
enum class Triangle : std::uint8_t { Lower, UnitLower, Upper, UnitUpper };
void solve_in_place(Block t, Triangle which, Block x, const Stop* stop);

// ---- factor.cpp
bool cholesky(Block a, const Stop* stop);  // the lower triangle becomes L; false where a is not positive definite
// a becomes L (unit) and U; row i was swapped with row pivots[i], one after the other.
std::vector<Index> lu(Block a, const Stop* stop);
std::vector<double> qr(Block a, const Stop* stop);  // R above, reflectors below the diagonal; returns their tau

// ---- symmetric.cpp: a = q diag(values) qᵀ, values ascending; reads and overwrites a
void eigen_symmetric(Block a, std::vector<double>& values, Matrix& q, const Stop* stop);

// ---- singular.cpp: a = u diag(values) vᵀ for rows >= cols, values descending; overwrites a. u has `u_cols` columns,
// at least those of a.
void singular(Block a, Index u_cols, Matrix& u, std::vector<double>& values, Matrix& v, const Stop* stop);

}  // namespace shard::runtime::dense
