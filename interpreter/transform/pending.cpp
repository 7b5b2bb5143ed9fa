#include "interpreter/transform/pending.h"

#include <algorithm>

namespace shard::transform {
namespace {

// Which operands the operation is linear in: together (a sum of terms from all of them), or in each while the others
// are fixed.
struct Linear {
  std::vector<bool> in;
  bool jointly = false;
  bool elementwise = false;
};

std::optional<Linear> linear(const ir::CoreOps& core, const ir::Node& n) {
  std::size_t count = n.inputs.size();
  if (n.op == core.add || n.op == core.sub) return Linear{std::vector<bool>(count, true), true, true};
  if (n.op == core.mul) return Linear{std::vector<bool>(count, true), false, true};
  if (n.op == core.div) return Linear{{true, false}, false, true};
  if (n.op == core.neg) return Linear{{true}, false, true};
  if (n.op == core.convert) return std::nullopt;  // a sum is rounded once, not each of its terms
  auto* t = std::get_if<ir::Transposes>(&n.op->derivative);
  if (!t || std::holds_alternative<ir::Structure>(n.op->kernel)) return std::nullopt;
  Linear out{std::vector<bool>(count, t->operands.empty()), t->jointly, count == 1};
  for (int i : t->operands)
    if (i >= 0 && static_cast<std::size_t>(i) < count) out.in[static_cast<std::size_t>(i)] = true;
  return out;
}

}  // namespace

bool carries(const ir::CoreOps& core, const ir::Node& node, std::span<const CarryOperand> operands, AxisSet axes,
             const Sharding& wish, std::int64_t result_bytes) {
  if (node.outputs.size() != 1 || !node.regions.empty()) return false;
  std::optional<Linear> known = linear(core, node);
  if (!known || known->in.size() != operands.size()) return false;
  std::size_t pending = 0;
  std::int64_t bytes = 0;
  for (std::size_t i = 0; i < operands.size(); ++i) {
    const CarryOperand& o = operands[i];
    if (o.pending) {
      if (!known->in[i]) return false;
      ++pending;
      bytes = std::max(bytes, o.bytes);
    } else {
      if (known->jointly && known->in[i]) return false;
      if (!(o.layout->split_axes() & axes).empty() || !(o.layout->unreduced & axes).empty()) return false;
    }
  }
  if (pending == 0 || (!known->jointly && pending > 1)) return false;
  if (result_bytes > bytes) return false;
  bool one_of_many = !known->elementwise && !known->jointly && operands.size() > 1;
  if (one_of_many && result_bytes == bytes && node.op->flops >= 2)
    return false;  // a product of terms costs as much as one of sums
  if (pending == 1 && result_bytes == bytes && !(wish.split_axes() & axes).empty()) return false;
  return true;
}

}  // namespace shard::transform
