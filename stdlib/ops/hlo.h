// Emitters of StableHLO that are longer than a few lines, each in a file beside its family; the column `hlo` of a row.
#pragma once
#include "interpreter/hlo/writer.h"
#include "stdlib/ops/rows.h"

namespace shard::stdlib {

// moving/index_hlo.cpp
// Rows of x [b, p, n, q] at positions index [b, m], clamped: [b, p, m, q].
hlo::Value rows_at(const hlo::Value& x, const hlo::Value& index);
hlo::Values take_hlo(const hlo::Use& use);
hlo::Values scatter_hlo(const hlo::Use& use);
// order_hlo.cpp
hlo::Values sort_hlo(const hlo::Use& use);
hlo::Values argsort_hlo(const hlo::Use& use);
hlo::Values running_hlo(const hlo::Use& use, runtime::Scan how);
hlo::Values search_hlo(const hlo::Use& use);
hlo::Values extreme_position_hlo(const hlo::Use& use, bool largest);
// random_hlo.cpp
hlo::Values bits_hlo(const hlo::Use& use);
hlo::Values split_hlo(const hlo::Use& use);
hlo::Values fold_hlo(const hlo::Use& use);
hlo::Values make_key_hlo(const hlo::Use& use);
// products/windows_hlo.cpp
// Windows of dimension `dim`: its size becomes places, and `size` elements that lie `dilation` apart a place, as a
// dimension behind it.
hlo::Value windows_along(const hlo::Value& x, int dim, std::int64_t places, std::int64_t size, std::int64_t stride,
                         std::int64_t dilation);
hlo::Values convolve_hlo(const hlo::Use& use);
hlo::Values ragged_hlo(const hlo::Use& use, bool outer);
// products/linalg_hlo.cpp
hlo::Values lu_solve_hlo(const hlo::Use& use);
hlo::Values triangular_hlo(const hlo::Use& use);
hlo::Values cholesky_hlo(const hlo::Use& use);
hlo::Values qr_hlo(const hlo::Use& use);
hlo::Values eigh_hlo(const hlo::Use& use);
hlo::Values cofactors_hlo(const hlo::Use& use);
hlo::Values determinant_hlo(const hlo::Use& use);
hlo::Values log_det_hlo(const hlo::Use& use);

}  // namespace shard::stdlib
