// One operation's split: which factor lies on which axes, settled from what its operands have and what its results
// shall have. Pure; partition.cpp calls it for every node with a factor rule.
#pragma once
#include "interpreter/transform/factor_layout.h"

namespace shard::transform {

struct SplitValue {
  const ir::ValueFactors* dims;
  const Sharding* layout;  // an operand's own, a result's wanted
  std::int64_t bytes;
  const runtime::Shape* shape = nullptr;  // where left out, the factors' sizes are those of the dimensions
};

// Operands come first: of the axes they are split over, one candidate after another is taken, that which a result wants
// too before others, then that carried by the larger values, then pass before masked before reduced; but a table whose
// lookups are smaller stays where it is, and what is added to one at split places is not gathered where it is more than
// the table. What is left of the results' wishes is free (whole operands are sliced).
// Factors that the operation needs whole (masked and halo ones too unless `masks`, which says that the row has a local
// form for them) are never split: an operand's axes on them move to a factor that passes, where one is free. `barred`
// axes are never used.
FactorAxes choose(const ir::FactorRule& rule, std::span<const SplitValue> operands, std::span<const SplitValue> results,
                  AxisSet barred, bool masks, const Mesh& mesh);

}  // namespace shard::transform
