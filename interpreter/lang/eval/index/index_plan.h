// What the items between brackets mean for one array: for each dimension an integer, a slice or an index array, and the
// shape that comes out (NumPy's placement: index arrays that stand side by side stay where they are, others go to the
// front). Shared by reading (index.cpp) and updating (index_update.cpp).
#pragma once
#include <vector>

#include "interpreter/lang/eval/index/array_ops.h"
#include "interpreter/lang/eval/index/index.h"

namespace shard::lang {

struct DimIndex {
  enum Kind { Slice, Integer, Array } kind = Slice;
  std::int64_t start = 0, step = 1, count = 0, size = 0;
  bool unknown = false;  // a slice whose `count` only a run has (Picked)
  bool whole() const { return kind == Slice && !unknown && start == 0 && step == 1 && count == size; }
};

struct IndexArray {
  std::int64_t dim;
  trace::Tensor index;
};  // dim: after integers and slices are done

struct IndexPlan {
  std::vector<DimIndex> dims;      // one a dimension of the array
  std::vector<IndexArray> arrays;  // in order; more than one: of one shape
  runtime::Shape basic;            // after integers and slices, index arrays' dimensions still whole
  runtime::Shape index_shape;      // of the index arrays together
  bool adjacent = true;            // they stand side by side
  runtime::Shape placed;           // with index arrays in place, without new dimensions
  runtime::Shape result;           // all of it
  bool has_new = false;            // `none`
};

// `updates`: an integer beside an array of rank 0 is an index array too, so that one scatter places all of them.
IndexPlan plan_index(ArrayOps& ops, const trace::Tensor& x, const std::vector<IndexItem>& items, grammar::Span span,
                     bool updates = false);

// Several index arrays as one: their dimensions are moved together (to the front where they are not adjacent) and
// merged.
struct Merged {
  trace::Tensor x, index;
  bool folded;        // positions out of range are clamped and then written as -1 - i: they get no gradient
  std::int64_t axis;  // of the merged dimension
  std::vector<std::int64_t> perm;  // that was applied to x
  runtime::Shape moved;            // shape of x after perm, before merging
};
Merged merge(ArrayOps& ops, const IndexPlan& plan, const trace::Tensor& x, bool drop);

}  // namespace shard::lang
