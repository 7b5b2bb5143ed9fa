// Systems of few unknowns, which take less time than a call of the library does.
#pragma once
#include <vector>

#include "runtime/kernels/dense/matrix.h"

namespace shard::runtime::dense {

bool few_unknowns(const Matrix& a);
bool few_unknowns(const Matrix& a, const Matrix& b);  // and right-hand sides

// As getrf, getrs and trsm: L, of ones on the diagonal, and U by exchanging rows; b becomes a^-1 b or aᵀ^-1 b.
void factor_few(Matrix& a, std::vector<int>& pivots);
void solve_few(Matrix& a, const std::vector<int>& pivots, bool transposed, Matrix& b);
void solve_few(Matrix& triangle, bool lower, bool transposed, bool unit, Matrix& b);

}  // namespace shard::runtime::dense
