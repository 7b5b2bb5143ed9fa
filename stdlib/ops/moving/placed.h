// `out:` where more than one operation stands behind it.
#pragma once
#include "stdlib/ops/rows.h"

namespace shard::stdlib {

// What makes arrays, with an `out:` that leaves a sum unreduced: the result is placed, and what is made on the way
// counts as it is.
ir::Compose placed_last(ir::Compose inner);

// What makes arrays in several steps: made first, and laid out as `out:` says.
ir::Compose laid_out_last(ir::Compose inner);

// `out:` of one element under vmap, for all of them: in front stands what the operands' mapped dimension is split over.
Attrs with_mapped_out(const Builder& b, const Attrs& attrs, std::span<const Mapped> in);

}  // namespace shard::stdlib
