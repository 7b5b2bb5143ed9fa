// Items between brackets as they are evaluated, and positions in sequences: shared by reading and assigning, of arrays
// and of lists.
#pragma once
#include <string>
#include <vector>

#include "grammar/ast.h"
#include "interpreter/lang/eval/index/index.h"
#include "interpreter/lang/eval/interpreter.h"

namespace shard::lang {

std::vector<IndexItem> eval_items(Interpreter::Impl& m, const grammar::Index& x);

// The position in a sequence of `size` that a host integer names; negative ones count from the end. Out of range is an
// error that calls the sequence `what`.
std::int64_t position(Interpreter::Impl& m, std::int64_t size, const Value& index, grammar::Span span,
                      const char* what);
std::size_t list_position(Interpreter::Impl& m, const Value& list, const Value& index, grammar::Span span);

// What a slice picks of a sequence or dimension of `size`, as Python's: start, start + step, ... `count` times.
struct Picked {
  std::int64_t start = 0, step = 1, count = 0;
  bool unknown = false;  // while checking: a bound is known only in a run, and `count` stands for any size
};
Picked picked_by(Interpreter& in, const IndexItem& slice, std::int64_t size, grammar::Span span);

}  // namespace shard::lang
