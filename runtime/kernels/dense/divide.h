// What both divisions (symmetric.cpp, singular.cpp) do with the halves that they put together: values that the joining
// vector does not touch, or that are equal, are taken aside (deflation); for the others the columns of both halves are
// turned into the new vectors by two products, as a column of one half has zeros in the rows of the other.
#pragma once
#include <functional>
#include <vector>

#include "runtime/kernels/dense/secular.h"

namespace shard::runtime::dense {

enum Half : std::uint8_t { kUpper = 1, kLower = 2 };  // rows in which a column may be other than zero

// What goes into the inner problem, of `order` (ascending in d): all but values whose z is small, and of values that
// are as good as equal only one, which gets the z of the others. `turn(i, j, c, s)` turns their columns likewise: (i,
// j) becomes (c i - s j, s i + c j).
std::vector<Index> deflate(const std::vector<double>& d, std::vector<double>& z, const std::vector<Index>& order,
                           double small_d, double small_z,
                           const std::function<void(Index, Index, double, double)>& turn);
void turn_columns(Block m, Index i, Index j, double c, double s);

// Replaces columns `kept` of `vectors` by their products with `mix` (kept x kept, rows in that order): rows [0, middle)
// are the upper half, the rest the lower one.
void mix_columns(Block vectors, Index middle, const std::vector<Index>& kept, const std::vector<std::uint8_t>& halves,
                 Block mix, const Stop* stop);

}  // namespace shard::runtime::dense
