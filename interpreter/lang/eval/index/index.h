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

std::vector<IndexItem> eval_items(Interpreter& in, const grammar::Index& x);
bool is_mask(const IndexItem& item);  // an array of truth values: it stands for the positions where they hold

trace::Tensor index_array(Interpreter& in, const trace::Tensor& x, const std::vector<IndexItem>& items,
                          grammar::Span span);
// x with x[items] = v, or += v (`op` as in scatter: "set", "add", "mul"). Where x is the only holder of its array, the
// array itself is changed and moved out of x.
trace::Tensor update_array(Interpreter& in, trace::Tensor& x, const std::vector<IndexItem>& items, std::string_view op,
                           const trace::Tensor& v, grammar::Span span);
// x[i] along the first dimension, 0 <= i < size.
Value row(Interpreter& in, const trace::Tensor& x, std::int64_t i, grammar::Span span);

// The position in a sequence of `size` that a host integer names; negative ones count from the end. Out of range is an
// error that calls the sequence `what`.
std::int64_t position(Interpreter& in, std::int64_t size, const Value& index, grammar::Span span, const char* what);
std::size_t list_position(Interpreter& in, const Value& list, const Value& index, grammar::Span span);

// What a slice picks of a sequence or dimension of `size`, as Python's: start, start + step, ... `count` times.
struct Picked {
  std::int64_t start = 0, step = 1, count = 0;
  bool unknown = false;  // while checking: a bound is known only in a run, and `count` stands for any size
};
Picked picked_by(Interpreter& in, const IndexItem& slice, std::int64_t size, grammar::Span span);

}  // namespace shard::lang
