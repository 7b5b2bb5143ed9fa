// Emitters of StableHLO that are longer than a few lines, each in a file beside its family; the column `hlo` of a row.
#pragma once
#include <optional>

#include "interpreter/hlo/writer.h"
#include "stdlib/ops/rows.h"

namespace shard::stdlib {

// moving/index_hlo.cpp
// Rows of x [b, p, n, q] at positions index [b, m], clamped: [b, p, m, q].
hlo::Value rows_at(const hlo::Value& x, const hlo::Value& index);
hlo::Values take_hlo(const hlo::Use& use);
hlo::Values scatter_hlo(const hlo::Use& use);
// order.cpp
hlo::Values running_hlo(const hlo::Use& use, runtime::Scan how);
hlo::Values search_hlo(const hlo::Use& use);
hlo::Values extreme_position_hlo(const hlo::Use& use, bool largest);
// random.cpp
struct Words {  // of keys or their counters, u32
  hlo::Value first, second;
};
Words words_of(const hlo::Value& key, const Shape& shape, std::span<const std::int64_t> dims);
Words threefry(const Words& key, Words counter);
// draws_hlo.cpp
namespace drawing {
hlo::Values gamma_hlo(const hlo::Use& use);
hlo::Values gamma_slope_hlo(const hlo::Use& use);
hlo::Values poisson_turns_hlo(const hlo::Use& use);
hlo::Values poisson_hlo(const hlo::Use& use);
hlo::Values binomial_turns_hlo(const hlo::Use& use);
hlo::Values binomial_hlo(const hlo::Use& use);
}  // namespace drawing
// products/contract.cpp
struct Products {  // dimensions of both operands that belong together
  Ints x_batch, y_batch, x_summed, y_summed;
};
hlo::Value dot_general(const hlo::Value& x, const hlo::Value& y, const Products& dims, DType dtype, Shape shape);
// products/convolution.cpp
std::string padding_text(const Pairs& padding);  // the attribute `padding` of what has windows
// Of x [b, groups * s, n...] by w [groups * f, s, taps...]: [b, groups * f, places...].
struct Taps {
  Ints stride, dilation;  // of the places; of the taps
  Pairs padding;
  std::int64_t groups = 1;
  Ints apart = {};  // how far apart the elements of x are put, with the taps turned round; none: it is no transpose
};
hlo::Value convolution(const hlo::Value& x, const hlo::Value& w, const Taps& taps, DType dtype);
using hlo::Lettered;
// The product of windows that are not written with y, its dimensions in this order; nothing where it is no convolution.
std::optional<hlo::Value> as_convolution(const Lettered& windows, const Lettered& y, std::string_view out, DType dtype);
// Windows that a product gives [lead..., places..., window..., C], laid over each other and added; nothing where that
// is no convolution.
struct Overlay;
std::optional<hlo::Value> as_transposed_convolution(const hlo::Product& windows, std::size_t lead, const Overlay& how,
                                                    const Shape& shape, DType dtype);
hlo::Values convolve_hlo(const hlo::Use& use);
hlo::Value reshaped_hlo(const hlo::Value& x, const Shape& shape);  // of windows too
// products/windows.cpp
hlo::Values ragged_hlo(const hlo::Use& use, bool outer);
// products/linalg_hlo.cpp
hlo::Values lu_solve_hlo(const hlo::Use& use);
hlo::Values triangular_hlo(const hlo::Use& use);
hlo::Values cholesky_hlo(const hlo::Use& use);
hlo::Values qr_hlo(const hlo::Use& use);
hlo::Values eigh_hlo(const hlo::Use& use);
hlo::Values svd_hlo(const hlo::Use& use);
hlo::Values cofactors_hlo(const hlo::Use& use);
hlo::Values determinant_hlo(const hlo::Use& use);
hlo::Values log_det_hlo(const hlo::Use& use);
hlo::Values expm_hlo(const hlo::Use& use);
hlo::Values expm_along_hlo(const hlo::Use& use);
hlo::Values pinv_hlo(const hlo::Use& use);

}  // namespace shard::stdlib
