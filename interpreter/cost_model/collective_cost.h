// Seconds that one collective takes, by kind, bytes, and where the devices of its group lie.
#pragma once
#include "interpreter/cost_model/chip.h"
#include "interpreter/ir/collective.h"

namespace shard::cost_model {

// `bytes`: the operand's on one device. Rings: each of n devices passes on n - 1 parts of n, twice where all of them
// sum; between domains of m devices m rings share the way, so that each of the m ports passes a part of it. Sources:
// the formulas of NCCL's rings (nccl tuning.cc) and of a torus (the Scaling Book, chapter 3).
double collective_seconds(const Chip& chip, const Group& group, const ir::Collective& kind, double bytes);

// Between the processes of a machine that simulates devices, over the channel that the figures of its `network` are of.
// `given`: bytes of the operand of all devices. A process adds its own devices' terms before it sends them.
double channel_seconds(const Chip& machine, const runtime::Mesh& mesh, std::span<const runtime::AxisId> axes,
                       const ir::Collective& kind, double given);

}  // namespace shard::cost_model
