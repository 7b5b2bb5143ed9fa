// A record of a program's communication on a chip.
#include "interpreter/cost_model/collective_cost.h"
#include "interpreter/cost_model/estimate.h"
#include "interpreter/ir/op.h"

namespace shard::cost_model {

double collective_seconds(const Chip& chip, const runtime::Mesh& mesh, const transform::CommRecord& record) {
  std::vector<runtime::AxisId> axes;
  for (const std::string& name : record.axes)
    if (const auto axis = mesh.find(name)) axes.push_back(*axis);
  if (chip.simulated > 0)  // what they say in one process is memory, which counts as computing
    return static_cast<double>(record.count) *
           channel_seconds(chip, mesh, axes, *record.op->comm, static_cast<double>(record.given * mesh.size()));
  return static_cast<double>(record.count) *
         collective_seconds(chip, group_of(chip, mesh, axes), *record.op->comm, static_cast<double>(record.given));
}

}  // namespace shard::cost_model
