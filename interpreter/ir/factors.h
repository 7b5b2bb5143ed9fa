// The sharding rule of an operation as data: an einsum over named factors.
//     matmul   "*b m k, *b k n -> *b m n   sum k"
// Every dimension of every operand and result is an ordered list of factors (more than one only for reshapes, none for
// a dimension of size 1 that broadcasts). Shapes, explicit layouts, propagation, partitioning, batching and flops are
// readers of it.
#pragma once
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "runtime/array/shape.h"

namespace shard::ir {

enum class FactorKind : std::uint8_t {
  Pass,     // in the result: split operands give a split result
  Reduced,  // absent from the result: a split factor leaves an unreduced sum (max, min, ...) over its axes
  Whole,    // the operation needs all of it on each device: sort, cumulative sums, linear algebra, concatenation's
            // dimension
  Halo,     // needs elements of other blocks: slices, pads, rolls; split where the row's `partition` fetches them, else
            // gathered
  Masked,   // indices into it: split, each device works on what it has under a mask, and a sum is unreduced (row's
            // `partition`)
};
enum class FactorReduce : std::uint8_t { Sum, Prod, Max, Min, And, Or };

struct Factor {
  std::string name;
  std::int64_t size = 1;
  FactorKind kind = FactorKind::Pass;
  FactorReduce reduce = FactorReduce::Sum;
};

using DimFactors = std::vector<int>;           // indices into FactorRule::factors, major to minor
using ValueFactors = std::vector<DimFactors>;  // one a dimension

struct FactorRule {
  std::vector<Factor> factors;
  std::vector<ValueFactors> operands, results;
  const Factor& factor(int f) const { return factors[static_cast<std::size_t>(f)]; }
};
// The dimension of a value that has the factor; nothing where it has not.
std::optional<std::size_t> dimension_with(const ValueFactors& value, int factor);

// Reads `text` for operands of these shapes. `*b` is a run of leading dimensions (the same run in every operand,
// broadcasting where sizes are 1); clauses after the results: `sum k`, `prod k`, `max k`, `min k`, `and k`, `or k`,
// `whole k`, `halo k`, `masked k`. Factors that only a result has take their size from `result_shapes` (may be empty
// where there are none). Throws RuntimeError("shape") naming the factor and both sizes where two operands disagree or a
// rank does not fit.
FactorRule parse_factors(std::string_view text, std::span<const runtime::Shape> operands,
                         std::span<const runtime::Shape> result_shapes = {});

// For each operand of a text how many dimensions it has beside its run `*b`; -1 where it has no run.
std::vector<int> fixed_beside_run(std::string_view text);

// NumPy broadcasting of all operands to one result: dimensions align from the right, sizes 1 broadcast. Throws
// RuntimeError("shape").
FactorRule broadcast_rule(std::span<const runtime::Shape> operands);
// Compound factors of a reshape: both shapes are cut by common divisors ([12] -> [3, 4]: dimension 0 is (i=3, j=4)).
FactorRule reshape_rule(const runtime::Shape& from, const runtime::Shape& to);

runtime::Shape result_shape(const FactorRule& rule, int result);  // sizes of its factors

}  // namespace shard::ir
