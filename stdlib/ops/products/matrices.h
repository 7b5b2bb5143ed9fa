// What rows over matrices share (linalg.cpp, determinant.cpp, least_squares.cpp): small formulas, the rule by which a
// matrix is needed whole under a batch that may be split, and kernels over a batch of matrices.
#pragma once
#include <functional>

#include "stdlib/ops/elementwise.h"

namespace shard::stdlib {

// ---- formulas over matrices in the last two dimensions
Expr product(const Expr& x, const Expr& y);
Expr turned(const Expr& x);   // transposed
Expr adjoint(const Expr& x);  // and conjugated
Expr real_of(const Expr& x);
Expr imaginary_of(const Expr& x);  // as a complex number; of complex ones only
// true where row - column compares as asked ("eq", "gt", ...), of shape [rows, columns].
Expr mask(Builder& b, std::int64_t rows, std::int64_t columns, std::string_view comparison);
Expr identity(Builder& b, std::int64_t n, DType dtype);
Expr identity_like(const Expr& square);
Expr zeros_as(const Expr& x);
Expr diagonal(const Expr& square);
// A vector along the last dimension as rows [.., 1, n] or columns [.., n, 1] of matrices.
Expr as_row(const Expr& v);
Expr as_column(const Expr& v);
Expr triangular(const Expr& a, const Expr& b, bool lower, bool transposed);

// A complex matrix as the real one [re, -im; im, re], whose products, inverses and powers are those of the complex
// ones; and back, from its first columns.
Expr as_real(Builder& b, Var complex);
Vars as_complex(const Expr& real);
ir::OfComplex through_real(std::string_view row);  // the row of the real matrix

// ---- rules: batch dimensions pass, all others are needed whole
struct MatrixRule {
  RuleBuilder r;
  ir::ValueFactors batch;
  explicit MatrixRule(const OpCall& call, std::size_t core = 2);
  ir::ValueFactors value(const Shape& core);  // under the batch
};
Shape core_of(const Type& t);
void need_square(const OpCall& call);
FactorRule square_factors(const OpCall& call);  // a square matrix for each
std::optional<std::string> split_matrix(const OpCall& call, const Type& t, int dims);
std::optional<std::string> matrix_refuses(const OpCall& call, const FactorRule& rule);
// `real`: results that are real of complex matrices too.
OpDef matrix_row(std::string_view signature, std::string_view doc, std::size_t results, Ints real = {});

// ---- kernels: views of rank 3 [batch, rows, columns]; results that hold a vector (`core` 1) or a number (0) a matrix
// have rank 2 or 1. What nobody reads of them has no data.
using Decompose = std::function<void(const std::vector<View>& in, const std::vector<View>& out, const Attrs& attrs,
                                     const runtime::Stop* stop)>;
ir::KernelFn matrix_kernel(Decompose f, std::vector<int> core = {});

// ---- operands as users give them
// Matrices as f32, f64 or complex numbers; what comes out goes back to `back`.
Expr matrices(Builder& b, Var x, std::string_view op, DType& back);
Expr taken_whole(Builder& b, const Expr& x);  // where it is reduced: its gradient is then placed, and counts once
Vars back_to(Builder& b, Vars made, DType dtype);

}  // namespace shard::stdlib
