// The leaves of a reduction (reductions.cpp) whose elements a program computes tile by tile, and that is too long for a
// tile: all elements of an outer index, or columns of them. Each leaf is made as the elements come by; they are joined
// afterwards. Order and bits are those of reduce() of the whole dense array.
#pragma once
#include <cstdint>

#include "runtime/array/dtype.h"
#include "runtime/kernels/codes.h"

namespace shard::runtime {

struct ReducePlan;

struct Leaves {
  std::int64_t length = 0;  // elements of an outer index
  std::int64_t inner = 1;   // of these the dense ones that stay apart, as columns; 1: all become one
  static constexpr std::int64_t kLanes = 64, kLines = 16;  // of a run (vector/reduce_loops.cpp); of a leaf

  std::int64_t line() const { return inner == 1 ? kLanes : inner; }
  std::int64_t leaf() const { return kLines * line(); }
  std::int64_t count() const { return (length + leaf() - 1) / leaf(); }  // of an outer index
  // Elements of which one thread does all, from the first on.
  std::int64_t together(std::int64_t all) const { return all == length || length % leaf() == 0 ? leaf() : length; }
};

// Elements [at, at + n), in the order of the array, into the leaves: [outer, count, inner]. `lanes`: kLanes elements
// that stay as they are until the next call.
void add_to_leaves(const Leaves& l, const ReducePlan& p, std::int64_t at, std::int64_t n, const unsigned char* data,
                   unsigned char* lanes, unsigned char* leaves);
// Into out: [outer, inner].
void join_leaves(const Leaves& l, Reduce how, DType type, std::int64_t outer, const void* leaves, void* out);

}  // namespace shard::runtime
