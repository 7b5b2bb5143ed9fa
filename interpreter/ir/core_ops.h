// The one listed place where passes learn of operations that they must build themselves. Rows are looked up by name
// when the table is frozen; everything else a pass meets through the columns of OpDef. The functions below append one
// node each.
#pragma once
#include <span>

#include "interpreter/ir/graph.h"

namespace shard::ir {

class Builder;
class OpTable;

// Where a row has another name, it is given behind it; attributes of core rows follow the laws of attrs.h.
struct CoreOps {  // find_core_ops names the rows in this order
  const OpDef *add, *sub, *mul, *div, *neg, *select, *convert, *eq, *ge, *lt, *logical_and;  // elementwise
  const OpDef *complex_pair, *real_part, *imag_part;
  const OpDef* broadcast_to;    // "broadcast": attrs shape
  const OpDef* reshape;         // attrs shape
  const OpDef* transpose;       // "permute": attrs perm, positions from the end of the last dimensions
  const OpDef* reduce_sum;      // attrs axes
  const OpDef* concat;          // "concatenate": attrs axis
  const OpDef* slice;           // attrs start, limit, step
  const OpDef* rev;             // attrs axes
  const OpDef* pad;             // "pad_with": operands x, value; attrs widths
  const OpDef* iota;            // attrs shape, axis, dtype
  const OpDef* take;            // attrs axis, batch, bounds
  const OpDef* scatter;         // "scatter_rows": attrs axis, batch, op
  const OpDef* dynamic_slice;   // "dynamic_slice_at": attrs axes, sizes
  const OpDef* dynamic_update;  // "dynamic_update_at": attrs axes
  const OpDef* contract;        // attrs spec, out
  const OpDef *constant, *shard, *while_loop, *scan, *branch;
  const OpDef *psum, *pmax, *pmin, *pprod, *all_gather, *psum_scatter, *all_to_all, *ppermute, *axis_index, *pcast,
      *own_slice;
  const OpDef* per_device;  // attrs axes, in0.., out0..; regions [local body]
};
CoreOps find_core_ops(const OpTable& table);  // throws std::logic_error naming a row that is missing

Var constant(Builder& b, double value, runtime::DType dtype, bool weak = false);  // integers: value must be whole
Var constant_int(Builder& b, std::int64_t value, runtime::DType dtype = runtime::DType::I32, bool weak = false);
Var add(Builder& b, Var x, Var y);
Var sub(Builder& b, Var x, Var y);
Var mul(Builder& b, Var x, Var y);
Var div(Builder& b, Var x, Var y);
Var neg(Builder& b, Var x);
Var select(Builder& b, Var condition, Var x, Var y);
Var convert(Builder& b, Var x, runtime::DType dtype, bool weak = false);  // x itself where nothing changes
Var broadcast_to(Builder& b, Var x, runtime::Shape shape);                // x itself where nothing changes
Var reshape(Builder& b, Var x, runtime::Shape shape);
Var transpose(Builder& b, Var x, std::vector<std::int64_t> perm);   // positions from the front, all of them
Var reduce_sum(Builder& b, Var x, std::vector<std::int64_t> axes);  // from the front or negative
Var zeros(Builder& b, const Type& type);                            // shape, dtype and layout of `type`
Var ones(Builder& b, const Type& type);
Var full_like(Builder& b, const Type& type, double value);
// Sums `x` down to the shape of `want` where broadcasting had made it larger, and converts to its dtype and layout.
Var unbroadcast(Builder& b, Var x, const Type& want);

}  // namespace shard::ir
