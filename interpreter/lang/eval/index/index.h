// Indexing: of arrays as NumPy does it, x[1:3, ..., none, i, mask] (reads and updates are recorded through the core
// operations), of lists, tuples, strings, ranges and records as Python does it.
#pragma once
#include <optional>
#include <vector>

#include "grammar/ast.h"
#include "interpreter/lang/eval/interpreter.h"

namespace shard::lang {

// An item between the brackets, evaluated.
struct IndexItem {
  bool ellipsis = false, slice = false;
  Value value;  // of an item that is no slice
  std::optional<Value> start, stop, step;
  grammar::Span span;
};

Value eval_index(Interpreter::Impl& m, const grammar::Expr& e, const grammar::Index& x);

trace::Tensor index_array(Interpreter& in, const trace::Tensor& x, const std::vector<IndexItem>& items,
                          grammar::Span span);
// x with x[items] = v, or += v (`op` as in scatter: "set", "add", "mul"). Where x is the only holder of its array, the
// array itself is changed and moved out of x.
trace::Tensor update_array(Interpreter& in, trace::Tensor& x, const std::vector<IndexItem>& items, std::string_view op,
                           const trace::Tensor& v, grammar::Span span);
// x[i] along the first dimension, 0 <= i < size.
Value row(Interpreter& in, const trace::Tensor& x, std::int64_t i, grammar::Span span);

}  // namespace shard::lang
