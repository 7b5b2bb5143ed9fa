// The families of operations. Each function adds one family's rows to a table; register_all adds all of them.
// An engine calls register_all once and freezes the table; nothing else adds rows.
#pragma once
#include "interpreter/ir/table.h"

namespace shard::stdlib {

void register_elementwise(ir::OpTable& table);  // elementwise.cpp: arithmetic, comparisons, bits
void register_math(ir::OpTable& table);         // math.cpp: exp, sin, erf, ...
void register_activation(ir::OpTable& table);   // activation.cpp: relu, gelu, clip, where, ...
void register_complex(ir::OpTable& table);      // complex.cpp: parts of complex numbers
void register_fourier(ir::OpTable& table);      // fourier.cpp: fft, rfft, ...
void register_reduce(ir::OpTable& table);       // reduce.cpp: the reductions themselves
void register_statistics(ir::OpTable& table);   // statistics.cpp: what users call: sum, mean, softmax, ...
void register_without_nan(ir::OpTable& table);  // without_nan.cpp: nansum nanmean nanmax nanmin nanvar nanstd
void register_contract(ir::OpTable& table);     // contract.cpp: the one bilinear operation
void register_einsum(ir::OpTable& table);       // einsum.cpp: dot, matmul, einsum, outer
void register_shape(ir::OpTable& table);        // shape.cpp: reshape, transpose, broadcast
void register_arrange(ir::OpTable& table);      // arrange.cpp: stack, split, roll, tile, ...
void register_axes(ir::OpTable& table);         // axes.cpp: axes that change places, diagonals
void register_slice(ir::OpTable& table);        // slice.cpp: slice, pad_with
void register_padding(ir::OpTable& table);      // padding.cpp: pad
void register_rotate(ir::OpTable& table);       // rotate.cpp: reverse, rotate, concatenate
void register_index(ir::OpTable& table);        // index.cpp: rows at positions, read and written
void register_take(ir::OpTable& table);         // take.cpp: take and scatter
void register_window(ir::OpTable& table);       // dynamic.cpp: slices whose start is traced
void register_make(ir::OpTable& table);         // make.cpp: zeros, arange, eye, ...
void register_random(ir::OpTable& table);       // random.cpp: keys and bits
void register_sample(ir::OpTable& table);       // sample.cpp: distributions
void register_draw(ir::OpTable& table);         // draw.cpp: gamma, poisson, binomial, ...
void register_order(ir::OpTable& table);        // order.cpp: sort, top_k, cumulative sums
void register_search(ir::OpTable& table);       // search.cpp: searchsorted, interp, unique
void register_segments(ir::OpTable& table);     // segments.cpp: segment_max, bincount, histogram, ...
void register_quantile(ir::OpTable& table);     // quantile.cpp: quantile, median, cov, ...
void register_vectors(ir::OpTable& table);      // vectors.cpp: kron, cross, convolve, polyval
void register_convolution(ir::OpTable& table);  // convolution.cpp: conv, conv_transpose
void register_pooling(ir::OpTable& table);      // pooling.cpp: max_pool, avg_pool
void register_ragged(ir::OpTable& table);       // ragged.cpp: ragged_dot
void register_resize(ir::OpTable& table);       // resize.cpp: resize
void register_linalg(ir::OpTable& table);       // linalg.cpp: decompositions and solvers
void register_matrix(ir::OpTable& table);       // determinant.cpp: det, slogdet, matrix_power, expm
void register_fit(ir::OpTable& table);          // least_squares.cpp: pinv, lstsq, polyfit
void register_control(ir::OpTable& table);      // control.cpp: loops, branches, calls, effects
void register_collective(ir::OpTable& table);   // collective.cpp: collectives, layouts
void register_per_device(ir::OpTable& table);   // per_device.cpp: manual mode's code of one device

void register_all(ir::OpTable& table);  // all families; the caller freezes

}  // namespace shard::stdlib
