// The families of operations, in the order in which `help` lists them. `register_NAME` of the file NAME.cpp adds one
// family's rows to a table (README.md says what is in which). An engine calls register_all once and freezes the table;
// nothing else adds rows.
#pragma once
#include "interpreter/ir/op_table.h"

namespace shard::stdlib {

// clang-format off
#define SHARD_OP_FAMILIES(F)                                                                                    \
  F(elementwise) F(math) F(activation) F(complex) F(fourier) F(reduce) F(statistics) F(softmax) F(without_nan) F(contract) \
  F(einsum) F(reshaping) F(arrange) F(axes) F(slice) F(padding) F(rotate) F(gather_scatter) F(take) F(dynamic) F(make)       \
  F(random) F(sample) F(draw) F(order) F(search) F(segments) F(quantile) F(vectors) F(windows) F(windows_sum)   \
  F(convolution) F(pooling) F(ragged) F(resize) F(linalg) F(determinant) F(least_squares) F(control)            \
  F(collective) F(per_device) F(mapped_axis)
// clang-format on

#define SHARD_DECLARE(name) void register_##name(ir::OpTable& table);
SHARD_OP_FAMILIES(SHARD_DECLARE)
#undef SHARD_DECLARE

void register_all(ir::OpTable& table);  // all families; the caller freezes

}  // namespace shard::stdlib
