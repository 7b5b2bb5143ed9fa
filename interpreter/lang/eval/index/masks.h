// Masks as indices: arrays of truth values stand for the positions where they hold.
#pragma once
#include <vector>

#include "interpreter/lang/eval/index/array_ops.h"
#include "interpreter/lang/eval/index/index.h"

namespace shard::lang {

bool is_mask(const IndexItem& item);
// The positions where a concrete mask holds, one index array a dimension of the mask.
std::vector<trace::Tensor> positions_of(ArrayOps& ops, const trace::Tensor& mask);
// Whether the mask of `item` may pick from x, whose dimensions from `first` on it stands for.
void check_mask(Interpreter& in, const IndexItem& item, const runtime::Type& x, std::size_t first);

}  // namespace shard::lang
