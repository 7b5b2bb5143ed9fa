// Items between brackets and positions in lists, as reading and assigning share them.
#pragma once
#include <vector>

#include "interpreter/lang/eval/impl.h"
#include "interpreter/lang/index/index.h"

namespace shard::lang {

std::vector<IndexItem> eval_items(Interpreter::Impl& m, const grammar::Index& x);
// The position that a host integer names in a list or tuple; negative ones count from the end. Out of range is an
// error.
std::size_t list_position(Interpreter::Impl& m, const Value& list, const Value& index, grammar::Span span);

}  // namespace shard::lang
