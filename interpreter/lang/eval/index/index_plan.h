// What the items between brackets mean for one array: for each dimension an integer, a slice or an index array, and the
// shape that comes out (NumPy's placement: index arrays that stand side by side stay where they are, others go to the
// front). Shared by reading (index.cpp) and updating (index_update.cpp).
#pragma once
#include <vector>

#include "interpreter/lang/eval/index/index.h"

namespace shard::lang {

// The core operations that indexing is made of, recorded or run at once.
class ArrayOps {
 public:
  ArrayOps(Interpreter& in, grammar::Span span);
  using T = trace::Tensor;
  Interpreter& in() { return in_; }
  bool tracing() const { return ctx_.tracing(); }
  T scalar(std::int64_t i) { return ctx_.scalar(i); }
  T some(std::int64_t n) { return ctx_.unknown(runtime::Type::of(runtime::DType::I32, {n})); }  // while checking
  T slice(const T& x, ir::Ints start, ir::Ints limit, ir::Ints step);
  T rev(const T& x, ir::Ints axes);
  T take(const T& x, const T& index, std::int64_t axis, bool folded = false);                 // clamped
  T scatter(const T& x, const T& index, const T& v, std::int64_t axis, std::string_view op);  // out of range is dropped
  T window(const T& x, const std::vector<T>& starts, ir::Ints axes, ir::Ints sizes);
  T put_window(const T& x, const T& v, const std::vector<T>& starts, ir::Ints axes);
  T reshape(const T& x, runtime::Shape shape);
  T transpose(const T& x, const std::vector<std::int64_t>& perm);  // positions from the front
  T broadcast(const T& x, runtime::Shape shape);                   // error where it does not fit
  T convert(const T& x, runtime::DType dtype);
  T add(const T& a, const T& b) { return ctx_.apply1(*core_.add, {a, b}); }
  T sub(const T& a, const T& b) { return ctx_.apply1(*core_.sub, {a, b}); }
  T mul(const T& a, const T& b) { return ctx_.apply1(*core_.mul, {a, b}); }
  T select(const T& c, const T& a, const T& b) { return ctx_.apply1(*core_.select, {c, a, b}); }
  T wrapped(const T& index, std::int64_t n);  // negative positions count from the end
  T clamped(const T& index, std::int64_t n);  // wrapped before
  T within(const T& index, std::int64_t n);   // bool: 0 <= index < n
  T both(const T& a, const T& b) { return ctx_.apply1(*core_.logical_and, {a, b}); }
  bool split(const T& x, std::int64_t dim) const;  // over explicit axes

 private:
  Interpreter& in_;
  trace::Context& ctx_;
  const ir::CoreOps& core_;
  grammar::Span span_;
};

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
