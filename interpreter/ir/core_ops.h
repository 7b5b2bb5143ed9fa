// The one listed place where passes learn of operations that they must build themselves. Rows are looked up by name when the table
// is frozen; everything else a pass meets through the columns of OpDef. The functions below append one node each.
#pragma once
#include <span>

#include "interpreter/ir/graph.h"

namespace shard::ir {

class Builder;
class OpTable;

struct CoreOps {
  const OpDef *add, *sub, *mul, *div, *neg, *select, *convert, *eq, *ge, *lt, *logical_and;       // elementwise
  const OpDef *broadcast_to, *reshape, *transpose, *reduce_sum, *concat, *slice, *pad, *iota;     // shape
  const OpDef *take, *scatter, *contract, *constant, *shard, *while_loop, *scan, *branch;
  const OpDef *psum, *pmax, *pmin, *all_gather, *psum_scatter, *all_to_all, *ppermute, *axis_index, *pcast, *own_slice;
};
CoreOps find_core_ops(const OpTable& table);   // throws std::logic_error naming a row that is missing

Var constant(Builder& b, double value, runtime::DType dtype, bool weak = false);   // integers: value must be whole
Var constant_int(Builder& b, std::int64_t value, runtime::DType dtype = runtime::DType::I32, bool weak = false);
Var add(Builder& b, Var x, Var y);
Var sub(Builder& b, Var x, Var y);
Var mul(Builder& b, Var x, Var y);
Var div(Builder& b, Var x, Var y);
Var neg(Builder& b, Var x);
Var select(Builder& b, Var condition, Var x, Var y);
Var convert(Builder& b, Var x, runtime::DType dtype, bool weak = false);            // x itself where nothing changes
Var broadcast_to(Builder& b, Var x, runtime::Shape shape);                          // x itself where nothing changes
Var reshape(Builder& b, Var x, runtime::Shape shape);
Var transpose(Builder& b, Var x, std::vector<std::int64_t> perm);                   // positions from the front, all of them
Var reduce_sum(Builder& b, Var x, std::vector<std::int64_t> axes);                  // from the front or negative
Var zeros(Builder& b, const Type& type);                                            // shape, dtype and layout of `type`
Var ones(Builder& b, const Type& type);
Var full_like(Builder& b, const Type& type, double value);
// Sums `x` down to the shape of `want` where broadcasting had made it larger, and converts to its dtype and layout.
Var unbroadcast(Builder& b, Var x, const Type& want);
// x[i] along `axis` for a scalar integer i (clamped), without the dimension; and x with that row replaced.
Var index_row(Builder& b, Var x, Var i, int axis = 0);

}  // namespace shard::ir
