#include "interpreter/transform/unreduced.h"

#include <algorithm>

#include "interpreter/ir/linear.h"

namespace shard::transform {

bool carries(const ir::OpCall& call, std::span<const CarryOperand> operands, AxisSet axes, const Sharding& wish,
             std::int64_t result_bytes) {
  const std::optional<ir::Linear> lin = ir::linear(call);
  if (!lin || !lin->exact || lin->in.size() != operands.size()) return false;
  std::size_t unreduced = 0;
  std::int64_t bytes = 0;
  for (std::size_t i = 0; i < operands.size(); ++i) {
    const CarryOperand& o = operands[i];
    if (o.unreduced) {
      if (!lin->in[i]) return false;
      ++unreduced;
      bytes = std::max(bytes, o.bytes);
    } else {
      if (lin->jointly && lin->in[i]) return false;
      if (!(o.layout->split_axes() & axes).empty() || !(o.layout->unreduced & axes).empty()) return false;
    }
  }
  if (unreduced == 0 || (!lin->jointly && unreduced > 1)) return false;
  if (result_bytes > bytes) return false;
  if (lin->scales && result_bytes == bytes && call.op.flops >= 2)
    return false;  // a product of terms costs as much as one of sums
  if (unreduced == 1 && result_bytes == bytes && !(wish.split_axes() & axes).empty()) return false;
  return true;
}

}  // namespace shard::transform
