// The table of contents of stdlib/ops: every family, in the order in which help lists them.
#include "stdlib/ops/ops.h"

namespace shard::stdlib {

void register_all(ir::OpTable& table) {
  register_elementwise(table);
  register_math(table);
  register_activation(table);
  register_complex(table);
  register_fourier(table);
  register_reduce(table);
  register_statistics(table);
  register_without_nan(table);
  register_contract(table);
  register_einsum(table);
  register_shape(table);
  register_arrange(table);
  register_axes(table);
  register_slice(table);
  register_padding(table);
  register_rotate(table);
  register_index(table);
  register_take(table);
  register_window(table);
  register_make(table);
  register_random(table);
  register_sample(table);
  register_draw(table);
  register_order(table);
  register_search(table);
  register_segments(table);
  register_quantile(table);
  register_vectors(table);
  register_convolution(table);
  register_pooling(table);
  register_ragged(table);
  register_resize(table);
  register_linalg(table);
  register_matrix(table);
  register_fit(table);
  register_control(table);
  register_collective(table);
}

}  // namespace shard::stdlib
